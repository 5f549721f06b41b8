"""Table `forest` of a graph that ranks hold together: they root the forest, and check the rows that are read back, on CPUs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kernels.answers import Forest
from kernels.cpu.parallel import cores
from kernels.forest.rooted import RULES
from kernels.forest.sharded.rooting import RootedRows, root_forest, wrong_row
from kernels.graph import NO_ROW, Array
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.shard_of_graph import ShardOfGraph
from pipeline.errors import ProofFailed
from pipeline.steps.runtime import Runtime
from pipeline.store.counting import decimals_of
from pipeline.store.facts import CheckFacts, GraphFacts
from pipeline.store.facts.derived import RootedFacts
from pipeline.store.manifest import Folder
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables
from pipeline.tables.answer_table import in_units, open_table
from pipeline.tables.forms import RankVertices, TableForm
from pipeline.tables.over_ranks import own_rows

TABLE = "forest"
_MST = BY_NAME["mst"]


class _Written(NamedTuple):
    """What a rank wrote: files by their numbers in the table, how many trees it has, and its deepest vertex."""

    files: dict[int, Path]
    trees: int
    deepest: int


def tabulate(folder: Path, graph: Folder, answer: Folder, runtime: Runtime, ranks: int) -> dict[str, Any]:
    """Write the table's files into `folder`, and return `RootedFacts`; see `pipeline.steps.derived.forest.root`."""
    of_ranks = _on_ranks(runtime, ranks, partial(_write, graph, answer, attempts_beside(folder)))
    for number, path in (file for written in of_ranks for file in written.files.items()):
        path.rename(folder / tables.file_name(number))
    computed = time.perf_counter()
    (wrong, *_) = _on_ranks(runtime, ranks, partial(_wrong_vertex, graph, answer, folder))
    if wrong is not None:
        raise ProofFailed(f"forest: the row of vertex {wrong} does not follow from the edges in table mst")
    checked = CheckFacts(rules=list(RULES), seconds=round(time.perf_counter() - computed, 6))
    trees, deepest = sum(written.trees for written in of_ranks), max(written.deepest for written in of_ranks)
    return RootedFacts(rows=GraphFacts.of(graph).vertices, trees=trees, deepest=deepest, proof=checked, shards=ranks).stored()


def _on_ranks(runtime: Runtime, ranks: int, work: Callable[[TaskContext, range], Any]) -> Sequence[Any]:
    """The results of all ranks of one task."""
    (results,) = runtime.cluster.map(work, [range(1)], "cpu", ranks)
    return results


def _write(graph: Folder, answer: Folder, attempts: Path, context: TaskContext, _: range) -> _Written:
    held, schema = _held(graph, context), _schema(graph)
    rooted = root_forest(held.shard, held.communicator, _edges(held, graph, answer))
    with tables.Files(attempts, schema, tables.keys(TABLE), cores()) as files:
        for number, batch in held.batches(_FORM, rooted, schema, 0):
            files.write(number, batch)
    return _Written(files.paths, int(np.count_nonzero(rooted.parent == NO_ROW)), int(rooted.depth.max(initial=0)))


def _wrong_vertex(graph: Folder, answer: Folder, folder: Path, context: TaskContext, _: range) -> int | None:
    """External id of the first vertex whose row, read back, is wrong, on every rank; None if all are right."""
    held, of_answer = _held(graph, context), open_table(answer, GraphFacts.of(graph).vertices, None)
    schema = _schema(graph)
    table = replace(of_answer, paths=tables.files(folder), rows=held.shard.num_vertices, schema=schema)
    columns = own_rows(held.vertices, table.row_groups(0, held.communicator))
    named = in_units(dict(zip(schema.names, columns, strict=True)), _MST, decimals_of(graph))
    rooted: RootedRows = _FORM.answer(held.vertices, [*named.values()], None)
    position = wrong_row(held.shard, held.communicator, rooted, _edges(held, graph, answer))
    if position < 0:
        return None
    found = held.shard.ids[held.shard.positions == position]
    return int(np.concatenate(held.communicator.gather(found))[0])


def _schema(graph: Folder) -> pa.Schema:
    facts = GraphFacts.of(graph)
    return tables.schema(TABLE, facts.weight, measure=facts.measure)


def _held(graph: Folder, context: TaskContext) -> ShardOfGraph:
    held = context.graph(graph)
    assert isinstance(held, ShardOfGraph)
    return held


def _edges(held: ShardOfGraph, graph: Folder, answer: Folder) -> Forest:
    """The rank's edges of table `mst`."""
    forest: Forest = held.read(open_table(answer, GraphFacts.of(graph).vertices, None), 0)
    return forest


def _columns(vertices: RankVertices, rooted: RootedRows) -> list[Array]:
    return [vertices.ids, vertices.ids_of(rooted.parent), rooted.weight, rooted.depth, vertices.ids_of(rooted.root)]


def _rooted(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> RootedRows:
    parent, weight, depth, labels = columns[1:]
    return RootedRows(vertices.rows_of(parent), weight, depth, vertices.rows_of(labels))


_FORM = TableForm(_columns, _rooted)
