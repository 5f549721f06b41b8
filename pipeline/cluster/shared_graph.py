"""A stored graph that each rank of a group holds as a whole, because a stage shares its searches; see `HeldGraph`.

Each rank has the whole answer, writes every n-th file of the table, and reads all of it for the proof.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from kernels.algorithm import Algorithm
from kernels.answers import Certificate
from kernels.distributed import Communicator, ShardAnswer
from kernels.graph import Graph
from pipeline.cluster.open_graphs import OpenGraphs, open_counted
from pipeline.cluster.whole_graph import WholeGraph, in_files
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import require_memory
from pipeline.store.counting import decimals_of
from pipeline.store.manifest import Folder
from pipeline.tables.forms import TableForm


class SharedGraph(WholeGraph):
    """A graph of which every rank has all arrays."""

    def __init__(self, folder: Folder, open_graphs: OpenGraphs, backend: Backend, communicator: Communicator) -> None:
        super().__init__(folder, open_graphs, backend, 1)  # all ranks have to run the same collectives in the same order
        self.communicator = communicator

    @cached_property
    def graph(self) -> Graph:
        """Its arrays. On a GPU they are this rank's own, because ranks may have one each. Raises TooLarge if they do not fit."""
        arrays = sum(path.stat().st_size for path in self._folder.path.rglob("*.npy"))
        require_memory("the whole graph, which each rank needs for its share of the searches,", arrays, self._backend)
        if self._backend == "gpu":
            return open_counted(self._folder, self._backend)
        return self._open_graphs.graph(self._folder, self._backend)

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
