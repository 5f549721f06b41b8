"""The table `[closeness]` of a run's configuration."""

from typing import ClassVar

from pydantic import Field

from pipeline.config.model import File, Model


class ClosenessConfig(Model):
    """Closeness and eccentricity: table `closeness`, exact over all vertices."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    sources: File | None = Field(default=None, examples=["crossings.csv"])  # file of the vertices that have a row; none: all
