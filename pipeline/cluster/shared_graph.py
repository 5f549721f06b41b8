"""A stored graph that each rank of a group holds as a whole, because a stage shares its searches; see `HeldGraph`.

Each rank has the whole answer, writes every n-th file of the table, and reads all of it for the proof. Of a table of pairs each
has those with some second vertices, from the kernel to the proof.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate, Closure
from kernels.distributed import Communicator, Owners, ShardAnswer
from kernels.distributed.columns import exchange_columns
from kernels.graph import OFFSET, Array, Graph
from pipeline.cluster.open_graphs import OpenGraphs, open_counted
from pipeline.cluster.whole_graph import WholeGraph, in_files
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import require_memory
from pipeline.store.arrays import bytes_of_arrays
from pipeline.store.counting import decimals_of
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.batches import as_arrays, as_batch
from pipeline.tables.forms import AllVertices, TableForm
from pipeline.tables.over_ranks import Spread, require_ascending

_BLOCK = 1 << 20  # vertices whose numbers of pairs ranks exchange at a time


class SharedGraph(WholeGraph):
    """A graph of which every rank has all arrays."""

    def __init__(self, folder: Folder, open_graphs: OpenGraphs, backend: Backend, communicator: Communicator) -> None:
        super().__init__(folder, open_graphs, backend, 1)  # all ranks have to run the same collectives in the same order
        self.communicator = communicator

    @cached_property
    def graph(self) -> Graph:
        """Its arrays. On a GPU they are this rank's own, because ranks may have one each. Raises TooLarge if they do not fit."""
        if self._backend == "cpu":
            return self._open_graphs.graph(self._folder, self._backend, require=self._require_memory)
        self._require_memory()
        return open_counted(self._folder, self._backend)

    def _require_memory(self) -> None:
        arrays = bytes_of_arrays(self._folder.path)
        require_memory("the whole graph, which each rank needs for its share of the searches,", arrays, self._backend)

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """See `HeldGraph.solver`."""
        solve = partial(algorithm.resolve("sharded_solver"), self.graph, communicator=self.communicator)
        return lambda **options: ShardAnswer(solve(**options), 1)

    def certifier(self, algorithm: Algorithm) -> Callable[..., Certificate]:
        """See `HeldGraph.certifier`."""
        return partial(algorithm.resolve("sharded_certificate"), self.graph, communicator=self.communicator)

    def batches(self, form: TableForm, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`."""
        batches = in_files(form, self.graph, answer, schema, number, decimals_of(self._folder))
        return ((file, batch) for file, batch in batches if file % self.communicator.size == self.communicator.rank)


class SharedPairs(SharedGraph):
    """A graph of which every rank has all arrays, for answers of which rank r has the r-th part of the second vertices."""

    def batches(self, form: TableForm, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`. The pairs of a vertex are those of rank 0, then those of rank 1, and so on."""
        ranks, graph = self.communicator, self.graph
        first = graph.positions[answer.vertex]
        own = np.bincount(first, minlength=graph.num_vertices)
        every, lower = np.empty_like(own), np.empty_like(own)  # pairs of all ranks, and of those before this one
        for begin in range(0, len(own), _BLOCK):  # a rank receives those of all others
            block = slice(begin, begin + _BLOCK)
            of_ranks = ranks.gather(own[block], alike=True)
            every[block], lower[block] = reduce(np.add, of_ranks), sum(of_ranks[: ranks.rank], np.zeros_like(own[block]))
        before = np.cumsum(every) - every + lower - (np.cumsum(own) - own)
        places = before[first] + np.arange(len(first), dtype=OFFSET, like=first)
        total = int(every.sum())
        file, _ = tables.position_of(number, total, 0)
        for place, columns in Spread(ranks, places).groups([answer.vertex, answer.reached], total, file):
            pairs = replace(answer, vertex=columns[0], reached=columns[1])
            yield place, as_batch(form.columns(AllVertices(graph), pairs), schema)

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`. Each rank reads some row groups, and sends every pair to the rank of its second vertex."""
        ranks, graph = self.communicator, self.graph
        vertices, bounds = AllVertices(graph), Owners.evenly(graph.num_vertices, ranks).bounds
        parts: list[list[Array]] = []
        last = (-1, -1)
        for _, group in table.row_groups(number, ranks):
            columns = [np.asarray(column, like=graph.ids) for column in as_arrays(group)]
            last = require_ascending(f"{table.algorithm.name}: the pairs", ranks, columns, last)
            vertex, reached = map(vertices.rows_of, columns)
            owner = np.searchsorted(np.asarray(bounds, like=graph.ids), graph.positions[reached], side="right") - 1
            chosen = [np.flatnonzero(owner == rank) for rank in range(ranks.size)]
            parts.append(exchange_columns(ranks, *([rows[of] for of in chosen] for rows in (vertex, reached))))
        return Closure(*(np.concatenate(received) for received in zip(*parts, strict=True)))
