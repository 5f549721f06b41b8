"""The table `[remotest]` of a run's configuration."""

from typing import ClassVar

from pydantic import Field

from pipeline.config.model import File
from pipeline.config.products import ProductConfig


class RemotestConfig(ProductConfig):
    """The vertex that is farthest from each source: table `remotest`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    sources: File | None = Field(default=None, examples=["schools.csv"])  # file of the vertices that have a row; none: all

    def values(self, trees: int, vertices: int, arcs: int) -> int:
        """See `ProductConfig.values`."""
        return 3 * trees
