"""The streets of an edge list that may be divided, and their lines: OpenStreetMap's, or straight ones between vertices."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.decimals import places_of, units_of
from kernels.graph import Array
from pipeline.config.model import SnapTo
from pipeline.errors import BadInput
from pipeline.ingest.roads.lengths import millimetres
from pipeline.store.edges import read_edges
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder
from pipeline.tables.points import on_sphere, sorted_coordinates
from pipeline.tables.row_lookup import positions_in
from pipeline.tables.streets import STREETS, UNITS, read_streets


@dataclass(frozen=True)
class StreetLines:
    """Streets, in an order that decides between equally near ones.

    Attributes:
        src, dst (int64 [C]): External ids of their ends.
        weights (int64 [C, 2]): From `src` to `dst` and back, in units of 10^-decimals; -1 where it is closed.
        first (int64 [C + 1]): Where the points of each begin.
        points (int32 [P, 2]): Longitudes and latitudes in the seventh decimal of a degree.
        decimals: Of the weights, if they are decimals; None for integers.
        table: The streets as the edge list has them; None for straight ones.
        edges: `src` and `dst` of all edges, int64 [E] each, also of those that are no streets; None if there are no others.
    """

    src: Array
    dst: Array
    weights: Array
    first: Array
    points: Array
    decimals: int | None = None
    table: pa.Table | None = None
    edges: tuple[Array, Array] | None = None

    @cached_property
    def vectors(self) -> Array:
        """The points on the unit sphere, float64 [P, 3]."""
        return on_sphere(*(self.points.T / UNITS))

    @cached_property
    def positions(self) -> Array:
        """Millimetres along the line of its street to each point, int64 [P]."""
        positions = np.zeros(len(self.points), np.int64)
        over_items(ranges(len(self.src), len(self.points)), lambda part: _measure(self.first, self.points, positions, *part))
        return positions

    @property
    def lengths(self) -> Array:
        """Millimetres of each street, int64 [C]."""
        lengths: Array = self.positions[self.first[1:] - 1]
        return lengths

    def allowed(self, to: SnapTo) -> Array:
        """Which streets places may be on, bool [C]: open ones, of the largest weak component unless `to` is "any"."""
        is_open = np.asarray((self.weights >= 0).any(axis=1))
        if to == "any" or not is_open.any():
            return is_open
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        src, dst = self.edges or (self.src[is_open], self.dst[is_open])
        ids, numbers = np.unique(np.concatenate([src, dst]), return_inverse=True)
        graph = coo_array((np.ones(len(src), np.int8), (numbers[: len(src)], numbers[len(src) :])), shape=(len(ids), len(ids)))
        labels = connected_components(graph, directed=False)[1]
        largest = labels[np.argmax(np.bincount(labels)[labels])]  # of equally large ones that of the smallest id
        allowed: Array = is_open & (labels[np.minimum(np.searchsorted(ids, self.src), len(ids) - 1)] == largest)
        return allowed


@njit(cache=True, nogil=True)
def _measure(first: Array, points: Array, positions: Array, begin: int, end: int) -> None:
    for street in range(begin, end):
        total = 0
        for point in range(first[street] + 1, first[street + 1]):
            total += millimetres(points[point - 1, 0], points[point - 1, 1], points[point, 0], points[point, 1])
            positions[point] = total


def lines_of(edges: Folder) -> StreetLines:
    """The streets of an edge list. Raises BadInput if its vertices have no coordinates, or its weights cannot be divided."""
    facts = EdgeFacts.of(edges)
    if facts.weight is None:
        raise BadInput(facts.source.path, f"{_ATTACH} divides the weights of streets, but these edges have none")
    if STREETS not in edges.manifest.files:
        return _straight(edges)
    table = read_streets(edges)
    points = table["points"].combine_chunks()
    first = points.offsets.to_numpy().astype(np.int64) // 2
    weights = [table[name].fill_null(-1).to_numpy() for name in ("forward", "backward")]
    src, dst = (table[name].to_numpy() for name in ("src", "dst"))
    return StreetLines(src, dst, np.stack(weights, axis=1), first, points.values.to_numpy().reshape(-1, 2), table=table)


_ATTACH = 'attach = "streets" ([places])'


def _straight(edges: Folder) -> StreetLines:
    """A street for each pair of vertices with coordinates that an edge connects; its weights are the lightest."""
    coordinates, facts = sorted_coordinates(edges), EdgeFacts.of(edges)
    if coordinates is None or not len(coordinates):
        raise BadInput(facts.source.path, f"{_ATTACH} needs the coordinates of vertices; name them by graph.coordinates")
    src, dst, weights = read_edges(edges)
    assert weights is not None
    units, decimals = in_units(facts.source.path, weights)
    vertices = coordinates["vertex"].to_numpy()
    (at, of_src), (to, of_dst) = (positions_in(vertices, end) for end in (src, dst))
    rows = np.flatnonzero(of_src & of_dst & (src != dst))
    low, high = np.minimum(at, to)[rows], np.maximum(at, to)[rows]
    pairs, street = np.unique(low * len(vertices) + high, return_inverse=True)
    lightest = np.full((len(pairs), 2), np.iinfo(np.int64).max)
    against = (at[rows] > to[rows]).astype(np.int64)
    for direction in (against,) if facts.directed else (0 * against, 0 * against + 1):
        np.minimum.at(lightest, (street, direction), units[rows])
    lightest[lightest == np.iinfo(np.int64).max] = -1
    ends = np.stack(np.divmod(pairs, len(vertices)), axis=1)
    axes = np.stack([coordinates[axis].to_numpy() for axis in "xy"], axis=1)
    points = np.rint(axes[ends.ravel()] * UNITS).astype(np.int32)
    first = np.arange(len(pairs) + 1, dtype=np.int64) * 2
    return StreetLines(vertices[ends[:, 0]], vertices[ends[:, 1]], lightest, first, points, decimals, edges=(src, dst))


def in_units(file: str, weights: Array) -> tuple[Array, int | None]:
    """Weights as int64 [E], and the decimals of their unit if they have some. Raises BadInput where sums are not exact."""
    if weights.dtype.kind != "f":
        return weights.astype(np.int64), None
    decimals = places_of(weights) if weights.dtype == np.float64 else None
    if decimals is None:
        reason = "these have too many decimals for exact sums, or are float32; round them, such as to three decimals"
        raise BadInput(file, f"{_ATTACH} divides weights exactly: {reason}")
    return units_of(weights, decimals), decimals
