"""Where the tasks of a step run: a task runs on a group of ranks, of threads of this process or of Dask workers.

A group of one rank holds a graph as a whole, and tasks are spread over many such groups. The ranks of a larger group hold a graph
together, a shard each. A task whose worker dies runs again, so a task must be free to run twice, also at the same time.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kernels.algorithm import Algorithm, Form
from kernels.distributed.communicator import Communicator, SingleRank
from kernels.records import dataclass
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.runtime.backend import Backend
from pipeline.store.code import Code
from pipeline.store.manifest import Folder

if TYPE_CHECKING:
    from pipeline.cluster.held_graph import HeldGraph, HeldIndex
    from pipeline.cluster.shard_of_graph import ShardOfGraph
    from pipeline.cluster.whole_graph import WholeGraph
    from pipeline.store.index.arrays import StoredIndex
    from pipeline.store.shards import DealtShard

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class TaskContext:
    """Where a task runs: one rank of a group."""

    backend: Backend  # {"cpu", "gpu"}
    open_graphs: OpenGraphs = field(default_factory=OpenGraphs)  # what this process has open
    threads: int = 1  # how many threads the task may use
    communicator: Communicator = field(default_factory=SingleRank)  # of the group
    sharded: bool = False  # whether the group's ranks hold a graph in shards; a group of one may, too
    ranks_here: int = 1  # how many of the group's ranks this process has

    def turn(self) -> AbstractContextManager[object]:
        """A block in which no other task of this process uses its GPUs, because plans and device memory are not shared.

        While the CPU takes over, others do. Ranks that are all threads of this process enter and leave the block together.
        """
        if self.backend != "gpu" or self.ranks_here < self.communicator.size:
            return nullcontext()
        if self.sharded:
            return _together(self.open_graphs.turn, self.communicator)
        from kernels.gpu.deep import holding

        return holding(self.open_graphs.turn)

    def graph(self, folder: Folder) -> "HeldGraph":
        """Open a stored graph as the group holds it. Raises as `OpenGraphs.graph`."""
        if not self.sharded:
            return self.whole_graph(folder)
        from pipeline.cluster.shard_of_graph import ShardOfGraph

        return ShardOfGraph(folder, self._shard(folder), self.communicator)

    def rows_of_shard(self, folder: Folder) -> "ShardOfGraph":
        """Open the rows of a rank's shard, in the host's memory; arcs only if these are open already. Raises as `graph`."""
        from pipeline.cluster.shard_of_graph import ShardOfGraph

        return ShardOfGraph(folder, self.open_graphs.rows_of_shard(folder, self.communicator), self.communicator)

    def graph_for(self, algorithm: Algorithm, folder: Folder) -> "HeldGraph":
        """Open a stored graph as the group holds it for the stage of an algorithm. Raises as `graph`, and as `SharedGraph`."""
        if not (self.sharded and algorithm.shares_searches):
            return self.graph(folder)
        from pipeline.cluster.shared_graph import SharedGraph, SharedPairs

        held = SharedPairs if algorithm.form is Form.PAIRS else SharedGraph
        return held(folder, self.open_graphs, self.backend, self.communicator)

    def graph_with_index(self, folder: Folder) -> "HeldIndex":
        """The same, to build its reachability index or to read it."""
        if not self.sharded:
            from pipeline.cluster.whole_index import WholeIndex

            return WholeIndex(folder, self.open_graphs, self.backend, self.threads)
        from pipeline.cluster.shard_of_index import ShardOfIndex

        return ShardOfIndex(folder, self._shard(folder), self.communicator)

    def whole_graph(self, folder: Folder, beside: Folder | None = None) -> "WholeGraph":
        """Open all of a stored graph on this rank; the one `beside` stays open, too."""
        from pipeline.cluster.whole_graph import WholeGraph

        return WholeGraph(folder, self.open_graphs, self.backend, self.threads, beside)

    def index(self, folder: Folder) -> "StoredIndex":
        """Open a stored index for queries. Raises as `OpenGraphs.index`."""
        return self.open_graphs.index(folder, self.backend)

    def _shard(self, folder: Folder) -> "DealtShard":
        return self.open_graphs.shard(folder, self.communicator, self.backend, self.ranks_here)


@contextmanager
def _together(turn: Lock, ranks: Communicator) -> Iterator[None]:
    """A block of all ranks of a group, which the first one enters and leaves for them."""
    with turn if ranks.rank == 0 else nullcontext():
        ranks.sum(0)  # until the first one has the turn
        yield
        ranks.sum(0)  # until all have used it


def innermost(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a task, without the arguments that are bound to it."""
    while isinstance(function, partial):
        function = function.func
    return function


def name_of(function: Callable[..., Any]) -> str:
    """The name of a task in messages and traces."""
    return innermost(function).__name__.strip("_")


class Cluster(Protocol):
    """Something that runs tasks."""

    @property
    def shards(self) -> int:
        """How many ranks hold a graph together; 0: every worker holds all of it."""

    @property
    def open_graphs(self) -> OpenGraphs | None:
        """What tasks have open, if they run on threads of this process; None if other processes run them."""

    def sharing(self, backend: Backend) -> int:
        """How many ranks share the searches of a stage, each with the whole graph; 0: one task makes them all."""

    def map(
        self,
        function: Callable[[TaskContext, Task], Result],
        tasks: Sequence[Task],
        backend: Backend,
        ranks: int = 0,
        one_at_a_time: bool = False,
        code: Code | None = None,
    ) -> Iterator[Sequence[Result]]:
        """The results of `function(context, task)` of the ranks of the task's group, task by task.

        The first exception ends the iteration. A task may run more than once.

        Args:
            tasks: sequence.
            backend: {"cpu", "gpu"}.
            ranks: 0: each task runs on a group of one rank that holds graphs as a whole. Otherwise one group of so many ranks
                runs all tasks, one after the other.
            one_at_a_time: A task uses all cores, so a process runs one task at a time.
            code: What the function uses, of which all workers need the same version; None takes the function's module.
        """
