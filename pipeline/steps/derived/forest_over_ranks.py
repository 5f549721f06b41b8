"""Table `forest` of a graph that ranks hold together: they root the forest, and check the rows that are read back, on CPUs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kernels.answers import Forest
from kernels.forest.sharded.rooting import RootedRows, root_forest, wrong_row
from kernels.graph import NO_ROW, Array
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.shard_of_graph import ShardOfGraph
from pipeline.steps.runtime import Runtime
from pipeline.store.counting import decimals_of
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder
from pipeline.store.scratch import attempts_beside
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable, in_units, open_table
from pipeline.tables.forms import RankVertices, TableForm
from pipeline.tables.over_ranks import own_rows


class _RankFiles(NamedTuple):
    """What a rank wrote: files by their numbers in the table, how many trees it has, and its deepest vertex."""

    files: dict[int, Path]
    trees: int
    deepest: int


@dataclass(frozen=True)
class RankedForest:
    """The table that `ranks` make of a stored graph and the answer of its forest; `schema` and `keys` are the table's."""

    graph: Folder
    answer: Folder
    schema: pa.Schema
    keys: Sequence[str]
    runtime: Runtime
    ranks: int

    def write(self, folder: Path) -> tuple[int, int]:
        """Write the table's files into `folder`; return the number of trees, and the depth of the deepest vertex."""
        of_ranks = self._on_ranks(partial(_write, self._inputs, self.keys, attempts_beside(folder)))
        for number, path in (file for written in of_ranks for file in written.files.items()):
            path.rename(folder / tables.file_name(number))
        return sum(written.trees for written in of_ranks), max(written.deepest for written in of_ranks)

    def wrong_row(self, folder: Path) -> int | None:
        """External id of the first vertex whose row in `folder`, read back, is wrong; None if all are right."""
        wrong: int | None = self._on_ranks(partial(_wrong_vertex, self._inputs, folder))[0]
        return wrong

    @property
    def _inputs(self) -> "_Inputs":
        return _Inputs(self.graph, self.answer, self.schema)

    def _on_ranks(self, work: Callable[[TaskContext, range], Any]) -> Sequence[Any]:
        """The results of all ranks of one task."""
        (results,) = self.runtime.cluster.map(work, [range(1)], "cpu", self.ranks)
        return results


class _Inputs(NamedTuple):
    """What ranks read, and the schema of the table that they write."""

    graph: Folder
    answer: Folder
    schema: pa.Schema


def _write(inputs: _Inputs, keys: Sequence[str], attempts: Path, context: TaskContext, _: range) -> _RankFiles:
    held = context.rows_of_shard(inputs.graph)
    rooted = root_forest(held.shard, held.communicator, _edges(held, inputs))
    with tables.Files(attempts, inputs.schema, keys, held.threads) as files:
        for number, batch in held.batches(_FORM, rooted, inputs.schema, 0):
            files.write(number, batch)
    return _RankFiles(files.paths, int(np.count_nonzero(rooted.parent == NO_ROW)), int(rooted.depth.max(initial=0)))


def _wrong_vertex(inputs: _Inputs, folder: Path, context: TaskContext, _: range) -> int | None:
    """As `RankedForest.wrong_row`, the same on every rank."""
    held = context.rows_of_shard(inputs.graph)
    rooted = _read_back(inputs, folder, held)
    held.vertices.forget()
    position = wrong_row(held.shard, held.communicator, rooted, _edges(held, inputs))
    if position < 0:
        return None
    wrong = held.shard.ids[held.shard.positions == position]
    return int(np.concatenate(held.communicator.gather(wrong))[0])


def _read_back(inputs: _Inputs, folder: Path, held: ShardOfGraph) -> RootedRows:
    """The own rows of the table's files in `folder`; its columns of ids are freed."""
    of_answer = _table(inputs)
    table = replace(of_answer, paths=tables.files(folder), rows=held.shard.num_vertices, schema=inputs.schema)
    columns = own_rows(held.vertices, table.row_groups(0, held.communicator))
    named = in_units(dict(zip(inputs.schema.names, columns, strict=True)), of_answer.algorithm, decimals_of(inputs.graph))
    rooted: RootedRows = _FORM.answer(held.vertices, [*named.values()], None)
    return rooted


def _table(inputs: _Inputs) -> AnswerTable:
    return open_table(inputs.answer, GraphFacts.of(inputs.graph).vertices, None)


def _edges(held: ShardOfGraph, inputs: _Inputs) -> Forest:
    """The rank's edges of table `mst`."""
    forest: Forest = held.read(_table(inputs), 0)
    return forest


def _columns(vertices: RankVertices, rooted: RootedRows) -> list[Array]:
    return [vertices.ids, vertices.ids_of(rooted.parent), rooted.weight, rooted.depth, vertices.ids_of(rooted.root)]


def _rooted(vertices: RankVertices, columns: Sequence[Array], _: int | None) -> RootedRows:
    parent, weight, depth, labels = columns[1:]
    return RootedRows(vertices.rows_of(parent), weight, depth, vertices.rows_of(labels))


_FORM = TableForm(_columns, _rooted)
