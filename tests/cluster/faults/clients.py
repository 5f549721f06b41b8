"""Runs over ranks as processes of their own, which share one scheduler and may be killed."""

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

import dask
from distributed import LocalCluster

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from tests.cluster.calls import on_ranks

# A process that has imported everything, and that has no threads, starts the clients: each starts in a tenth of a second.
FORKS = multiprocessing.get_context("forkserver")
PRELOADED = [__name__, "pipeline.cluster.dask.client", "pipeline.cluster.dask.workers", "tests.cluster.tasks"]


class ClientProcess:
    """A run that starts `function` on `size` ranks, `times` times, and says how it ended: its results or one error."""

    def __init__(self, cluster: ClusterConfig, function: Callable[..., Any], task: Any, size: int, times: int = 1):
        self._ended, there = FORKS.Pipe(duplex=False)
        self.process: BaseProcess = FORKS.Process(target=_run, args=(there, cluster, function, task, size, times), daemon=True)
        self.process.start()
        there.close()

    def outcome(self) -> list[Any] | str:
        """The results of all times, or the error's text; waits for it. An empty string if the process was killed."""
        try:
            found: list[Any] | str = self._ended.recv()
        except EOFError:
            return ""
        self.process.join()
        return found


def _run(ended: Connection, config: ClusterConfig, function: Callable[..., Any], task: Any, size: int, times: int) -> None:
    try:
        with started(config, "cpu") as cluster:
            found = [on_ranks(cluster, function, task, size, "cpu") for _ in range(times)]
        ended.send(found)
    except Exception as error:
        ended.send(f"{type(error).__name__}: {error}")


@contextmanager
def two_workers() -> Iterator[LocalCluster]:
    """A scheduler with two worker processes of one thread each, restarted when they are killed; clients can be started."""
    FORKS.set_forkserver_preload(PRELOADED)
    restarts = dask.config.set({"distributed.deploy.lost-worker-timeout": "365 days"})
    how = {"host": "127.0.0.1", "dashboard_address": None, "memory_limit": 0, "silence_logs": 60}
    with restarts, LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **how) as workers:
        yield workers
    forkserver._forkserver._stop()  # other tests start one that forks workers
