"""Table `flows`: how many shortest paths lead over each arc."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.gpu.loader import to_host
from kernels.graph import Array, index_dtype
from kernels.reductions import ArcLoads
from pipeline import progress
from pipeline.cluster.protocol import TaskContext
from pipeline.config.products.flows import FlowsConfig
from pipeline.ingest.source import identify, locate, require_same
from pipeline.runtime.backend import bring
from pipeline.steps.pairs import batches, blocks
from pipeline.steps.products.sweeping import Sweeps, Swept
from pipeline.steps.runtime import Runtime
from pipeline.store.facts import GraphFacts
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder, digest_of, make
from pipeline.store.scratch import attempts_beside, new_attempt
from pipeline.store.vertices import open_vertices
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import places_in, require_pairs_known

STEP = "flows"  # and the table
_ENTRIES = 1 << 27  # of trees that are reduced at a time, with about 40 bytes each
_TASKS = 64  # at most, each of which writes the loads of all arcs


@dataclass(frozen=True)
class _Pairs:
    """The pairs that paths are counted for, in the order of their sources."""

    sources: Array  # int64 [S]: external ids, ascending
    first: Array  # int64 [S + 1]: where the pairs of each source begin
    heads: Array  # index width: the row of each pair's other vertex

    def counts(self, part: range, vertices: int) -> Array:
        """How many paths lead from each of some sources to each row, int64 [k, V]."""
        counts = np.zeros((len(part), vertices), np.int64)
        cut = slice(self.first[part.start], self.first[part.stop])
        sources = np.repeat(np.arange(len(part)), np.diff(self.first[part.start : part.stop + 1]))
        np.add.at(counts, (sources, self.heads[cut]), 1)
        return counts


def tabulate_flows(_: Folder, graph: Folder, config: FlowsConfig, runtime: Runtime) -> Folder:
    """Count the paths over each arc, along the predecessors of `sssp`, which make the path between two vertices unique.

    Args:
        runtime: The folder is `work / "flows"`.

    Returns:
        The table: of arcs with a path. Facts: `ProductFacts`.

    Raises:
        BadInput: The file of pairs is not there, is no such file, or has a vertex that is not in the graph.
    Otherwise as `tabulate_closeness`.
    """
    pairs = read_trips(config.pairs, graph) if config.pairs else None
    sweeps = Sweeps(graph, pairs.sources if pairs else None)

    def write(folder: Path) -> dict[str, Any]:
        tasks, total = sweeps.tasks(max(256, -(-sweeps.count // _TASKS))), Swept()
        loads = np.zeros(GraphFacts.of(graph).arcs, np.int64)
        run = partial(_count, sweeps.prepared(runtime), pairs, attempts_beside(folder))
        for ((path, swept),) in progress.counted(
            runtime.cluster.map(run, tasks, runtime.backend, one_at_a_time=True), list(map(len, tasks)), "sources"
        ):
            loads += np.load(path)
            path.unlink()
            total.add(swept)
        total.rows = _write(folder, graph, loads)
        return total.facts(sweeps.count, runtime.backend).stored()

    content = digest_of([array.tolist() for array in vars(pairs).values()]) if pairs else "all"
    return make(runtime.work / STEP, STEP, {"graph": graph.digest}, {"pairs": content}, write)


def read_trips(file: str, graph: Folder) -> _Pairs:
    """The pairs of a file, each of whose vertices is in the graph. Raises BadInput as `tabulate_flows`."""
    source = locate(file)
    path, digest = source.require_local(), identify(source, None)
    read = [batch for block in blocks(path, file, tables.ROWS_PER_FILE) for batch in batches(path, file, block, graph)]
    require_same(source, digest)
    columns = [np.concatenate([np.empty(0, np.int64), *(batch[name].to_numpy() for batch in read)]) for name in ("src", "dst")]
    ids, rows_by_id, _, _ = open_vertices(graph)
    present = ids[rows_by_id]
    positions, known = zip(*(places_in(present, column) for column in columns), strict=True)
    require_pairs_known(file, 0, columns, np.stack(known), len(present))
    order = np.lexsort(positions[::-1])
    sources, first = np.unique(columns[0][order], return_index=True)
    return _Pairs(sources, np.append(first, len(order)).astype(np.int64), rows_by_id[positions[1][order]])


def _count(sweeps: Sweeps, pairs: _Pairs | None, attempts: Path, context: TaskContext, part: range) -> tuple[Path, Swept]:
    """Write the loads of all arcs by the paths from some sources."""
    sweeps = sweeps.for_task()
    graph = sweeps.graph_at(context)
    loads, first, at_once = ArcLoads(graph), part.start, max(1, _ENTRIES // max(1, graph.num_vertices))
    for ids, trees in sweeps.batches(context, part, predecessors=True):
        assert trees.predecessors is not None
        for begin in range(0, len(ids), at_once):
            some = trees.predecessors[begin : begin + at_once]
            trips = pairs.counts(range(first, first + len(some)), graph.num_vertices) if pairs else None
            loads.add(some, None if trips is None else bring(trips, context.backend))
            first += len(some)
        progress.advance(len(ids))
    attempt = new_attempt(attempts).with_suffix(".npy")
    np.save(attempt, to_host(loads.loads))
    return attempt, sweeps.swept


def _write(folder: Path, graph: Folder, loads: Array) -> int:
    """Write the arcs that have a load, sorted by the ids of tail and head; return their number."""
    opened = open_graph(graph)
    arcs = np.flatnonzero(loads)
    heads = (np.searchsorted(opened.into.offsets, arcs, side="right") - 1).astype(index_dtype(opened.num_vertices))
    columns = [opened.ids[opened.into.indices[arcs]], opened.ids[heads], loads[arcs]]
    order = np.lexsort(columns[1::-1])
    schema = tables.schema(STEP, GraphFacts.of(graph).weight)

    def groups(first: int) -> Iterator[pa.RecordBatch]:
        for begin in range(first, min(first + tables.ROWS_PER_FILE, len(order)), tables.ROWS_PER_GROUP):
            some = order[begin : begin + tables.ROWS_PER_GROUP]
            yield pa.RecordBatch.from_arrays([pa.array(column[some]) for column in columns], schema=schema)

    for number in range(tables.files_of(len(order))):
        rows = groups(number * tables.ROWS_PER_FILE)
        tables.write_rows(folder / tables.file_name(number), schema, tables.keys(STEP), rows)
    return len(order)
