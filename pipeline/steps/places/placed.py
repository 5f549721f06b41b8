"""Places of a file, or zones, with the vertices that stand for them."""

from dataclasses import dataclass
from functools import cached_property

from kernels.graph import Array
from pipeline.ingest.places import PlaceList
from pipeline.steps.places.columns import PlaceColumns


@dataclass(frozen=True)
class Placed:
    """The places of a file.

    Attributes:
        places: As the file has them.
        vertices: int64 [n]: the external id of the vertex that stands for each.
        metres: float64 [n]: on the sphere to that vertex, NaN where the place or the vertex has no coordinates.
        stated: bool [n]: whether the file states the vertex.
        zones: Whether they are zones, see `pipeline.steps.places.zones`.
    """

    places: PlaceList
    vertices: Array
    metres: Array
    stated: Array
    zones: bool = False

    @cached_property
    def columns(self) -> PlaceColumns:
        """The places as columns beside their vertices."""
        return PlaceColumns.of(self.vertices, self.places.ids, self.places.names)
