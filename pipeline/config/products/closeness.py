"""The table `[closeness]` of a run's configuration."""

from typing import ClassVar

from pydantic import Field

from pipeline.config.model import Model
from pipeline.config.products.zones import VertexFile


class ClosenessConfig(Model):
    """Closeness and eccentricity: table `closeness`, exact over all vertices."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    sources: VertexFile | None = Field(default=None, examples=["crossings.csv"])  # of the vertices that have a row; none: all
