"""Table `isochrone_polygons`: the area within each threshold of each source, for graphs with coordinates.

The area of an isochrone is that of the short triangles of vertices (`triangles`) whose three corners are within the threshold.
Where there is none, it is what is near the edges within it (`buffers`), if the configuration says how near.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, Graph
from kernels.trees import Trees
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.steps.places.columns import at_places, parameters_of
from pipeline.steps.places.files import places_at
from pipeline.steps.products.isochrones import globe, require_isochrones, sources_of, thresholds_of
from pipeline.steps.products.isochrones.buffers import buffered
from pipeline.steps.products.isochrones.triangles import Triangles, triangulate
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.points import sorted_coordinates
from pipeline.tables.row_lookup import rows_of

STEP = "isochrone_polygons"  # and the table
_SOURCES_PER_FILE = 256  # an area may take as much memory as a table of all vertices


@dataclass(frozen=True)
class _Polygons:
    sweeps: Sweeps
    schema: pa.Schema
    thresholds: Array
    coordinates: pa.Table
    edges: str  # digest of the edge list, which has the coordinates
    buffer: float

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        corners = graph.derived.get((_Polygons, self.edges), lambda: self._corners(graph))
        for source, distances in zip(ids.tolist(), trees.distances, strict=True):
            reached = to_host(distances[corners.rows])
            areas = [self._area(graph, corners, (reached >= 0) & (reached <= threshold)) for threshold in self.thresholds]
            columns = [pa.array(np.full(len(areas), source)), pa.array(self.thresholds), pa.array(areas, pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _area(self, graph: Graph, corners: "_Corners", within: Array) -> bytes | None:
        """The area of the vertices that are `within`, bool [n]."""
        area = corners.triangles.area(np.logical_or.reduceat(within, corners.begins) if len(within) else within)
        if area or not self.buffer or not within.any():
            return area
        neighbours = graph.derived.get(_neighbours, lambda: _neighbours(graph))
        return buffered(corners.edges(np.flatnonzero(within), *neighbours), self.buffer)

    def _corners(self, graph: Graph) -> "_Corners":
        rows = to_host(rows_of(graph, self.coordinates["vertex"].to_numpy()))
        places = np.stack([self.coordinates[name].to_numpy() for name in ("x", "y")], axis=1)[rows >= 0]
        places = globe.canonical(places) if globe.is_round(places) else places
        _, first, at = np.unique(places, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first[at.ravel()], kind="stable")  # places in the order of their first vertices
        begins = np.flatnonzero(np.diff(first[at.ravel()][order], prepend=-1))
        return _Corners(triangulate(places[np.sort(first)]), rows[rows >= 0][order], begins, places[order])


@dataclass(frozen=True)
class _Corners:
    """The vertices with coordinates, n of them, sorted by place."""

    triangles: Triangles  # of the places
    rows: Array  # of the vertices [n]
    begins: Array  # where the vertices of each place begin
    places: Array  # float64 [n, 2]: longitude and latitude of the vertices

    def edges(self, chosen: Array, offsets: Array, indices: Array) -> Array:
        """Both ends, float64 [m, 2, 2], of the edges between chosen vertices, and of each of these by itself."""
        rows, number = self.rows[chosen], np.full(len(offsets) - 1, -1)
        number[rows] = chosen
        counts = offsets[rows + 1] - offsets[rows]
        arcs = np.repeat(offsets[rows] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        tails, heads = np.repeat(chosen, counts), number[indices[arcs]]
        ends = np.stack([tails, heads], axis=1)[heads >= 0]
        pairs = np.unique(np.concatenate([np.sort(ends, axis=1), np.stack([chosen, chosen], axis=1)]), axis=0)
        edges: Array = self.places[pairs]
        return edges


def _neighbours(graph: Graph) -> tuple[Array, Array]:
    """Offsets and heads of the arcs that leave each row, NumPy's."""
    return to_host(graph.out.offsets), to_host(graph.out.indices)


def tabulate_polygons(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Write the area within each threshold of each source; without a triangle and a buffer it is null.

    The folder is `work / "isochrone_polygons"`. Returns and raises as `tabulate_isochrones`, and raises BadConfig for a graph
    without coordinates, and TooLarge as `require_disk`.
    """
    require_isochrones(edges, graph, config, runtime)
    coordinates = sorted_coordinates(edges)
    assert coordinates is not None
    facts, thresholds = GraphFacts.of(graph), thresholds_of(config, graph)
    schema = tables.schema(STEP, facts.weight, 0, facts.measure)
    places = {"source": places_at(config.sources, edges, graph, runtime)}
    areas = _Polygons(sources_of(config, edges, graph, runtime), schema, thresholds, coordinates, edges.digest, config.buffer)
    product = at_places(STEP, areas, places)

    def write(folder: Path) -> dict[str, Any]:
        swept = write_files(folder, product, tables.keys(STEP, product.schema.names), _SOURCES_PER_FILE, runtime)
        return swept.facts(product.sweeps, runtime).stored()

    parameters = {"sources": product.sweeps.parameter, "thresholds": thresholds.tolist()}
    parameters |= {"direction": config.direction, "buffer": config.buffer} | parameters_of(places)
    return make(runtime.work / STEP, STEP, {"edges": edges.digest, "graph": graph.digest}, parameters, write)
