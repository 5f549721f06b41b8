"""Tables `isochrones` and `isochrone_vertices`: what is within given distances of each source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.gpu.loader import to_host
from kernels.graph import ID, Array, Graph
from kernels.reductions import Digits, digits_of, within
from kernels.trees import Trees
from pipeline.config.model import LARGEST
from pipeline.config.products.isochrones import IsochronesConfig
from pipeline.errors import BadConfig
from pipeline.runtime.backend import Backend, bring
from pipeline.runtime.memory import require_memory
from pipeline.steps.places.columns import at_places, parameters_of
from pipeline.steps.places.files import places_at
from pipeline.steps.products.sweeping import Sweeps
from pipeline.steps.products.tabulating import write_files, write_rows
from pipeline.steps.products.vertices import read_vertices
from pipeline.steps.runtime import Runtime
from pipeline.store.arrays import dtype_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.store.vertices import open_vertices
from pipeline.suggestions import did_you_mean
from pipeline.tables import files as tables
from pipeline.tables.definitions import TABLES
from pipeline.tables.points import COORDINATES, NODES
from pipeline.tables.row_lookup import positions_in

STEP = "isochrones"  # and the table
VERTICES = "isochrone_vertices"
_SOURCES_PER_FILE = 256  # of vertices
_COPIES = 3  # of all counts and sums, in memory: as they arrive, as a table, and as what a task has just sent


@dataclass(frozen=True)
class Attribute:
    """A column of the table of nodes as integers, whose sums are exact."""

    name: str
    columns: Array  # int64 [n, V]: integers, or the digits of floats; in the order of the graph's rows
    digits: Digits | None  # of floats; None for integers

    def sums_of(self, sums: Array) -> Array:
        """The sums [k] of the attribute by those of its columns, int64 [k, n]."""
        if self.digits:
            return self.digits.floats(sums)
        integers: Array = sums[:, 0]
        return integers


@dataclass(frozen=True)
class _Isochrones:
    sweeps: Sweeps
    schema: pa.Schema
    thresholds: Array
    attributes: Sequence[Attribute]
    edges: str  # digest of the edge list, which has the attributes

    def rows_of(self, graph: Graph, ids: Array, trees: Trees) -> Iterator[pa.RecordBatch]:
        columns = graph.derived.get(self._key, lambda: self._columns(graph))
        sums = to_host(within(trees.distances, self.thresholds, columns)).reshape(len(ids) * len(self.thresholds), -1)
        made = [np.repeat(ids, len(self.thresholds)), np.tile(self.thresholds, len(ids)), sums[:, 0]]
        first = 1
        for attribute in self.attributes:
            made.append(attribute.sums_of(sums[:, first : first + len(attribute.columns)]))
            first += len(attribute.columns)
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in made], schema=self.schema)

    @property
    def _key(self) -> tuple[object, ...]:
        return _Isochrones, self.edges, *(attribute.name for attribute in self.attributes)

    def _columns(self, graph: Graph) -> Array:
        backend: Backend = "cpu" if isinstance(graph.ids, np.ndarray) else "gpu"
        columns = [np.empty((0, graph.num_vertices), np.int64), *(attribute.columns for attribute in self.attributes)]
        return bring(np.concatenate(columns), backend)


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
    return Sweeps(graph, read_vertices(config.sources, edges, graph, runtime) if config.sources else None)


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


def require_isochrones(edges: Folder, graph: Folder, config: IsochronesConfig) -> None:
    """Raise BadConfig for thresholds, columns, their values or areas that the graph cannot have, before anything is searched."""
    thresholds_of(config, graph)
    for name in config.sums:
        _attribute(edges, graph, name)
    if config.polygons and COORDINATES not in edges.manifest.files:
        raise BadConfig("isochrones.polygons: the graph has no coordinates; name them by `coordinates` below [graph]")


def tabulate_isochrones(edges: Folder, graph: Folder, config: IsochronesConfig, runtime: Runtime) -> Folder:
    """Count the vertices within each threshold of each source, and sum columns of the table of nodes over them.

    Args:
        edges: The edge list, which has the table of nodes.
        runtime: The folder is `work / "isochrones"`.

    Returns:
        The table. A sum of floats does not depend on their order, see `kernels.reductions`. Facts: `ProductFacts`.

    Raises:
        BadConfig: A column to be summed is not in the table of nodes, or has no numbers.
        TooLarge: Memory does not hold the table.
    Otherwise as `read_vertices` and `tabulate_closeness`.
    """
    facts, thresholds = GraphFacts.of(graph), thresholds_of(config, graph)
    attributes = [_attribute(edges, graph, name) for name in config.sums]
    plain = tables.schema(STEP, facts.weight, 0, facts.measure)
    sums = [pa.field(one.name, pa.int64() if one.digits is None else pa.float64(), nullable=False) for one in attributes]
    schema = tables.of_fields([*plain, *sums]).with_metadata(plain.metadata)
    places = {"source": places_at(config.sources, edges, graph, runtime)}
    plain_product = _Isochrones(sources_of(config, edges, graph, runtime), schema, thresholds, attributes, edges.digest)
    product = at_places(STEP, plain_product, places)
    rows = product.sweeps.count * len(thresholds)
    require_memory(f"{STEP}: a table of {rows:,} rows", _COPIES * ID.itemsize * len(schema) * rows, "cpu")

    def write(folder: Path) -> dict[str, Any]:
        swept, _ = write_rows(folder, product, tables.keys(STEP, product.schema.names), runtime)
        return swept.facts(product.sweeps.count, runtime.backend).stored()

    parameters = {"sources": product.sweeps.parameter, "thresholds": thresholds.tolist(), "sums": list(config.sums)}
    parameters |= parameters_of(places)
    return make(runtime.work / STEP, STEP, {"edges": edges.digest, "graph": graph.digest}, parameters, write)


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
        return swept.facts(product.sweeps.count, runtime.backend).stored()

    parameters = {"sources": product.sweeps.parameter, "threshold": threshold} | parameters_of(places)
    return make(runtime.work / VERTICES, VERTICES, {"graph": graph.digest}, parameters, write)


def _require_numbers(edges: Folder, name: str) -> None:
    """Raise BadConfig unless the table of nodes has a column of numbers of this name."""
    schema = pq.read_schema(edges.path / NODES) if NODES in edges.manifest.files else pa.schema([])
    known = schema.names[1:]
    if name not in known:
        has = f"has the columns {', '.join(known)}" if known else "is missing: name it by `nodes` below [graph]"
        raise BadConfig(f"isochrones.sums: {name!r}: the table of nodes {has}{did_you_mean(name, known)}")
    if name in {column.name for column in TABLES[STEP]}:
        raise BadConfig(f"isochrones.sums: {name!r} is the name of another column of table {STEP}")
    kind = schema.field(name).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise BadConfig(f"isochrones.sums: column {name!r} is {kind}, not numbers")


def _attribute(edges: Folder, graph: Folder, name: str) -> Attribute:
    _require_numbers(edges, name)
    table = pq.read_table(edges.path / NODES, columns=["vertex", name], page_checksum_verification=True)
    column = table[name].combine_chunks()
    ids, rows_by_id, _, _ = open_vertices(graph)
    floats, unsigned = pa.types.is_floating(column.type), pa.types.is_unsigned_integer(column.type)
    wide = pa.float64() if floats else pa.uint64() if unsigned else pa.int64()
    values = np.zeros(len(ids), dtype_of(wide))
    positions, of_graph = positions_in(ids[rows_by_id], table["vertex"].to_numpy())
    values[rows_by_id[positions[of_graph]]] = column.fill_null(0).cast(wide).to_numpy()[of_graph]
    if floats and not np.isfinite(values).all():
        raise BadConfig(f"isochrones.sums: column {name!r} has {values[~np.isfinite(values)][0]}")
    with np.errstate(over="ignore"):
        most = np.abs(values).sum() if floats else sum(map(abs, map(int, values[values != 0])))
    if most > (limit := float(np.finfo(np.float64).max) if floats else LARGEST):
        raise BadConfig(f"isochrones.sums: column {name!r}: the sum of its values without their signs exceeds {limit}")
    if not floats:
        return Attribute(name, values[np.newaxis].astype(np.int64), None)
    digits = digits_of(values)
    return Attribute(name, digits.columns, digits)
