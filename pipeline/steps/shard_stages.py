"""Stages and proofs over ranks: each has a shard of the graph and its rows' part of an answer, from the kernel to the table.

What runs here runs on every rank, with the same arguments; which rank it is, its communicator says. It may be run again as a
whole, so it writes under names that no other attempt has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernels.algorithm import Algorithm
from kernels.distributed.communicator import Communicator
from kernels.distributed.dealing import Dealing
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array
from pipeline.errors import BadInput, ProofFailed
from pipeline.runtime.backend import Backend, Clock
from pipeline.steps.sources import rows_of_sources
from pipeline.store.graph import rows_by_id_in_pieces
from pipeline.store.index import index_of
from pipeline.store.index_parts import proposed_part, read_part
from pipeline.store.manifest import Folder, check
from pipeline.store.shards import DealtRows, placed
from pipeline.tables import files as tables
from pipeline.tables.forms import as_arrays, as_batch, form_of
from pipeline.tables.sharded import OfShard, Spread, edge_places, to_owners

if TYPE_CHECKING:
    from pipeline.cluster.protocol import Cluster


@dataclass(frozen=True)
class Written:
    """Files written, in the table's order: their rows, and seconds in the kernel and supersteps of all their answers."""

    paths: list[Path]
    rows: int
    seconds: float
    supersteps: int = 0


@dataclass(frozen=True)
class _Task:
    """What all ranks are asked: a stage, the name of its table, its sources, none where there is one answer, and its index."""

    graph: Folder
    stage: Algorithm
    name: str
    backend: Backend
    sources: Sequence[int]
    index: Folder | None = None

    def seat(self, ranks: Communicator) -> tuple[Shard, OfShard]:
        seat = placed(self.graph, ranks, self.backend)
        return seat.shard, OfShard(seat.shard, ranks, DealtRows(rows_by_id_in_pieces(self.graph), seat.dealing))

    @property
    def num_answers(self) -> int:
        return len(self.sources) or 1

    @property
    def dimensions(self) -> int:
        return self.index.facts["dimensions"] if self.index else 0

    def solver(self, dealing: Dealing) -> Callable[..., ShardAnswer[Any]]:
        """The kernel over shards, or who reads what the index has."""
        if self.index:
            return partial(read_part, self.index, dealing)
        kernel: Callable[..., ShardAnswer[Any]] = self.stage.resolve("sharded_solver")
        return kernel


def write_over_ranks(
    cluster: Cluster, graph: Folder, stage: Algorithm, name: str, sources: Sequence[int], attempts: Path, backend: Backend,
    index: Folder | None = None,
) -> Written:  # fmt: skip
    """Answer a stage over `cluster.shards` ranks, or let its `index` answer, and write its files into `attempts`.

    Raises
    ------
    BadInput
        The weights are so large that a sum of them does not fit 64 bits.
    ClusterLost
        As `cluster.run_ranks`.
    """
    task = _Task(graph, stage, name, backend, sources, index)
    rows = rows_of_sources(graph, sources)
    parts = cluster.run_ranks(partial(_write, task, rows, attempts), range(cluster.shards), backend)
    files = dict(file for part in parts for file in part.files)
    seconds = round(max(part.seconds for part in parts), 6)
    return Written([files[number] for number in sorted(files)], sum(part.rows for part in parts), seconds, parts[0].supersteps)


def prove_over_ranks(
    cluster: Cluster, graph: Folder, stage: Algorithm, answer: Folder, backend: Backend
) -> tuple[list[str], float]:
    """Rules by which the certificate over shards holds for every answer of a table, and seconds.

    Raises
    ------
    ProofFailed
        With the first broken rule.
    ClusterLost
        As `cluster.run_ranks`.
    """
    started = time.perf_counter()
    index = index_of(answer) if stage.has_index else None
    if index:
        check(index)
    task = _Task(graph, stage, answer.manifest.step, backend, answer.facts.get("sources", ()), index)
    rules = cluster.run_ranks(partial(_prove, task, answer), range(cluster.shards), backend)[0]
    return list(rules), round(time.perf_counter() - started, 6)


@dataclass(frozen=True)
class _Part:
    files: list[tuple[int, Path]]
    rows: int
    seconds: float
    supersteps: int


def _write(task: _Task, rows: Sequence[int], attempts: Path, ranks: Communicator, _: int) -> _Part:
    shard, vertices = task.seat(ranks)
    clock, dealing = Clock(task.backend), vertices.rows_by_id.dealing
    solve, sources = clock.timed(task.solver(dealing)), dealing.dealt(np.array(rows, OFFSET)).tolist()
    form, weight = form_of(task.stage), task.graph.facts["weight"]
    schema = tables.schema(task.name, weight, task.dimensions)
    ascending = Spread(ranks, vertices.positions)
    numbers: list[int] = []
    supersteps = 0
    try:
        with tables.Files(attempts, task.name, weight, task.dimensions) as files:
            for answer in range(task.num_answers):
                part = solve(shard, ranks, *sources[answer : answer + 1])
                supersteps += part.supersteps
                here = _brought(part.answer, to_host)
                spread, total = ascending, shard.num_vertices
                if not form.of_vertices:
                    places, total = edge_places(vertices, here.src)
                    spread = Spread(ranks, places)
                first_file, _ = tables.place_of(answer, total, 0)
                for number, columns in spread.groups(form.columns(vertices, here), total, first_file):
                    if number not in numbers[-1:]:
                        files.begin()
                        numbers.append(number)
                    files.write(as_batch(columns, schema))
    except OverflowError as error:
        raise BadInput(task.graph.path, f"{task.name}: {error}") from error
    return _Part(list(zip(numbers, files.paths, strict=True)), files.rows, clock.seconds, supersteps)


