"""Tasks on the workers of a Dask scheduler. A graph or an index is opened from its folder on each worker, never sent."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Any

import distributed
from distributed import Client, KilledWorker

from kernels import spans
from kernels.distributed.threads import on_daemon_thread
from pipeline import progress
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.cluster.dask.groups import RankGroups
from pipeline.cluster.dask.ranks import Ranks
from pipeline.cluster.dask.worker_state import STATE
from pipeline.cluster.protocol import Result, Task, TaskContext, innermost, name_of
from pipeline.cluster.watch import Watch
from pipeline.cluster.worker_memory import ended_by_kernel, out_of_memory
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import ClusterLost
from pipeline.runtime.backend import Backend, use_gpu
from pipeline.runtime.memory import kills
from pipeline.runtime.memory_watch import shortage, too_large
from pipeline.store.code import Code

_POLL = 1.0  # seconds between two checks of the scheduler


class Workers:
    """The workers of a Dask scheduler. All of them have to see the graph's folder at the same path."""

    def __init__(self, client: Client, config: ClusterConfig) -> None:
        self.shards, self.open_graphs = config.shards, None
        self._client, self._config = client, config
        self._address = config.scheduler
        self._deadline = config.deadline
        self._groups = RankGroups(client, config)
        self._kills = kills()

    def sharing(self, backend: Backend) -> int:
        """See `Cluster.sharing`: each worker has a rank, but those for the CPU of one machine have the same cores."""
        if self.shards or (backend == "cpu" and self._config.scheduler == "local"):
            return self.shards
        workers = len(self._watch()())
        return workers if workers > 1 else 0

    def map(
        self,
        function: Callable[[TaskContext, Task], Result],
        tasks: Sequence[Task],
        backend: Backend,
        ranks: int = 0,
        one_at_a_time: bool = False,
        code: Code | None = None,
    ) -> Iterator[Sequence[Result]]:
        """See `Cluster.map`. Results wait on their workers, so they have to be small; a worker runs one task on each thread.

        Raises:
            ClusterLost: A task lost more workers than it may; or for the deadline the scheduler did not answer, or had no worker.
        """
        name = name_of(function)
        version = CodeVersion.of(code or Code((innermost(function).__module__,)))
        call: Callable[[TaskContext, Task], Any] = partial(spans.call_recorded, function, name) if spans.recording() else function
        if ranks:
            work = Ranks(partial(_run_all, call, tasks), backend, self._deadline, version)
            results = self._groups.run(work, ranks, self._watch())
            yield from (list(map(_without_spans, of_task)) for of_task in zip(*results, strict=True))
            return
        step = current.name if (current := progress.CURRENT.get()) else name
        run = partial(_run, call, backend, version, step=step, own=self._config.scheduler == "local")
        # An error of a task would occur again. Errors that may pass, such as a full disk, are for the step's caller to retry.
        futures = deque(self._client.map(run, list(tasks), key=name, pure=False, retries=0))
        try:
            while futures:
                yield [_without_spans(self._result(futures[0]))]
                futures.popleft()
        finally:
            if self._client.status == "running":
                self._client.cancel(list(futures))

    def _result(self, future: distributed.Future[Result]) -> Result:
        poll = self._watch()
        while True:
            try:
                return future.result(_POLL)
            except Exception as error:
                if isinstance(error, KilledWorker):
                    lost = error.allowed_failures + 1
                    why = out_of_memory(self._client, self._config, error.last_worker.address)
                    why = why or ended_by_kernel(self._config, self._kills)
                    raise ClusterLost(f"cluster: one task lost {lost} worker{'s' if lost > 1 else ''}{why}") from None
                if self._status(future) == "error":
                    raise  # the task's own
                if self._status(future) == "cancelled":
                    raise ClusterLost(f"cluster: the connection to the scheduler {self._address} broke") from None
            poll()

    def _watch(self) -> Callable[[], list[str]]:
        """Give a function that returns the workers' addresses; it raises ClusterLost if there is none for the deadline."""
        watch = Watch(self._ask_workers, self._address, self._deadline)

        def poll() -> list[str]:
            if self._client.status != "running":
                raise ClusterLost(f"cluster: the connection to the scheduler {self._address} broke")
            try:
                return watch()
            except ClusterLost as error:
                raise ClusterLost(f"{error}{ended_by_kernel(self._config, self._kills)}") from None

        return poll

    def _status(self, future: Any) -> str:
        """`lost` is a result that was on a worker that is gone: the scheduler computes it again."""
        status: str = future.status
        return status if self._client.status == "running" else "cancelled"

    def _ask_workers(self) -> Future[list[str]]:
        async def ask() -> list[str]:
            scheduler = self._client.scheduler
            return [*(await scheduler.ncores())] if scheduler else []

        return asyncio.run_coroutine_threadsafe(ask(), self._client.loop.asyncio_loop)  # type: ignore[union-attr]


def _run_all(function: Callable[[TaskContext, Task], Result], tasks: Sequence[Task], context: TaskContext) -> list[Result]:
    return [function(context, task) for task in tasks]


def _run(
    function: Callable[[TaskContext, Task], Result],
    backend: Backend,
    version: CodeVersion,
    task: Task,
    step: str = "",
    own: bool = False,
) -> Result:
    """Run a task, on a thread that can be left where it is. Raises TooLarge if it is about to exceed a limit."""
    version.require()

    def work() -> Result:
        if backend == "cpu":
            return function(TaskContext(backend, STATE.open_graphs), task)
        with STATE.gpu:
            use_gpu()
            return function(TaskContext(backend, STATE.open_graphs), task)

    running, short = on_daemon_thread(work), shortage(own)
    either: list[Future[Any]] = [running, short]
    wait(either, return_when=FIRST_COMPLETED)
    if short.done():
        raise too_large(step, short.result())
    return running.result()


def _without_spans(result: Any) -> Any:
    """The result of a task; the trace takes what its process recorded."""
    if not isinstance(result, spans.WithSpans):
        return result
    spans.add(result.spans)
    return result.result
