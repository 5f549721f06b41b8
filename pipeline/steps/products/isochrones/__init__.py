"""Tables `isochrones` and `isochrone_vertices`: what is within given distances of each source.

`sums` has the sums over what is within, `access` those over the sources that a vertex is within, `polygons` the areas.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import ID, Array, Graph
from kernels.trees import Trees
from pipeline.config.model import LARGEST
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig
from pipeline.runtime.memory import require_memory
from pipeline.steps.places.columns import at_places, parameters_of
from pipeline.steps.places.files import places_at
from pipeline.steps.products.isochrones.sums import RULE, DecayedSums, Demand, ExactSums, SumColumns, decay_of
from pipeline.steps.products.isochrones.supply import RATIO, Supply, WithRatios
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files, write_rows
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES
from pipeline.tables.points import COORDINATES

STEP = "isochrones"  # and the table
VERTICES = "isochrone_vertices"
_SOURCES_PER_FILE = 256  # of vertices
_COPIES = 3  # of all counts and sums, in memory: as they arrive, as a table, and as what a task has just sent


@dataclass(frozen=True)
class _Isochrones:
    sweeps: Sweeps
    schema: pa.Schema
    thresholds: Array
    sums: SumColumns
    demand: Demand | None

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        counts, *sums = self.sums.of(graph, trees.distances, self.thresholds)
        made = [np.repeat(ids, len(self.thresholds)), np.tile(self.thresholds, len(ids)), counts.ravel()]
        arrays = [pa.array(column) for column in made]
        if self.demand:
            demand = self.demand.within(graph, trees, self.thresholds).ravel()
            arrays.append(pa.array(demand, mask=demand == 0))  # `WithRatios` makes ratios of them
        arrays += [pa.array(column.ravel()) for column in sums]
        yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


@dataclass(frozen=True)
class _Reached:
    sweeps: Sweeps
    schema: pa.Schema
    threshold: float

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        for source, distances in zip(ids.tolist(), trees.distances, strict=True):
            ascending = distances[graph.rows_by_id]
            near = np.flatnonzero((ascending >= 0) & (ascending <= self.threshold))
            vertices, reached = (to_host(array) for array in (graph.ids[graph.rows_by_id[near]], ascending[near]))
            kind = dtype_of(self.schema.field("distance").type)
            columns = [np.full(len(vertices), source), vertices, reached.astype(kind)]
            yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self.schema)


def sources_of(config: IsochronesConfig, edges: Folder, graph: Folder, runtime: Runtime) -> Sweeps:
    """The sources of isochrones. Raises as `read_vertices`."""
    sources = read_vertices(config.sources, edges, graph, runtime) if config.sources else None
    return Sweeps(graph, sources, towards=config.direction == "to")


def thresholds_of(config: IsochronesConfig, graph: Folder) -> Array:
    """The thresholds in the type of distances, int64 or float64 [T]. Raises BadConfig for one that no such distance can be."""
    kind = dtype_of(tables.schema(STEP, GraphFacts.of(graph).weight).field("threshold").type)
    for given in config.thresholds:
        if kind.kind == "i" and (int(given) != given or given > LARGEST):
            raise BadConfig(f"isochrones.thresholds: {given}: the distances of this graph are integers up to {LARGEST}")
        if float(given) != given and kind.kind == "f":
            raise BadConfig(
                f"isochrones.thresholds: {given}: the distances of this graph are 64-bit floats, which would round it"
            )
    thresholds: Array = np.array([kind.type(given) for given in config.thresholds], kind)
    return thresholds


def require_isochrones(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> None:
    """Raise BadConfig for thresholds, columns, their values or areas that the graph cannot have, before anything is searched.

    Otherwise raises as `Supply.of`.
    """
    thresholds_of(config, graph)
    _sums_of(edges, graph, config)
    Demand.of(edges, graph, config)
    if config.supply:
        Supply.of(edges, graph, config, runtime)
    if config.polygons and COORDINATES not in edges.manifest.files:
        raise BadConfig("isochrones.polygons: the graph has no coordinates; name them by `coordinates` below [graph]")


def _sums_of(edges: Folder, graph: Folder, config: IsochronesConfig) -> SumColumns:
    """The sums of a configuration. Raises BadConfig."""
    for name in config.sums:
        if name in {column.name for column in TABLES[STEP]}:
            raise BadConfig(f"isochrones.sums: {name!r} is the name of another column of table {STEP}")
    return (ExactSums if config.decay == "cumulative" else DecayedSums).of_columns(edges, graph, config)


def tabulate_isochrones(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Count the vertices within each threshold of each source, and sum columns of the table of nodes over them.

    Args:
        edges: The edge list, which has the table of nodes.
        runtime: The folder is `work / "isochrones"`.

    Returns:
        The table. A sum of floats does not depend on their order, see `kernels.reductions`. Facts: `ProductFacts`.

    Raises:
        BadConfig: A column to be summed is not in the table of nodes, or has no numbers; or as `Supply.of`.
        TooLarge: Memory does not hold the table.
    Otherwise as `read_vertices` and `tabulate_closeness`.
    """
    thresholds, sums = thresholds_of(config, graph), _sums_of(edges, graph, config)
    demand, schema = Demand.of(edges, graph, config), _schema(graph, config, sums)
    supply = Supply.of(edges, graph, config, runtime) if config.supply else None
    places = {"source": places_at(config.sources, edges, graph, runtime)}
    of_vertices = _Isochrones(sources_of(config, edges, graph, runtime), schema, thresholds, sums, demand)
    product = at_places(STEP, of_vertices, places)
    product = WithRatios(product, supply) if supply else product
    rows = product.sweeps.count * len(thresholds)
    require_memory(f"{STEP}: a table of {rows:,} rows", _COPIES * ID.itemsize * len(schema) * rows, "cpu")

    def write(folder: Path) -> dict[str, Any]:
        swept, _ = write_rows(folder, product, tables.keys(STEP, product.schema.names), runtime)
        recounted = [RULE] if demand or isinstance(sums, DecayedSums) else []
        return swept.facts(product.sweeps, runtime, more=recounted).stored()

    parameters = {"sources": product.sweeps.parameter, "thresholds": thresholds.tolist(), "sums": list(config.sums)}
    parameters |= {"direction": config.direction, "supply": config.supply, "demand": config.demand, **vars(decay_of(config))}
    parameters |= parameters_of(places) | (supply.parameters if supply else {})
    return make(runtime.work / STEP, STEP, {"edges": edges.digest, "graph": graph.digest}, parameters, write)


