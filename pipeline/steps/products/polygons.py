"""Table `isochrone_polygons`: the area within each threshold of each source, for graphs with coordinates.

The vertices are the corners of a Delaunay triangulation of the plane in which longitude is scaled by the cosine of the middle
latitude. The area of an isochrone is that of the triangles whose three corners are within the threshold, but for those with a
side of more than LONGEST times the median side, which lead over water or beyond the network's edge. `globe` has the triangles of
networks around a pole or on both sides of the 180th meridian.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.steps.places.columns import at_places, parameters_of
from pipeline.steps.places.files import places_at
from pipeline.steps.products import globe
from pipeline.steps.products.isochrones import require_isochrones, sources_of, thresholds_of
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.points import sorted_coordinates
from pipeline.tables.row_lookup import rows_of

STEP = "isochrone_polygons"  # and the table
LONGEST = 20.0
_SOURCES_PER_FILE = 256  # an area may take as much memory as a table of all vertices
_MULTIPOLYGON, _POLYGON, _LITTLE_ENDIAN = 6, 3, 1


@dataclass(frozen=True)
class Triangles:
    """Triangles of places; the corners of each are in counter-clockwise order, and corner i is opposite to neighbour i."""

    places: Array  # float64 [P, 2]: longitude and latitude of the corners
    corners: Array  # int32 [T, 3]
    neighbours: Array  # int32 [T, 3]; -1 beyond the edge
    used: Array  # bool [T]
    # int32 [T, 3]: the corners of the triangle that each is a part of, among the N places that were triangulated.
    wholes: Array

    def area(self, within: Array) -> bytes | None:
        """The triangles whose places are all `within`, bool [N], as a MultiPolygon in WKB; None if there are none."""
        kept = self.used & within[self.wholes].all(axis=1)
        open_sides = kept[:, np.newaxis] & ~(kept[self.neighbours] & (self.neighbours >= 0))
        waiting = dict.fromkeys(zip(*(axis.tolist() for axis in np.nonzero(open_sides)), strict=True))
        if not waiting:
            return None
        polygons: dict[int, list[list[int]]] = {}
        component = self._components(kept)
        while waiting:
            triangle, _ = start = next(iter(waiting))
            for ring in _simple(self._ring(start, kept, waiting)):
                polygons.setdefault(component[triangle], []).append(ring)
        return _multipolygon([[self.places[ring] for ring in rings] for rings in polygons.values()])

    def _components(self, kept: Array) -> list[int]:
        """The number of the connected group of each kept triangle."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        triangle, side = np.nonzero(kept[:, np.newaxis] & (self.neighbours >= 0) & kept[self.neighbours])
        shape, ones = (len(kept), len(kept)), np.ones(len(triangle), np.bool_)
        groups: list[int] = connected_components(coo_array((ones, (triangle, self.neighbours[triangle, side])), shape))[
            1
        ].tolist()
        return groups

    def _ring(self, start: tuple[int, int], kept: Array, waiting: dict[tuple[int, int], None]) -> list[int]:
        """The corners along the boundary from an open side, with the area on the left, until it is there again."""
        ring, (triangle, side) = [], start
        while (triangle, side) in waiting:
            del waiting[triangle, side]
            ring.append(int(self.corners[triangle, (side + 1) % 3]))
            end = self.corners[triangle, (side + 2) % 3]
            side = (side + 1) % 3  # the side of this triangle that begins at `end`
            while (beside := self.neighbours[triangle, side]) >= 0 and kept[beside]:
                triangle = int(beside)
                side = (int(np.flatnonzero(self.corners[triangle] == end)[0]) + 2) % 3
        return ring


