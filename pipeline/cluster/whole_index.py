"""The reachability index of a graph that one rank holds as a whole; see `HeldIndex`."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from kernels.answers import Condensation, Labels, ReachabilityIndex
from kernels.distributed.shard import ShardAnswer
from kernels.reachability import condense, label, memory
from pipeline.cluster.held_graph import Slice
from pipeline.cluster.whole_graph import WholeGraph, in_files
from pipeline.config.stages import ReachabilityConfig
from pipeline.runtime.backend import Backend
from pipeline.store.facts import GraphFacts
from pipeline.store.index.arrays import StoredIndex, arrays_of, open_index
from pipeline.store.manifest import Folder
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import TableForm
from pipeline.tables.index_parts import read_labels


class WholeIndex(WholeGraph):
    """A graph on one rank, with what steps need to build, read and tabulate its index."""

    def index_reader(self, index: Folder) -> Callable[[], ShardAnswer[StoredIndex]]:
        """See `HeldGraph.index_reader`. The index has the external ids, so the graph is not opened."""
        return lambda: ShardAnswer(open_index(index), 0)

    def batches(
        self, form: TableForm, answer: StoredIndex, schema: pa.Schema, number: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`."""
        return in_files(form, answer, answer.index, schema, number)

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        assert table.index
        return read_labels(self.graph, table, open_index(table.index, self._backend))

    def index_memory(self, config: ReachabilityConfig, dimensions: range) -> tuple[str, int, Backend]:
        """See `HeldGraph.index_memory`."""
        vertices, arcs = GraphFacts.of(self._folder).vertices, GraphFacts.of(self._folder).arcs
        needed = memory(vertices, arcs, len(dimensions), config.method, gpu=self._backend == "gpu").build
        return f"the index of {vertices:,} vertices and {arcs:,} arcs in {len(dimensions):,} dimensions", needed, self._backend

    def index_builder(self, config: ReachabilityConfig, dimensions: range) -> Callable[[], ShardAnswer[ReachabilityIndex]]:
        """See `HeldGraph.index_builder`. For some dimensions the condensation is kept for the others with the graph."""
        graph = self.graph
        some = None if len(dimensions) == config.dimensions else dimensions

        def build() -> ShardAnswer[ReachabilityIndex]:
            nodes: Condensation = graph.derived.get(condense, lambda: condense(graph)) if some else condense(graph)
            labels: Labels = label(nodes, config.dimensions, config.seed, config.method, some)
            return ShardAnswer(ReachabilityIndex(nodes, labels), 0)

        return build

    def index_slices(self, part: ReachabilityIndex) -> Iterator[Slice]:
        """See `HeldGraph.index_slices`: whole arrays."""
        graph = self.graph
        for name, array in (("ids", graph.ids), ("rows_by_id", graph.rows_by_id), *arrays_of(part)):
            yield Slice(name, array, 0, array.shape[-1])
