"""A stored graph that one rank holds as a whole; see `HeldGraph`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate, Condensation, Labels, ReachabilityIndex
from kernels.distributed.communicator import SingleRank
from kernels.distributed.shard import ShardAnswer
from kernels.graph import Graph
from kernels.reachability import condense, label, memory
from pipeline.cluster.held_graph import Slice
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.config.reachability import ReachabilityConfig
from pipeline.runtime.backend import Backend
from pipeline.store.facts import GraphFacts
from pipeline.store.index import StoredIndex, arrays_of, open_index
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import Form, form_of, read_labels


class WholeGraph:
    """A graph on one rank. It is opened when it is first needed."""

    def __init__(self, folder: Folder, open_graphs: OpenGraphs, backend: Backend, threads: int) -> None:
        self.communicator, self.threads = SingleRank(), threads
        self._folder, self._open_graphs, self._backend = folder, open_graphs, backend

    @cached_property
    def graph(self) -> Graph:
        """Its arrays, where the backend computes."""
        return self._open_graphs.graph(self._folder, self._backend)

    def row(self, stored_row: int) -> int:
        """See `HeldGraph.row`."""
        return stored_row

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """See `HeldGraph.solver`."""
        solve, graph = algorithm.resolve("solver"), self.graph
        return lambda *source: ShardAnswer(solve(graph, *source), 0)

    def certifier(self, algorithm: Algorithm) -> Callable[[Any], Certificate]:
        """See `HeldGraph.certifier`."""
        return partial(algorithm.resolve("certificate"), self.graph)

    def index_reader(self, index: Folder) -> Callable[[], ShardAnswer[StoredIndex]]:
        """See `HeldGraph.index_reader`. The index has the external ids, so the graph is not opened."""
        return lambda: ShardAnswer(open_index(index), 0)

    def batches(self, form: Form, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`."""
        if isinstance(answer, StoredIndex):
            batch = form.batch(answer, answer.index, schema)
        else:
            batch = form.batch(self.graph, answer, schema)
        first, _ = tables.place_of(number, len(batch), 0)
        return (
            (first + file, batch[file * tables.ROWS_PER_FILE : (file + 1) * tables.ROWS_PER_FILE])
            for file in range(tables.files_of(len(batch)))
        )

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        if table.index:
            return read_labels(self.graph, table.read(number), open_index(table.index, self._backend))
        return form_of(table.algorithm).read(self.graph, table.read(number), table.source(number))

    def index_memory(self, asked: ReachabilityConfig, dimensions: range) -> tuple[str, int, Backend]:
        """See `HeldGraph.index_memory`."""
        vertices, arcs = GraphFacts.of(self._folder).vertices, GraphFacts.of(self._folder).arcs
        needed = memory(vertices, arcs, len(dimensions), asked.method, gpu=self._backend == "gpu").build
        return f"the index of {vertices:,} vertices and {arcs:,} arcs in {len(dimensions):,} dimensions", needed, self._backend

    def index_builder(self, asked: ReachabilityConfig, dimensions: range) -> Callable[[], ShardAnswer[ReachabilityIndex]]:
        """See `HeldGraph.index_builder`. For some dimensions the condensation is kept for the others with the graph."""
        graph = self.graph
        some = None if len(dimensions) == asked.dimensions else dimensions

        def build() -> ShardAnswer[ReachabilityIndex]:
            nodes: Condensation = graph.derived.get(condense, lambda: condense(graph)) if some else condense(graph)
            labels: Labels = label(nodes, asked.dimensions, asked.seed, asked.method, some)
            return ShardAnswer(ReachabilityIndex(nodes, labels), 0)

        return build

    def index_slices(self, part: ReachabilityIndex) -> Iterator[Slice]:
        """See `HeldGraph.index_slices`: whole arrays."""
        graph = self.graph
        for name, array in (("ids", graph.ids), ("rows_by_id", graph.rows_by_id), *arrays_of(part)):
            yield Slice(name, array, 0, array.shape[-1])
