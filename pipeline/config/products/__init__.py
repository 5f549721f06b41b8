"""The tables of products in a run's configuration, one module for each, their places, and the options of commands."""

from typing import ClassVar

from pipeline.config.cluster import ClusterConfig
from pipeline.config.model import Choice, LocalFolder, Metres, Model, Snap, SnapTo, Switch
from pipeline.config.products.places import PlacesConfig
from pipeline.config.products.zones import VertexFile, ZonesConfig


class GraphOptions(Model):
    """Where a command or a program computes on a graph that a user names, as in `RunConfig`."""

    backend: Choice = "auto"
    cluster: ClusterConfig = ClusterConfig()


class ProductOptions(GraphOptions):
    """Options of a command that writes a product, as in `RunConfig`."""

    VERTICES: ClassVar[tuple[str, ...]] = ("sources",)
    output: LocalFolder
    sources: VertexFile | None = None
    snap_limit: Metres = Snap.limit
    snap_to: SnapTo = Snap.to
    places: PlacesConfig = PlacesConfig()
    zones: ZonesConfig = ZonesConfig()
    named: Switch | None = None

    @property
    def snap(self) -> Snap:
        """See `RunConfig.snap`."""
        return Snap(self.snap_limit, self.snap_to)
