"""Tasks on the threads of this process."""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from kernels.cpu.parallel import cores
from kernels.distributed import threads
from kernels.distributed.communicator import Communicator
from kernels.gpu.devices import device_count
from kernels.spans import recording, span
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.cluster.protocol import Result, Task, TaskContext, name_of
from pipeline.runtime.backend import Backend, free_pools
from pipeline.runtime.early import load_kernels
from pipeline.runtime.threads import map_in_order
from pipeline.signals import beside
from pipeline.store.code import Code

_NEVER = 10.0**8  # seconds: a thread of this process is not lost, however long it computes


class LocalThreads:
    """The threads of this process: one for each core on the CPU, one on a GPU; a thread for each rank of a larger group.

    Ranks of a larger group take this process's GPUs in turn.
    """

    def __init__(self, shards: int = 0) -> None:
        self.shards = shards
        self.open_graphs: OpenGraphs = OpenGraphs()  # of its ranks, of a GPU, and a graph that changes were merged into

    def prepare(self, backend: Backend) -> None:
        """See `RunCluster.prepare`. Numba and CuPy take half a second to import."""
        beside(partial(load_kernels, backend))

    def release(self) -> None:
        """See `RunCluster.release`: memory is freed and, beside what follows, given back, as the end would have to."""
        self.open_graphs.forget()
        if "cupy" in sys.modules:
            beside(free_pools)

    def sharing(self, backend: Backend) -> int:
        """See `Cluster.sharing`: a task uses all cores."""
        return self.shards

    def map(
        self,
        function: Callable[[TaskContext, Task], Result],
        tasks: Sequence[Task],
        backend: Backend,
        ranks: int = 0,
        one_at_a_time: bool = False,
        code: Code | None = None,
    ) -> Iterator[Sequence[Result]]:
        """See `Cluster.map`. Fewer tasks than cores divide the cores among them; `code` is this process's."""
        if ranks:
            return self._map_over_ranks(function, tasks, backend, ranks)
        at_once = cores() if backend == "cpu" else 1  # the CPU's kernels release the GIL; a GPU runs one at a time
        running = 1 if one_at_a_time else max(1, min(at_once, len(tasks)))
        open_graphs = self.open_graphs if backend == "gpu" else self.open_graphs.anew()
        context = TaskContext(backend, open_graphs, at_once // running)
        # each is the only result of its group
        return zip(map_in_order(partial(_traced(function), context), tasks, running), strict=True)

    def _map_over_ranks(
        self, function: Callable[[TaskContext, Task], Result], tasks: Sequence[Task], backend: Backend, ranks: int
    ) -> Iterator[Sequence[Result]]:
        call = _traced(function)

        def run(communicator: Communicator) -> list[Result]:
            context = TaskContext(backend, self.open_graphs, 1, communicator, sharded=True, ranks_here=ranks)
            return [call(context, task) for task in tasks]

        gpus = min(ranks, device_count()) if backend == "gpu" else 0
        results = threads.run_ranks(ranks, _on_gpus(gpus, run) if gpus > 1 else run, _NEVER)
        yield from zip(*results, strict=True)


def _traced(function: Callable[[TaskContext, Task], Result]) -> Callable[[TaskContext, Task], Result]:
    """A function whose calls the trace shows, if there is one."""
    return partial(_run, function) if recording() else function


def _run(function: Callable[[TaskContext, Task], Result], context: TaskContext, task: Task) -> Result:
    with span(name_of(function), "task"):
        return function(context, task)


def _on_gpus(gpus: int, run: Callable[[Communicator], list[Result]]) -> Callable[[threads.ThreadRank], list[Result]]:
    from kernels.distributed.gpu_threads import on_gpus

    return on_gpus(gpus, run)