def _prove(task: _Task, answer: Folder, ranks: Communicator, _: int) -> tuple[str, ...]:
    from pipeline.steps.verify import require_columns

    shard, vertices = task.seat(ranks)
    certify = task.stage.resolve("sharded_certificate")
    form, files = form_of(task.stage), tables.files(answer.path)
    here = sum(require_columns(answer, path) for path in files[ranks.rank :: ranks.size])
    rows = int(ranks.total(np.array([here]))[0])
    due = task.num_answers * shard.num_vertices
    if form.of_vertices and rows != due:
        raise ProofFailed(f"{answer.path}: {rows} rows, where {due} are due")
    of_each = rows // task.num_answers
    if len(files) != tables.place_of(task.num_answers - 1, of_each, 0)[0] + tables.files_of(of_each):
        raise ProofFailed(f"{answer.path}: {len(files)} files, which is not what {rows} rows take")
    rules: tuple[str, ...] = ()
    for number in range(task.num_answers):
        groups = partial(_groups, answer, files, number, of_each, ranks)
        columns = _own_rows(vertices, groups()) if form.of_vertices else _own_edges(vertices, groups())
        found: Any
        if task.index:
            found = proposed_part(task.index, shard, vertices, columns)
        else:
            found = form.answer(vertices, columns, task.sources[number] if task.sources else None)
        verdict = certify(shard, ranks, _brought(found, lambda array: np.asarray(array, like=shard.ghosts)))
        if not verdict.holds:
            raise ProofFailed(f"{task.name}: {verdict.reason}")
        rules = verdict.rules
    return rules


def _groups(
    answer: Folder, files: Sequence[Path], number: int, rows: int, ranks: Communicator
) -> Iterator[tuple[range, pa.Table]]:
    """The row groups of an answer that this rank reads, as rows of the answer; as many as any other rank, at least one."""
    schema = tables.schema(tables.table_of(answer.manifest.step), answer.facts["weight"], answer.facts.get("dimensions", 0))
    for turn in range(0, max(tables.groups_of(rows), 1), ranks.size):
        group = turn + ranks.rank
        if group >= tables.groups_of(rows):
            yield range(0), schema.empty_table()
            continue
        file, within = tables.place_of(number, rows, group)
        found = range(group * tables.ROWS_PER_GROUP, min((group + 1) * tables.ROWS_PER_GROUP, rows))
        opened = pq.ParquetFile(files[file], page_checksum_verification=True)
        if within >= opened.num_row_groups or opened.metadata.row_group(within).num_rows != len(found):
            raise ProofFailed(f"{files[file]}: row group {within} has not the {len(found)} rows that are due")
        yield found, opened.read_row_group(within)


def _own_rows(vertices: OfShard, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of vertices, of the own rows in their order. Raises ProofFailed where it has other vertices."""
    columns: list[Array] = []
    for places, table in groups:
        rows = vertices.rows_by_id[places.start : places.stop]
        here, received = to_owners(vertices.owners.bounds, vertices.communicator, rows, as_arrays(table))
        columns = columns or [np.zeros(len(vertices.ids), column.dtype) for column in received]
        for column, values in zip(columns, received, strict=True):
            column[here] = values
    if not np.array_equal(columns[table.schema.get_field_index("vertex")], vertices.ids):
        raise ProofFailed("the vertex column is not the graph's vertices, each once, ascending")
    return columns


def _own_edges(vertices: OfShard, groups: Iterator[tuple[range, pa.Table]]) -> list[Array]:
    """Columns of a table of edges, of those whose `src` is an own row. Raises ProofFailed unless the table ascends."""
    received: list[list[Array]] = []
    last = (-1, -1)
    for _, table in groups:
        columns = as_arrays(table)
        last = _require_ascending(vertices.communicator, columns[0], columns[1], last)
        rows = vertices.rows_of(columns[0])
        received.append(to_owners(vertices.owners.bounds, vertices.communicator, rows, columns)[1])
    return [np.concatenate(parts) for parts in zip(*received, strict=True)]


def _require_ascending(ranks: Communicator, src: Array, dst: Array, last: tuple[int, int]) -> tuple[int, int]:
    """Raise ProofFailed unless the edges of all ranks' row groups ascend from the `last` one before; return their last one."""
    ends = np.stack([src[[0, -1]], dst[[0, -1]]], axis=1).ravel() if len(src) else src[:0]
    for of_rank in ranks.gather(ends):
        if len(of_rank):
            first_src, first_dst, last_src, last_dst = of_rank.tolist()
            if (first_src, first_dst) <= last:
                raise ProofFailed("mst: the edges do not ascend")
            last = last_src, last_dst
    if not ((src[1:] > src[:-1]) | ((src[1:] == src[:-1]) & (dst[1:] > dst[:-1]))).all():
        raise ProofFailed("mst: the edges do not ascend")
    return last


def _brought(answer: Any, bring: Callable[[Array], Array]) -> Any:
    """An answer, a dataclass or an array, with its arrays elsewhere."""
    if hasattr(answer, "dtype"):
        return bring(answer)
    found = {field.name: getattr(answer, field.name) for field in fields(answer)}
    return replace(answer, **{name: bring(array) for name, array in found.items() if hasattr(array, "dtype")})
