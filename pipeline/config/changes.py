"""The table `[changes]` of a run's configuration."""

from pydantic import Field

from pipeline.config.model import Model, Switch


class ChangesConfig(Model):
    """What has changed since the run before."""

    # Also write beside each table, such as `bfs`, the table `bfs_changes`: its rows that differ from the run that the link named
    # before. Default: only in runs of `graphmill change`.
    tables: Switch | None = Field(default=None, examples=[True])
