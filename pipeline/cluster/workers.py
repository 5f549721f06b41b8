"""Pieces of work, and ranks, on the workers of a Dask scheduler.

A graph or an index is placed once a worker, opened from its folder and never sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any

import distributed
from distributed import Client, KilledWorker

from kernels.distributed.communicator import Communicator
from kernels.graph import Graph
from pipeline.cluster import ranks
from pipeline.cluster.protocol import Item, Place, Result, open_placed
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.runtime.backend import Backend, choose, keep_freed_memory
from pipeline.store.index import StoredIndex
from pipeline.store.manifest import Folder, code_version

_LOOK = 1.0  # seconds between two looks at the scheduler


class Workers:
    """The workers of a Dask scheduler. All of them have to see the graph's folder at the same path."""

    def __init__(self, client: Client, config: ClusterConfig) -> None:
        self.shards = config.shards
        self._client = client
        self._address = config.scheduler
        self._deadline, self._lost_workers = config.deadline, config.lost_workers

    def map(
        self,
        function: Callable[[Place, Item], Result],
        stored: Folder,
        backend: Backend,
        items: Sequence[Item],
        one_at_a_time: bool = False,
    ) -> Iterator[Result]:
        """See `Cluster.map`. Results wait on their workers, so they are to be small; a worker has a piece a thread at a time.

        Raises
        ------
        ClusterLost
            A piece cost more workers than it may; or for the deadline the scheduler did not answer, or had no worker.
        """
        run = partial(_run, function, stored, backend, code_version())
        # An error of a piece would come again; what may pass, as a full disk, is for the step's caller to try again.
        futures = deque(self._client.map(run, list(items), key=_name(function), pure=False, retries=0))
        try:
            while futures:
                yield self._result(futures[0])
                futures.popleft()
        finally:
            if self._client.status == "running":
                self._client.cancel(list(futures))

    def run_ranks(
        self, function: Callable[[Communicator, Item], Result], items: Sequence[Item], backend: Backend
    ) -> list[Result]:
        """See `Cluster.run_ranks`, and `pipeline.cluster.ranks.run_ranks` for what happens when a worker is lost."""
        look = self._watch()
        return ranks.run_ranks(self._client, function, items, backend, self._deadline, self._lost_workers, look)

    def _result(self, future: distributed.Future[Result]) -> Result:
        look = self._watch()
        while True:
            try:
                return future.result(_LOOK)
            except Exception as error:
                if isinstance(error, KilledWorker):
                    raise ClusterLost(f"cluster: one piece of work cost {error.allowed_failures + 1} workers") from None
                if self._status(future) == "error":
                    raise  # the piece's own
                if self._status(future) == "cancelled":
                    raise ClusterLost(f"cluster: the connection to the scheduler {self._address} broke") from None
            look()

    def _watch(self) -> Callable[[], list[str]]:
        """Give a function that returns the workers' addresses; it raises ClusterLost where there is none for the deadline."""
        heard = time.monotonic()

        def look() -> list[str]:
            nonlocal heard
            if self._client.status != "running":
                raise ClusterLost(f"cluster: the connection to the scheduler {self._address} broke")
            found = self._workers()
            if found:
                heard = time.monotonic()
            elif time.monotonic() - heard > self._deadline:
                said = "did not answer" if found is None else "had no worker"
                raise ClusterLost(f"cluster: the scheduler {self._address} {said} for {self._deadline:g} s")
            return found or []

        return look

    def _status(self, future: Any) -> str:
        status: str = future.status
        return "cancelled" if status == "lost" or self._client.status != "running" else status

    def _workers(self) -> list[str] | None:
        """The addresses of the workers that the scheduler has; None where it does not answer."""

        async def ask() -> list[str]:
            scheduler = self._client.scheduler
            return [*(await asyncio.wait_for(scheduler.ncores(), self._deadline))] if scheduler else []

        try:
            found: list[str] = self._client.sync(ask)
            return found
        except OSError:
            return None


def _run(function: Callable[[Place, Item], Result], stored: Folder, backend: Backend, code: str, item: Item) -> Result:
    """Run a piece on a worker, by one thread: a worker takes as many pieces at a time as it has threads."""
    if code_version() != code:
        raise BadConfig("cluster: a worker has other code than this run; install the same everywhere")
    if backend == "cpu":
        return function(Place(_placed(stored, backend), backend, 1), item)
    with _on_the_gpu:
        there = choose(backend)
        keep_freed_memory()
        return function(Place(_placed(stored, there), backend, 1), item)


_on_the_gpu = Lock()  # one piece at a time, however many threads the worker has
_here: dict[tuple[str, Backend], Graph | StoredIndex] = {}  # of this worker; the last one alone
_placing = Lock()


def _placed(stored: Folder, backend: Backend) -> Graph | StoredIndex:
    with _placing:
        key = stored.digest, backend
        if key not in _here:
            if not stored.path.exists():
                raise BadConfig(
                    f"cluster: a worker does not see {stored.path}; the output folder must be one that all hosts share"
                )
            _here.clear()  # first, so that there is room
            _here[key] = open_placed(stored, backend)
        return _here[key]


def _name(function: Callable[..., Any]) -> str:
    """What the dashboard calls a piece."""
    while isinstance(function, partial):
        function = function.func
    return function.__name__.strip("_")
