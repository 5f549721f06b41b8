"""Places `LON,LAT` that users name instead of vertices: each is the vertex nearest to it on the sphere, within a limit."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from kernels.graph import Array
from kernels.records import dataclass
from pipeline.config.model import Snap
from pipeline.errors import BadSource
from pipeline.ingest.vertex_names import ORDER, Place, numbers_of
from pipeline.registry.stages import COMPONENTS
from pipeline.steps.places.sphere import NearestPoints, metres_between
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.points import on_sphere, sorted_coordinates
from pipeline.tables.row_lookup import positions_in
from pipeline.units import length

if TYPE_CHECKING:
    from pipeline.steps.attaching.ground import AttachedPlaces


class Snapped(NamedTuple):
    """A place, the vertex that stands for it, as an external id, and the metres between them."""

    place: Place
    vertex: int
    metres: float


@dataclass(frozen=True)
class _Points:
    """Vertices with coordinates, ascending by id: ids int64 [n], degrees float64 [n, 2], and their places on the sphere."""

    ids: Array
    degrees: Array
    vectors: Array  # float64 [n, 3]

    @cached_property
    def nearest(self) -> NearestPoints:
        """The nearest of all of them."""
        return NearestPoints(self.vectors)

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not len(self.ids)

    def some(self, chosen: Array) -> "_Points":
        """Those that are chosen, bool [n]."""
        return _Points(self.ids[chosen], self.degrees[chosen], self.vectors[chosen])


class Ground:
    """The vertices of one graph with coordinates.

    Attributes:
        made: Table `wcc` of the graph, once it was needed.
        attached: The feet of places, if these are on streets, see `pipeline.steps.attaching`.
    """

    made: Folder | None = None
    attached: "AttachedPlaces | None" = None

    def __init__(self, edges: Folder, graph: Folder, snap: Snap, components: Callable[[], Folder]) -> None:
        """`components` makes table `wcc`; it is called for the first place, unless a place may be any vertex."""
        self._edges, self._graph, self._snap, self._make_components = edges, graph, snap, components
        self._known: dict[Place, Snapped] = {}
        if EdgeFacts.of(edges).attached:
            from pipeline.steps.attaching.ground import AttachedPlaces

            self.attached = AttachedPlaces(edges)

    def snapped(self, places: Sequence[Place]) -> list[Snapped]:
        """The vertex nearest to each place, see `snap`."""
        if new := [*dict.fromkeys(place for place in places if place not in self._known)]:
            nearest = self.snap(np.array(new), lambda row: f"source {text_of(new[row])}")
            self._known |= {place: Snapped(place, *of) for place, *of in zip(new, *(of.tolist() for of in nearest), strict=True)}
        return [self._known[place] for place in places]

    def snap(self, places: Array, what: Callable[[int], str]) -> tuple[Array, Array]:
        """The vertices nearest to places, those with the smallest ids among equally near ones.

        Args:
            places (float64 [n, 2]): Degrees.
            what: A place in a message, by its number.

        Returns:
            External ids, int64 [n], and metres, float64 [n].

        Raises:
            BadSource: A place is farther than the limit, or no vertex has coordinates. The message is about the first such place.
        """
        if self.attached:
            return self.attached.snap(places, what)
        if self._points.empty and len(places):
            raise BadSource(f"{what(0)} is a place, but no vertex of the graph has coordinates")
        numbers, metres = self._allowed.nearest.of(on_sphere(*places.T))
        if (far := metres > self._snap.limit).any():
            row = int(far.argmax())
            raise BadSource(self._refusal(what(row), places[row], int(numbers[row]), float(metres[row])))
        return (self._allowed.ids[numbers] if len(places) else numbers), metres

    def metres_to(self, places: Array, vertices: Array) -> Array:
        """Metres from places, degrees float64 [n, 2], to given vertices, int64 [n]; NaN where one of both has no coordinates."""
        at, known = positions_in(self._points.ids, vertices)
        metres = np.full(len(places), np.nan)
        known = known & ~np.isnan(places).any(axis=1)
        metres[known] = metres_between(on_sphere(*places[known].T), self._points.vectors[at[known]])
        return metres

    def streets_of(self, places: Array, free: Array) -> dict[str, pa.Array]:
        """What is known of the streets that places, degrees float64 [n, 2], are on: columns of table `places`."""
        return self.attached.streets_of(places, free) if self.attached else {}

    @property
    def limit(self) -> float:
        """The largest distance from a place to its vertex, in metres."""
        return self._snap.limit

    @property
    def allowed_degrees(self) -> Array:
        """The coordinates of all vertices that may stand for a place, float64 [m, 2]."""
        return self._allowed.degrees

    @property
    def allowed_ids(self) -> Array:
        """These vertices, ascending, int64 [m]."""
        return self._allowed.ids

    def degrees_of(self, vertices: Array) -> Array:
        """The coordinates of vertices that have some, float64 [n, 2]."""
        at, _ = positions_in(self._points.ids, vertices)
        degrees: Array = self._points.degrees[at]
        return degrees

    def components_of(self, vertices: Array) -> Array:
        """The names of the weak components of vertices, int64 [n]."""
        names, labels = self._components
        labels_of: Array = labels[positions_in(names, vertices)[0]]
        return labels_of

    def forget(self) -> None:
        """Free the memory of the coordinates; the places that were found stay known."""
        for name in ("_points", "_allowed", "_components"):
            self.__dict__.pop(name, None)
        if self.attached:
            self.attached.forget()

    @cached_property
    def _points(self) -> _Points:
        coordinates = sorted_coordinates(self._edges)
        ids, rows_by_id, _, _ = open_vertices(self._graph)
        if coordinates is None:
            return _Points(np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 3)))
        _, known = positions_in(ids[rows_by_id], coordinates["vertex"].to_numpy())
        placed, *axes = (coordinates[name].to_numpy()[known] for name in ("vertex", "x", "y"))
        return _Points(placed, np.stack(axes, axis=1), on_sphere(*axes))

    @cached_property
    def _components(self) -> tuple[Array, Array]:
        """All vertices, ascending, and the names of their weak components, int64 [V] each."""
        self.made = self._make_components()
        table = tables.read(self.made.path, columns=["vertex", "labels"])
        return table["vertex"].to_numpy(), table["labels"].to_numpy()

    @cached_property
    def _allowed(self) -> _Points:
        """The vertices that may stand for a place: those of the largest weak component, of equally large ones the first."""
        if self._snap.to == "any":
            return self._points
        vertices, labels = self._components
        names, sizes = np.unique(labels, return_counts=True)
        if len(names) == 1:
            return self._points
        _, allowed = positions_in(vertices[labels == names[sizes.argmax()]], self._points.ids)
        return self._points.some(allowed)

    def _refusal(self, what: str, place: Array, at: int, metres: float) -> str:
        """Why a place has no vertex, and what the user may have meant."""
        limit, whole = self._snap.limit, self._allowed is self._points
        of = "" if whole else " of the largest component"
        if np.isinf(metres):
            said = f"{what} is a place, but no vertex{of} has coordinates"
        else:
            nearest = f"{self._name(self._allowed, at)} at {text_of(self._allowed.degrees[at])}"
            said = f"{what} is {length(metres)} from the nearest vertex{of}, {nearest}; "
            said += f"the limit is {limit:,.10g} m (snap_limit)"
        turned = place[::-1]
        if abs(turned[1]) <= 90:
            other, apart = self._one_nearest(self._allowed, turned)
            if apart <= limit:
                name = self._name(self._allowed, other)
                return f"{said}; {text_of(turned)} is {length(apart)} from vertex {name}: {ORDER}"
        if not whole:
            other, apart = self._one_nearest(self._points, place)
            if apart <= limit:
                island = f"vertex {self._name(self._points, other)} of a smaller component is {length(apart)} away"
                return f'{said}; {island}: snap_to = "any" takes it'
        return f"{said}; {ORDER}"

    @staticmethod
    def _one_nearest(points: _Points, place: Array) -> tuple[int, float]:
        numbers, metres = points.nearest.of(on_sphere(*place)[np.newaxis])
        return int(numbers[0]), float(metres[0])

    def _name(self, points: _Points, at: int) -> str:
        names, vertex = open_names(self._edges), int(points.ids[at])
        return names.text(vertex) if names else str(vertex)


def text_of(place: Place | Array) -> str:
    """`LON,LAT`."""
    return ",".join(f"{float(axis):.10g}" for axis in place)


def ground_of(edges: Folder, graph: Folder, runtime: Runtime) -> Ground:
    """Where the places of a graph may be; what it has read stays in `runtime`."""
    key = Ground, edges.digest, graph.digest
    return runtime.derived.get(key, lambda: Ground(edges, graph, runtime.snap, lambda: run_stage(graph, COMPONENTS, (), runtime)))


def as_made(answer: Folder, edges: Folder, graph: Folder, runtime: Runtime) -> Folder:
    """The answer of a stage; one that this run made for a place, and then found again, is not one of an earlier run."""
    made = ground_of(edges, graph, runtime).made
    return made if made and (made.path, made.digest) == (answer.path, answer.digest) else answer


def nearest(edges: Folder, graph: Folder, vertices: Sequence[int | Place], runtime: Runtime) -> list[int]:
    """The external ids of vertices, with that of the nearest vertex for each place. Raises BadSource as `Ground.snapped`."""
    places = [one for one in vertices if not isinstance(one, int)]
    snapped_places = iter(ground_of(edges, graph, runtime).snapped(places) if places else ())
    return [one if isinstance(one, int) else next(snapped_places).vertex for one in vertices]


def different(edges: Folder, graph: Folder, vertices: Sequence[int | Place], runtime: Runtime) -> list[int]:
    """The same. Raises BadSource also if two ask for the same vertex."""
    ids, seen = nearest(edges, graph, vertices, runtime), set[int]()
    for one, vertex in zip(vertices, ids, strict=True):
        if vertex in seen:
            given = one if isinstance(one, int) else text_of(one)
            raise BadSource(f"source {given} is vertex {vertex}, which is given twice")
        seen.add(vertex)
    return ids


def snapped(edges: Folder, graph: Folder, vertices: Sequence[int | str], runtime: Runtime) -> Iterator[Snapped]:
    """The places among the vertices that a user named, in their order, each with its vertex. Raises as `nearest`."""
    places = [one for one in numbers_of(edges, vertices) if not isinstance(one, int)]
    yield from ground_of(edges, graph, runtime).snapped(places) if places else ()
