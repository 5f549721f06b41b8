"""A stored graph that several ranks hold together, a shard each; see `HeldGraph`.

The rank's answer covers its own rows only, from the kernel to the table: no rank ever has a column of all vertices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate
from kernels.distributed.communicator import Communicator
from kernels.distributed.dealing import Dealing
from kernels.distributed.shard import ShardAnswer
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr
from kernels.reachability import memory
from kernels.reachability.sharded import IndexPart, reachability
from pipeline.cluster.held_graph import Slice
from pipeline.config.reachability import ReachabilityConfig
from pipeline.runtime.backend import Backend
from pipeline.store.graph import rows_by_id_in_blocks
from pipeline.store.index import arrays_of
from pipeline.store.manifest import Folder
from pipeline.store.shards import DealtRows, DealtShard
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import Form, as_batch, form_of
from pipeline.tables.index_parts import proposed_part, read_part
from pipeline.tables.over_ranks import OwnVertices, Spread, edge_places, own_edges, own_rows


class ShardOfGraph:
    """One rank's shard of a graph."""

    threads = 1  # all ranks have to run the same collectives in the same order

    def __init__(self, folder: Folder, held: DealtShard, communicator: Communicator) -> None:
        self.communicator = communicator
        self._folder, self._shard, self._dealing = folder, held.shard, held.dealing
        self._vertices = OwnVertices(held.shard, communicator, DealtRows(rows_by_id_in_blocks(folder), held.dealing))
        self._ascending = Spread(communicator, self._vertices.positions)

    def row(self, stored_row: int) -> int:
        """See `HeldGraph.row`."""
        return int(self._dealing.dealt(np.array([stored_row], OFFSET))[0])

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """See `HeldGraph.solver`."""
        return partial(algorithm.resolve("sharded_solver"), self._shard, self.communicator)

    def certifier(self, algorithm: Algorithm) -> Callable[[Any], Certificate]:
        """See `HeldGraph.certifier`."""
        return partial(algorithm.resolve("sharded_certificate"), self._shard, self.communicator)

    def index_reader(self, index: Folder) -> Callable[[], ShardAnswer[IndexPart]]:
        """See `HeldGraph.index_reader`."""
        return partial(read_part, index, self._dealing, self._shard, self.communicator)

    def batches(self, form: Form, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`. The ranks exchange one row group after the other."""
        here = _with_arrays(answer, to_host)
        spread, total = self._ascending, self._shard.num_vertices
        if not form.of_vertices:
            places, total = edge_places(self._vertices, here.src)
            spread = Spread(self.communicator, places)
        first, _ = tables.place_of(number, total, 0)
        for file, columns in spread.groups(form.columns(self._vertices, here), total, first):
            yield file, as_batch(columns, schema)

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        form, groups = form_of(table.algorithm), table.row_groups(number, self.communicator)
        columns = own_rows(self._vertices, groups) if form.of_vertices else own_edges(self._vertices, groups)
        found: Any
        if table.index:
            found = proposed_part(table.index, self._shard, self._vertices, columns)
        else:
            found = form.answer(self._vertices, columns, table.source(number))
        return _with_arrays(found, lambda array: np.asarray(array, like=self._shard.ghosts))

    def index_memory(self, asked: ReachabilityConfig, _: range) -> tuple[str, int, Backend]:
        """See `HeldGraph.index_memory`."""
        rows, arcs = len(self._shard.local_rows), len(self._shard.local_out.indices)
        needed = memory(rows, arcs, asked.dimensions, asked.method).build
        return f"one of {self.communicator.size} parts, of {rows:,} rows and {arcs:,} arcs", needed, "cpu"

    def index_builder(self, asked: ReachabilityConfig, _: range) -> Callable[[], ShardAnswer[IndexPart]]:
        """See `HeldGraph.index_builder`. The ranks build all dimensions together."""
        return partial(reachability, self._shard, self.communicator, asked.dimensions, asked.seed, asked.method)

    def index_slices(self, part: IndexPart) -> Iterator[Slice]:
        """See `HeldGraph.index_slices`. What is stored numbers rows as the graph is stored, not as they are dealt."""
        shard, dealing, ranks = self._shard, self._dealing, self.communicator
        vertices, is_last = shard.num_vertices, ranks.rank == ranks.size - 1
        components = ranks.sum(len(part.nodes))
        begin, end = (vertices * number // ranks.size for number in (ranks.rank, ranks.rank + 1))
        yield from _of_rows("ids", to_host(shard.ids), dealing, ranks.rank)
        yield Slice("rows_by_id", rows_by_id_in_blocks(self._folder)[begin:end], begin, vertices)
        for name, values in arrays_of(part.index):
            direction, _, column = name.partition("-")
            if column:
                csr: Csr = getattr(part.index.condensation, direction)
                arcs = np.concatenate(ranks.gather(csr.offsets[-1:]))
                first = int(arcs[: ranks.rank].sum())
                if column == "indices":
                    yield Slice(name, values, first, int(arcs.sum()))
                else:
                    yield Slice(name, first + (values if is_last else values[:-1]), part.nodes.start, components + 1)
            elif name == "node":
                yield from _of_rows(name, values, dealing, ranks.rank)
            elif name == "names":
                yield Slice(name, dealing.stored(values), part.nodes.start, components)
            elif name == "supports":
                yield Slice(name, values if ranks.rank == 0 else values[:0], 0, len(values))
            else:
                yield Slice(name, values, part.nodes.start, components)


def _of_rows(name: str, values: Array, dealing: Dealing, rank: int) -> Iterator[Slice]:
    """A rank's entries of an array of all stored rows: a slice for each of its dealt blocks."""
    first = 0
    for rows in dealing.blocks(rank):
        yield Slice(name, values[first : first + len(rows)], rows.start, int(dealing.bounds[-1]))
        first += len(rows)


def _with_arrays(answer: Any, convert: Callable[[Array], Array]) -> Any:
    """An answer, a dataclass or an array, with its arrays converted."""
    if hasattr(answer, "dtype"):
        return convert(answer)
    found = {field.name: getattr(answer, field.name) for field in fields(answer)}
    return replace(answer, **{name: convert(array) for name, array in found.items() if hasattr(array, "dtype")})
