"""Places `LON,LAT` that users name instead of vertices: each is the vertex nearest to it on the sphere, within a limit."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernels.graph import Array
from pipeline.config.model import Snap
from pipeline.errors import BadSource
from pipeline.ingest.vertex_names import ORDER, Place, numbers_of
from pipeline.registry.stages import COMPONENTS
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store.manifest import Folder
from pipeline.store.names import open_names
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.points import on_sphere, sorted_coordinates
from pipeline.tables.row_lookup import places_in
from pipeline.units import length

RADIUS = 6_371_008.8  # metres: the mean radius of the earth
_ROUNDING = 4e-15  # of the cosine of an angle: within it several vertices may seem to be the nearest
_DECIMALS = 6  # of metres: distances that are equal to a micrometre are equal


class Snapped(NamedTuple):
    """A place, the vertex that stands for it, as an external id, and the metres between them."""

    place: Place
    vertex: int
    metres: float


@dataclass(frozen=True)
class _Points:
    """Vertices with coordinates, ascending by id: ids int64 [n], degrees float64 [n, 2], and unit vectors float64 [n, 3]."""

    ids: Array
    degrees: Array
    vectors: Array


class Ground:
    """The vertices of one graph with coordinates.

    Attributes:
        made: Table `wcc` of the graph, once it was needed.
    """

    made: Folder | None = None

    def __init__(self, edges: Folder, graph: Folder, snap: Snap, components: Callable[[], Folder]) -> None:
        """`components` makes table `wcc`; it is called for the first place, unless a place may be any vertex."""
        self._edges, self._graph, self._snap, self._components = edges, graph, snap, components
        self._known: dict[Place, Snapped] = {}

    def snapped(self, place: Place) -> Snapped:
        """The vertex nearest to a place, the one with the smallest id among equally near ones.

        Raises BadSource if it is farther than the limit, or if no vertex has coordinates.
        """
        if place not in self._known:
            if not len(self._points.ids):
                raise BadSource(f"source {text_of(place)} is a place, but no vertex of the graph has coordinates")
            at, metres = self._nearest(place, self._allowed)
            if metres > self._snap.limit:
                raise BadSource(self._refusal(place, at, metres))
            self._known[place] = Snapped(place, int(self._points.ids[at]), metres)
        return self._known[place]

    def forget(self) -> None:
        """Free the memory of the coordinates; the places that were found stay known."""
        self.__dict__.pop("_points", None)
        self.__dict__.pop("_allowed", None)

    @cached_property
    def _points(self) -> _Points:
        coordinates = sorted_coordinates(self._edges)
        ids, rows_by_id, _, _ = open_vertices(self._graph)
        if coordinates is None:
            return _Points(np.empty(0, np.int64), np.empty((0, 2)), np.empty((0, 3)))
        _, known = places_in(ids[rows_by_id], coordinates["vertex"].to_numpy())
        placed, *axes = (coordinates[name].to_numpy()[known] for name in ("vertex", "x", "y"))
        return _Points(placed, np.stack(axes, axis=1), on_sphere(*axes))

    @cached_property
    def _allowed(self) -> Array | None:
        """Whether each vertex is in the largest weak component, bool [n]; of equally large ones the first; None if all may be."""
        if self._snap.to == "any":
            return None
        self.made = self._components()
        table = tables.read(self.made.path, columns=["vertex", "labels"])
        labels = table["labels"].to_numpy()
        names, sizes = np.unique(labels, return_counts=True)
        if len(names) == 1:
            return None
        _, allowed = places_in(table["vertex"].to_numpy()[labels == names[sizes.argmax()]], self._points.ids)
        return allowed

    def _nearest(self, place: Place, allowed: Array | None) -> tuple[int, float]:
        """The number of the vertex among those with coordinates, and metres; infinity if none is allowed."""
        at = on_sphere(*map(np.array, place))
        cosines = self._points.vectors @ at
        if allowed is not None:
            if not allowed.any():
                return 0, np.inf
            cosines[~allowed] = -np.inf
        near = np.flatnonzero(cosines >= cosines.max() - _ROUNDING)
        chords = np.linalg.norm(self._points.vectors[near] - at, axis=1)
        metres = np.round(2 * RADIUS * np.arcsin(np.minimum(chords / 2, 1)), _DECIMALS)
        best = int(metres.argmin())
        return int(near[best]), float(metres[best])

    def _refusal(self, place: Place, at: int, metres: float) -> str:
        """Why a place has no vertex, and what the user may have meant."""
        limit = self._snap.limit
        of = "" if self._allowed is None else " of the largest component"
        if np.isinf(metres):
            said = f"source {text_of(place)} is a place, but no vertex{of} has coordinates"
        else:
            nearest = f"{self._name(at)} at {text_of(self._points.degrees[at])}"
            said = f"source {text_of(place)} is {length(metres)} from the nearest vertex{of}, {nearest}; "
            said += f"the limit is {limit:,.10g} m (snap_limit)"
        turned = place[1], place[0]
        if abs(turned[1]) <= 90:
            other, apart = self._nearest(turned, self._allowed)
            if apart <= limit:
                return f"{said}; {text_of(turned)} is {length(apart)} from vertex {self._name(other)}: {ORDER}"
        if self._allowed is not None:
            other, apart = self._nearest(place, None)
            if apart <= limit:
                island = f"vertex {self._name(other)} of a smaller component is {length(apart)} away"
                return f'{said}; {island}: snap_to = "any" takes it'
        return f"{said}; {ORDER}"

    def _name(self, at: int) -> str:
        names, vertex = open_names(self._edges), int(self._points.ids[at])
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
    ground = ground_of(edges, graph, runtime)
    return [one if isinstance(one, int) else ground.snapped(one).vertex for one in vertices]


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
    ground = ground_of(edges, graph, runtime)
    yield from (ground.snapped(one) for one in numbers_of(edges, vertices) if not isinstance(one, int))