def _schema(graph: Folder, config: IsochronesConfig, sums: SumColumns) -> pa.Schema:
    """The columns of the table, and the units of those that are weighted."""
    facts, units = GraphFacts.of(graph), dict[str, str]()
    plain = tables.schema(STEP, facts.weight, 0, facts.measure)
    if config.supply:
        units[RATIO] = f"{config.supply} for each of {config.demand} within the threshold{sums.weighted}"
    if sums.weighted:
        units |= {field.name: f"sum over the vertices within the threshold{sums.weighted}" for field in sums.fields}
    fields = [field for field in plain if config.supply or field.name != RATIO]
    return tables.stating(tables.of_fields([*fields, *sums.fields]).with_metadata(plain.metadata), units)


def tabulate_reached(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Write the vertices within the largest threshold of each source, with their distances.

    The folder is `work / "isochrone_vertices"`. Returns and raises as `tabulate_isochrones`, and TooLarge as `require_disk`.
    """
    facts, threshold = GraphFacts.of(graph), thresholds_of(config, graph)[-1].item()
    schema = tables.schema(VERTICES, facts.weight, 0, facts.measure)
    places = {"source": places_at(config.sources, edges, graph, runtime)}
    product = at_places(VERTICES, _Reached(sources_of(config, edges, graph, runtime), schema, threshold), places)

    def write(folder: Path) -> dict[str, Any]:
        swept = write_files(folder, product, tables.keys(VERTICES, product.schema.names), _SOURCES_PER_FILE, runtime)
        return swept.facts(product.sweeps, runtime).stored()

    parameters = {"sources": product.sweeps.parameter, "threshold": threshold, "direction": config.direction}
    parameters |= parameters_of(places)
    return make(runtime.work / VERTICES, VERTICES, {"graph": graph.digest}, parameters, write)
