"""Table `flows`: how many shortest paths lead over each arc, or how much their weights are, and the arcs' lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, index_dtype
from kernels.reductions import ArcLoads
from kernels.trees import Trees
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products.flows import FlowsConfig
from pipeline.errors import BadConfig
from pipeline.runtime.backend import Backend, bring
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.products.trips import Trips, read_trips
from pipeline.steps.runtime import Runtime
from pipeline.steps.turns.folding import of_streets
from pipeline.steps.turns.turned import TurnedRows
from pipeline.store.facts import GraphFacts
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.tables import files as tables
from pipeline.tables.lines import lines
from pipeline.tables.points import COORDINATES, GEOMETRY, sorted_coordinates
from pipeline.tables.row_lookup import positions_in

STEP = "flows"  # and the table
_ENTRIES = 1 << 27  # of trees whose paths to all vertices are counted at a time, with about 40 bytes each
_MOST = 1024  # sources of a task, unless there are many: as many as are swept at a time


def require_flows(edges: Folder, graph: Folder, config: FlowsConfig, _: Runtime) -> None:
    """Raise BadInput for weights that pairs cannot have, and BadConfig for lines without coordinates, before the stages run."""
    if config.weight:
        read_trips(config, graph)
    if config.lines and COORDINATES not in edges.manifest.files:
        raise BadConfig("flows.lines: the graph has no coordinates; name them by `coordinates` below [graph]")


def tabulate_flows(edges: Folder, graph: Folder, config: FlowsConfig, runtime: Runtime) -> Folder:
    """Count the paths over each arc, along the predecessors of `sssp`, which make the path between two vertices unique.

    Args:
        edges: The edge list, which has coordinates.
        runtime: The folder is `work / "flows"`.

    Returns:
        The table: of arcs with a path. Facts: `ProductFacts`; with a file of pairs `weight` is the sum of their weights, or their
            number, and `unconnected` that of the pairs without a path.

    Raises:
        BadInput: The file of pairs is not there, is no such file, or has a vertex that is not in the graph.
    Otherwise as `require_flows` and `tabulate_closeness`.
    """
    require_flows(edges, graph, config, runtime)
    trips = read_trips(config, graph)
    sweeps = Sweeps(graph, trips.sources if trips else None, counted=True)

    def write(folder: Path) -> dict[str, Any]:
        tasks, total = sweeps.summing_tasks(_MOST, runtime), Swept()
        loads = np.zeros((len(trips.amounts) if trips else 1, GraphFacts.of(graph).arcs), np.int64)
        unconnected = np.zeros(len(loads), np.int64)
        run = partial(_count, sweeps.prepared(runtime), trips, attempts_beside(folder))
        for ((path, swept, lost),) in progress.counted(
            runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True), list(map(len, tasks)), "sources"
        ):
            arcs, *of_arcs = np.load(path)
            loads[:, arcs] += of_arcs
            unconnected += lost
            path.unlink()
            total.add(swept)
        total.rows = _Written(edges, graph, config, trips).write(folder, loads)
        facts = total.facts(sweeps, runtime)
        if trips:
            sums = trips.sums_of(np.stack([trips.amounts.sum(axis=1), unconnected]))
            facts = facts.model_copy(update=dict(zip(("weight", "unconnected"), sums.tolist(), strict=True)))
        return facts.stored()

    parameters = {"pairs": trips.content if trips else "all", "weight": config.weight, "lines": config.lines}
    inputs = {"graph": graph.digest} | ({"edges": edges.digest} if config.lines else {})
    return make(runtime.work / STEP, STEP, inputs, parameters, write)


def _count(sweeps: Sweeps, trips: Trips | None, attempts: Path, context: TaskContext, part: range) -> tuple[Path, Swept, Array]:
    """Write the arcs that paths from some sources use, with their loads, int64 [1 + n, m]; return what has no path, too."""
    sweeps = sweeps.for_task()
    graph, rows = sweeps.searched_at(context), sweeps.turned.rows(context) if sweeps.turned else None
    trips = trips.to(to_host(rows.end)) if trips and rows else trips
    kinds = len(trips.amounts) if trips else 1
    loads, unconnected = [ArcLoads(graph) for _ in range(kinds)], np.zeros(kinds, np.int64)
    demand, first = _demand(rows, context.backend), part.start
    for ids, trees in sweeps.batches(context, part, predecessors=True, of_crossings=False):
        if trips:
            unconnected += _add_paths(trips, range(first, first + len(ids)), trees, loads)
        else:
            _add_all(trees, demand, loads[0])
        first += len(ids)
        progress.advance(len(ids))
    counted = np.stack([to_host(of_kind.loads) for of_kind in loads])
    if rows:
        counted = of_streets(sweeps.graph_at(context), graph, rows, counted)
    attempt, arcs = new_attempt(attempts).with_suffix(".npy"), np.flatnonzero(counted.any(axis=0))
    np.save(attempt, np.vstack([arcs, counted[:, arcs]]))
    return attempt, sweeps.swept, unconnected


def _demand(rows: TurnedRows | None, backend: Backend) -> Array | None:
    """How many paths lead to each row from each source, int64 [V]; None: one to every row."""
    if rows is None:
        return None
    demand = np.zeros(len(rows.crossing), np.int64)
    demand[to_host(rows.end)] = 1
    return bring(demand, backend)


def _add_all(trees: Trees, demand: Array | None, loads: ArcLoads) -> None:
    """Add the paths to all vertices."""
    assert trees.predecessors is not None
    at_once = max(1, _ENTRIES // max(1, trees.predecessors.shape[1]))
    for begin in range(0, len(trees.sources), at_once):
        loads.add(trees.predecessors[begin : begin + at_once], demand)


def _add_paths(trips: Trips, part: range, trees: Trees, loads: Sequence[ArcLoads]) -> Array:
    """Add the paths of the pairs of some sources; return the amounts [n] of those whose other vertex is not reached."""
    numbers, heads, amounts = trips.of(part)
    assert trees.predecessors is not None
    for of_kind, amount in zip(loads, amounts, strict=True):
        of_kind.add_paths(trees.predecessors, numbers, heads, amount)
    distances = to_host(trees.distances[tuple(np.asarray(ends, like=trees.distances) for ends in (numbers, heads))])
    lost: Array = amounts[:, distances < 0].sum(axis=1)
    return lost


@dataclass(frozen=True)
class _Written:
    """How the table is written."""

    edges: Folder
    graph: Folder
    config: FlowsConfig
    trips: Trips | None

    def write(self, folder: Path, loads: Array) -> int:
        """Write the arcs that have a load, int64 [n, A], sorted by the ids of tail and head; return their number."""
        opened = open_graph(self.graph)
        used = loads.any(axis=0)
        arcs = np.flatnonzero(used)
        of_head = np.diff(np.append(0, np.cumsum(used))[opened.into.offsets])
        heads = np.repeat(np.arange(opened.num_vertices, dtype=index_dtype(opened.num_vertices)), of_head)
        tails = opened.into.indices[arcs]
        flow = self.trips.sums_of(loads[:, arcs].T) if self.trips else loads[0, arcs]
        columns = [opened.ids[tails], opened.ids[heads], flow]
        positions = np.empty(opened.num_vertices, np.int64)
        positions[opened.rows_by_id] = np.arange(opened.num_vertices)
        order = np.argsort(positions[tails] * opened.num_vertices + positions[heads], kind="stable")
        schema, coordinates = self._schema(flow), sorted_coordinates(self.edges) if self.config.lines else None

        def groups(first: int) -> Iterator[pa.RecordBatch]:
            for begin in range(first, min(first + tables.ROWS_PER_FILE, len(order)), tables.ROWS_PER_GROUP):
                some = [column[order[begin : begin + tables.ROWS_PER_GROUP]] for column in columns]
                arrays = [*map(pa.array, some), *([_lines(coordinates, *some[:2])] if coordinates else [])]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

        for number in range(tables.files_of(len(order))):
            rows = groups(number * tables.ROWS_PER_FILE)
            tables.write_rows(folder / tables.file_name(number), schema, tables.keys(STEP), rows)
        return len(order)

    def _schema(self, flow: Array) -> pa.Schema:
        schema = tables.schema(STEP, GraphFacts.of(self.graph).weight)
        if flow.dtype.kind == "f":
            schema = schema.set(2, schema.field("flow").with_type(pa.float64()))
        if not self.config.lines:
            schema = pa.schema([field for field in schema if field.name != GEOMETRY])
        return tables.stating(schema, {"flow": self.config.weight} if self.config.weight else {})


def _lines(coordinates: pa.Table, tails: Array, heads: Array) -> pa.Array:
    """The lines of arcs between external ids, null where one of both vertices has no coordinates."""
    vertices, known, ends = coordinates["vertex"].to_numpy(), np.ones(len(tails), np.bool_), list[Array]()
    for ids in (tails, heads):
        at, present = positions_in(vertices, ids)
        known &= present
        ends += [coordinates[name].to_numpy()[at] if len(coordinates) else np.zeros(len(ids)) for name in ("x", "y")]
    return lines(np.stack(ends, axis=1), known)
