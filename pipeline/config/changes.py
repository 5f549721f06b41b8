"""The table `[changes]` of a run's configuration."""

from typing import Literal

from pydantic import Field, field_validator

from pipeline.config.model import Entries, LocalFolder, Model, Switch, without_secret


class ChangesConfig(Model):
    """Change tables, and the folder of files of changes."""

    # Also write beside each table, such as `bfs`, a table `bfs_changes` with the rows that differ from those of the run that the
    # link named before. Default: only in runs of `graphmill change`.
    tables: Switch | None = Field(default=None, examples=[True])
    # The folder in which files of changes arrive for flow `graph-changes`, a pattern such as `arrivals/**/*.csv`, or a list of
    # these and of files; also URLs, of folders and patterns in object storage only.
    arrivals: str | Entries | None = Field(default=None, examples=["arrivals/people"])

    # Which states of several files that wait are published: `each`, or only the `last`, by one run.
    publish: Literal["each", "last"] = Field(default="each", examples=["last"])

    @field_validator("arrivals")
    @classmethod
    def _no_secret(cls, value: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        for entry in value if isinstance(value, tuple) else (value,):
            without_secret(entry)
        return value


class DiffOptions(Model):
    """Options of the command `diff`."""

    output: LocalFolder
