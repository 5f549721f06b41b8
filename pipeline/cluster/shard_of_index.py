"""The reachability index of a graph that several ranks hold together; see `HeldIndex`."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.answers import IndexPart
from kernels.distributed.dealing import Dealing
from kernels.distributed.shard import ShardAnswer
from kernels.gpu.loader import to_host
from kernels.graph import Array, Csr
from kernels.reachability import memory
from kernels.reachability.sharded import reachability
from pipeline.cluster.held_graph import Slice
from pipeline.cluster.shard_of_graph import ShardOfGraph
from pipeline.config.stages import ReachabilityConfig
from pipeline.runtime.backend import Backend
from pipeline.store.index.arrays import arrays_of
from pipeline.store.manifest import Folder
from pipeline.store.vertices import rows_by_id_in_blocks
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import TableForm
from pipeline.tables.index_parts import proposed_part, read_part
from pipeline.tables.over_ranks import own_rows


class ShardOfIndex(ShardOfGraph):
    """One rank's shard of a graph, with what steps need to build, read and tabulate its part of the index."""

    def index_reader(self, index: Folder) -> Callable[[], ShardAnswer[IndexPart]]:
        """See `HeldGraph.index_reader`."""
        return partial(read_part, index, self._dealing, self.shard, self.communicator)

    def batches(self, form: TableForm, answer: IndexPart, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`."""
        return super().batches(form, answer.rows, schema, number)

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        assert table.index
        columns = own_rows(self.vertices, table.row_groups(number, self.communicator))
        return self._placed(proposed_part(table.index, self.shard, self.vertices, columns))

    def index_memory(self, config: ReachabilityConfig, _: range) -> tuple[str, int, Backend]:
        """See `HeldGraph.index_memory`."""
        rows, arcs = self.shard.num_local, len(self.shard.local_out.indices)
        needed = memory(rows, arcs, config.dimensions, config.method).build
        return f"one of {self.communicator.size} parts, of {rows:,} rows and {arcs:,} arcs", needed, "cpu"

    def index_builder(self, config: ReachabilityConfig, _: range) -> Callable[[], ShardAnswer[IndexPart]]:
        """See `HeldGraph.index_builder`. The ranks build all dimensions together."""
        return partial(reachability, self.shard, self.communicator, config.dimensions, config.seed, config.method)

    def index_slices(self, part: IndexPart) -> Iterator[Slice]:
        """See `HeldGraph.index_slices`. What is stored numbers rows as the graph is stored, not as they are dealt."""
        shard, dealing, ranks = self.shard, self._dealing, self.communicator
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
