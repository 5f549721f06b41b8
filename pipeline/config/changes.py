"""The table `[changes]` of a run's configuration."""

from pydantic import Field, field_validator

from pipeline.config.model import Model, Switch
from pipeline.redaction import redacted


class ChangesConfig(Model):
    """What has changed since the run before, and files of changes that arrive."""

    # Also write beside each table, such as `bfs`, the table `bfs_changes`: its rows that differ from the run that the link named
    # before. Default: only in runs of `graphmill change`.
    tables: Switch | None = Field(default=None, examples=[True])
    # The folder, or the URL of one in object storage, in which files of changes arrive for flow `graph-changes`.
    arrivals: str | None = Field(default=None, examples=["arrivals/people"])

    @field_validator("arrivals")
    @classmethod
    def _no_secret(cls, value: str | None) -> str | None:
        if value is not None and redacted(value) != value:
            raise ValueError(
                "holds user information, a query or a fragment, which may be secret; configure them in fsspec instead"
            )
        return value
