"""The cluster of a run, which starts with the first step that has to run, while the source is read."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import current_thread
from typing import Any, Protocol

from kernels.cpu.parallel import cores
from kernels.gpu.devices import device_count
from pipeline.cluster.loading import load, loaded_modules
from pipeline.cluster.protocol import Cluster, Result, Task, TaskContext
from pipeline.cluster.start import require_startable, started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime.backend import Backend
from pipeline.signals import beside, braked, cleaned
from pipeline.store.code import Code
from pipeline.store.scratch import remove_dead


class RunCluster(Cluster, Protocol):
    """A cluster that loads in the background what its tasks need."""

    def prepare(self, backend: Backend) -> None:
        """Begin to load in the background, because tasks will follow. May be called again."""

    def release(self) -> None:
        """Begin to end in the background, because no tasks will follow."""


@contextmanager
def cluster_of(config: ClusterConfig, backend: Backend) -> Iterator[RunCluster]:
    """The cluster of a run, which starts when it is needed; it is closed however the run ends."""
    if config.scheduler == "none":
        yield LocalThreads(config.shards)
        return
    cluster = StartedLater(config, backend)
    with braked(cluster.leave), cleaned(cluster.close):
        yield cluster


class StartedLater:
    """A cluster that `prepare`, or else the first `map`, starts, and that `release` closes, both in the background."""

    def __init__(self, config: ClusterConfig, backend: Backend) -> None:
        self.shards, self.open_graphs = config.shards, None
        self._config, self._backend = config, backend
        self._open = ExitStack()
        self._starting: Future[Cluster] | None = None
        self._closing: Future[None] | None = None
        self._left = Future[None]()  # done if its processes are killed, which Dask may wait for while it starts

    def prepare(self, backend: Backend) -> None:
        """See `RunCluster.prepare`.

        Raises:
            ClusterLost, BadConfig: As `started`. For local workers as `require_startable`, and the first `map` raises the rest.
        """
        if self._starting:
            return
        if self._config.scheduler == "local":
            require_startable(self._config, self._backend)
            self._starting = beside(self._start_local)
        else:
            self._starting = beside(self._start)
            self._starting.result()

    def sharing(self, backend: Backend) -> int:
        """See `Cluster.sharing`. Raises as `map`."""
        self.prepare(backend)
        assert self._starting
        return self._starting.result().sharing(backend)

    def map(
        self,
        function: Callable[[TaskContext, Task], Result],
        tasks: Sequence[Task],
        backend: Backend,
        ranks: int = 0,
        one_at_a_time: bool = False,
        code: Code | None = None,
    ) -> Iterator[Sequence[Result]]:
        """See `Cluster.map`. Raises as `prepare`, too."""
        self.prepare(backend)
        assert self._starting
        yield from self._starting.result().map(function, tasks, backend, ranks, one_at_a_time, code)

    def _start(self) -> Cluster:
        return self._open.enter_context(started(self._config, self._backend))

    def _start_local(self) -> Cluster:
        """Start workers, let them import what this process has, and connect the ranks that will hold a graph together."""
        current_thread().name = "cluster"  # so that it is not suspended: it computes nothing, and its end is waited for
        cluster = self._start()
        loaded = loaded_modules()
        workers = self._config.local_workers(cores() if self._backend == "cpu" else device_count())
        tasks = [loaded] if self.shards else [loaded] * workers
        list(cluster.map(_load, tasks, self._backend, self.shards))
        return cluster

    def release(self) -> None:
        """See `RunCluster.release`."""
        if self._starting and not self._closing:
            self._closing = beside(self._close)

    def leave(self) -> None:
        """Do not wait for what is half started when this is closed, because this process ends for lack of memory."""
        self._left.set_result(None)

    def close(self) -> None:
        """End the workers, if they were started, and wait until they have ended.

        If they were not, because all steps were valid, remove what killed runs have left, as their start would have.
        """
        if self._config.scheduler == "local" and not self._starting:
            remove_dead(Path(tempfile.gettempdir()))
        self.release()
        if self._closing:
            self._closing.result()

    def _close(self) -> None:
        assert self._starting
        if self._config.scheduler == "local":
            either: list[Future[Any]] = [self._starting, self._left]
            wait(either, return_when=FIRST_COMPLETED)  # Dask cannot close what is half started
        if self._starting.done():
            self._open.close()


def _load(context: TaskContext, modules: Sequence[str]) -> None:
    load(context.backend, modules)
