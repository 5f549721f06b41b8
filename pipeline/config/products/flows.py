"""The table `[flows]` of a run's configuration."""

from typing import ClassVar

from pydantic import Field

from pipeline.config.model import File, Model


class FlowsConfig(Model):
    """The number of shortest paths that use each arc: table `flows`."""

    PAIRS: ClassVar[tuple[str, ...]] = ("pairs",)
    # A Parquet file of this machine with columns `src` and `dst` and a row for each path. None: one path for every ordered pair.
    pairs: File | None = Field(default=None, examples=["trips.parquet"])
