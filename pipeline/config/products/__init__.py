"""The tables of products in a run's configuration, one module for each, and the options of the commands of products."""

from typing import ClassVar

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Choice, File, LocalFolder, Metres, Model, Snap, SnapTo


class ProductConfig(Model):
    """What a run asks of a product: a table that is made from the shortest paths from many vertices."""

    @property
    def origins(self) -> str | None:
        """The file of the vertices, or pairs, from which the paths lead; None: from all vertices."""
        file: str | None = next((getattr(self, key) for key in (*self.VERTICES, *self.PAIRS)), None)
        return file

    def values(self, trees: int, vertices: int, arcs: int) -> int:
        """About how many values the product's first table has, in a graph with `trees` trees of shortest paths for it."""
        raise NotImplementedError


class ProductOptions(Model):
    """Options of a command that writes a product, as in `RunConfig`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    output: LocalFolder
    sources: File | None = None
    snap_limit: Metres = Snap.limit
    snap_to: SnapTo = Snap.to
    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()

    @property
    def snap(self) -> Snap:
        """See `RunConfig.snap`."""
        return Snap(self.snap_limit, self.snap_to)
