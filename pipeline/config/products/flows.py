"""The table `[flows]` of a run's configuration."""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from pipeline.config.model import File, Model, Switch


class FlowsConfig(Model):
    """The number of shortest paths that use each arc: table `flows`."""

    PAIRS: ClassVar[tuple[str, ...]] = ("pairs",)
    # A Parquet file of this machine with columns `src` and `dst` and a row for each path. None: one path for every ordered pair.
    pairs: File | None = Field(default=None, examples=["trips.parquet"])
    # Column of `pairs` with the weight of each path, such as a number of trips, of which flows are sums. None: each counts 1.
    weight: str | None = Field(default=None, min_length=1, examples=["trips"])
    lines: Switch = False  # add column `geometry`: the line of each arc; needs coordinates

    def idle_keys(self) -> Iterator[tuple[str, str]]:
        """See `Model.idle_keys`."""
        if self.weight and not self.pairs:
            yield "weight", "it is a column of the file of pairs; name this by pairs, or leave the key out"
