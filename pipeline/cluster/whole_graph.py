"""A stored graph that one rank holds as a whole; see `HeldGraph`."""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate, Hierarchy
from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import cores
from kernels.distributed import Communicator, ShardAnswer, SingleRank
from kernels.graph import Graph
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.runtime.backend import Backend, device_of
from pipeline.runtime.threads import map_in_order
from pipeline.store.counting import decimals_of
from pipeline.store.hierarchy import open_hierarchy
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.answer_table import AnswerTable
from pipeline.tables.forms import TableForm
from pipeline.tables.row_lookup import VertexRows

_FROM_GPU = 4  # row groups that are copied from a GPU at a time: new memory of the host is mapped by one thread after the other


class WholeGraph:
    """A graph on one rank. It is opened when it is first needed."""

    def __init__(
        self, folder: Folder, open_graphs: OpenGraphs, backend: Backend, threads: int, beside: Folder | None = None
    ) -> None:
        self.communicator: Communicator = SingleRank()
        self._beside, self.threads = beside, threads
        self._folder, self._open_graphs, self._backend = folder, open_graphs, backend

    @cached_property
    def graph(self) -> Graph:
        """Its arrays, where the backend computes."""
        return self._open_graphs.graph(self._folder, self._backend, self._beside)

    def hierarchy(self, folder: Folder) -> Hierarchy:
        """The graph's stored hierarchy, which is kept as long as the graph."""
        return self.graph.derived.get((open_hierarchy, folder.digest), lambda: open_hierarchy(folder, self._backend))

    def row(self, stored_row: int) -> int:
        """See `HeldGraph.row`."""
        return stored_row

    def solver(self, algorithm: Algorithm) -> Callable[..., ShardAnswer[Any]]:
        """See `HeldGraph.solver`."""
        solve, graph = algorithm.resolve("solver"), self.graph
        return lambda *source, **options: ShardAnswer(solve(graph, *source, **options), 0)

    def certifier(self, algorithm: Algorithm) -> Callable[..., Certificate]:
        """See `HeldGraph.certifier`."""
        return partial(algorithm.resolve("certificate"), self.graph)

    def seeded_solver(self, algorithm: Algorithm) -> Callable[..., list[ShardAnswer[Any]]]:
        """See `HeldGraph.seeded_solver`."""
        solve, graph = algorithm.resolve("seeded_solver"), self.graph
        return lambda *given, **options: [ShardAnswer(answer, 0) for answer in solve(graph, *given, **options)]

    def seeded_certifier(self, algorithm: Algorithm) -> Callable[..., list[Certificate]]:
        """See `HeldGraph.seeded_certifier`."""
        return partial(algorithm.resolve("seeded_certificate"), self.graph)

    def batches(self, form: TableForm, answer: Any, schema: pa.Schema, number: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """See `HeldGraph.batches`."""
        return in_files(form, self.graph, answer, schema, number, decimals_of(self._folder))

    def read(self, table: AnswerTable, number: int) -> Any:
        """See `HeldGraph.read`."""
        columns = table.columns(number, self._backend, decimals_of(self._folder))
        return table.form.read(self.graph, columns, table.source(number))


def in_files(
    form: TableForm, graph: VertexRows, answer: Any, schema: pa.Schema, number: int, decimals: int | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of answer `number` of a table, divided into its files: each row group with the number of its file.

    `decimals` as `pipeline.tables.batches.as_batch`.
    """
    total = form.rows(graph, answer)
    first, _ = tables.position_of(number, total, 0)
    begins = range(0, max(total, 1), tables.ROWS_PER_GROUP)
    threads = min(_FROM_GPU if is_cupy_array(graph.ids) else cores(), len(begins))

    def batch(begin: int) -> tuple[int, pa.RecordBatch]:
        part = slice(begin, begin + tables.ROWS_PER_GROUP)
        with device_of(graph.ids):
            return first + begin // tables.ROWS_PER_FILE, form.batch(graph, answer, schema, part, decimals)

    return map_in_order(batch, begins, threads)