@dataclass(frozen=True)
class _Polygons:
    sweeps: Sweeps
    schema: pa.Schema
    thresholds: Array
    coordinates: pa.Table
    edges: str  # digest of the edge list, which has the coordinates

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        triangles, rows, begins = graph.derived.get((_Polygons, self.edges), lambda: self._triangulate(graph))
        for source, distances in zip(ids.tolist(), trees.distances, strict=True):
            distances_of_corners = to_host(distances[rows])
            within = [(distances_of_corners >= 0) & (distances_of_corners <= threshold) for threshold in self.thresholds]
            areas = [triangles.area(np.logical_or.reduceat(reached, begins) if len(begins) else reached) for reached in within]
            columns = [pa.array(np.full(len(areas), source)), pa.array(self.thresholds), pa.array(areas, pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _triangulate(self, graph: Graph) -> tuple[Triangles, Array, Array]:
        """The triangles of the places where vertices are, the rows of these vertices, and where those of each place begin."""
        rows = to_host(rows_of(graph, self.coordinates["vertex"].to_numpy()))
        places = np.stack([self.coordinates[name].to_numpy() for name in ("x", "y")], axis=1)[rows >= 0]
        places = globe.canonical(places) if globe.is_round(places) else places
        _, first, at = np.unique(places, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first[at.ravel()], kind="stable")  # places in the order of their first vertices
        begins = np.flatnonzero(np.diff(first[at.ravel()][order], prepend=-1))
        return triangulate(places[np.sort(first)]), rows[rows >= 0][order], begins


def triangulate(places: Array) -> Triangles:
    """Triangles of different places, longitude and latitude float64 [P, 2]; none where all are on a line."""
    from scipy.spatial import Delaunay, QhullError

    if globe.is_round(places):
        mesh = globe.triangulate(places)
        return Triangles(mesh.places, mesh.corners, mesh.neighbours, _are_short(mesh.sides), mesh.wholes)
    middle = (places[:, 1].min() + places[:, 1].max()) / 2 if len(places) else 0.0
    plane = places * [np.cos(np.radians(middle)), 1.0]
    try:
        triangulation = Delaunay(plane)
        corners, neighbours = triangulation.simplices, triangulation.neighbors
    except (QhullError, ValueError):
        corners = neighbours = np.empty((0, 3), np.int32)
    sides = np.linalg.norm(plane[corners] - plane[np.roll(corners, 1, axis=1)], axis=2)
    return Triangles(places, corners, neighbours, _are_short(sides), corners)


def _are_short(sides: Array) -> Array:
    """Whether each triangle has short sides only, bool [T], by the lengths of all sides [T, 3]."""
    longest = LONGEST * np.median(sides) if len(sides) else 0.0
    short: Array = sides.max(axis=1, initial=0) <= longest
    return short


def tabulate_polygons(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Write the area within each threshold of each source; of a source without a triangle it is null.

    The folder is `work / "isochrone_polygons"`. Returns and raises as `tabulate_isochrones`, and raises BadConfig for a graph
    without coordinates, and TooLarge as `require_disk`.
    """
    require_isochrones(edges, graph, config)
    coordinates = sorted_coordinates(edges)
    assert coordinates is not None
    facts, thresholds = GraphFacts.of(graph), thresholds_of(config, graph)
    schema = tables.schema(STEP, facts.weight, 0, facts.measure)
    places = {"source": places_at(config.sources, edges, graph, runtime)}
    areas = _Polygons(sources_of(config, edges, graph, runtime), schema, thresholds, coordinates, edges.digest)
    product = at_places(STEP, areas, places)

    def write(folder: Path) -> dict[str, Any]:
        swept = write_files(folder, product, tables.keys(STEP, product.schema.names), _SOURCES_PER_FILE, runtime)
        return swept.facts(product.sweeps.count, runtime.backend).stored()

    parameters = {"sources": product.sweeps.parameter, "thresholds": thresholds.tolist()} | parameters_of(places)
    return make(runtime.work / STEP, STEP, {"edges": edges.digest, "graph": graph.digest}, parameters, write)


def _simple(ring: list[int]) -> Iterator[list[int]]:
    """The rings without a repeated corner that a ring consists of which touches itself."""
    path, position_of = list[int](), dict[int, int]()
    for corner in ring:
        if corner in position_of:
            begin = position_of[corner]
            yield path[begin:]
            for gone in path[begin:]:
                del position_of[gone]
            del path[begin:]
        position_of[corner] = len(path)
        path.append(corner)
    yield path


def _multipolygon(polygons: Sequence[Sequence[Array]]) -> bytes:
    """Encode polygons, each the rings of one area, float64 [n, 2]: the outer ring, which turns left, is written first."""
    parts = [pack("<BII", _LITTLE_ENDIAN, _MULTIPOLYGON, len(polygons))]
    for rings in polygons:
        parts.append(pack("<BII", _LITTLE_ENDIAN, _POLYGON, len(rings)))
        for ring in sorted(rings, key=_area, reverse=True):
            closed = np.concatenate([ring, ring[:1]])
            parts += [pack("<I", len(closed)), closed.astype("<f8").tobytes()]
    return b"".join(parts)


def _area(ring: Array) -> float:
    """Twice the area that a ring encloses; negative if it turns right."""
    x, y = (ring - ring[0]).T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
