"""Where the independent pieces of a step run: over the threads of this process, or over Dask workers.

A piece whose worker dies is given to another, so a piece must be free to run twice, also at the same time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from kernels.cpu.parallel import cores
from kernels.distributed import threads
from kernels.distributed.communicator import Communicator
from kernels.graph import Graph
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime.backend import Backend, open_on
from pipeline.store.index import STEP as INDEX
from pipeline.store.index import StoredIndex, place_index
from pipeline.store.manifest import Folder
from pipeline.store.shards import together

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")
_NEVER = 10.0**8  # seconds: a thread of this process is not lost, however long it computes


@dataclass(frozen=True)
class Place:
    """Where a piece runs: the graph or the index as it lies there, and how many threads the piece may take."""

    stored: Graph | StoredIndex
    backend: Backend
    threads: int

    @property
    def graph(self) -> Graph:
        """The graph, for a piece of which a graph was placed."""
        assert isinstance(self.stored, Graph)
        return self.stored

    @property
    def index(self) -> StoredIndex:
        """The index, for a piece of which an index was placed."""
        assert isinstance(self.stored, StoredIndex)
        return self.stored


class Cluster(Protocol):
    """Something that runs pieces, and ranks."""

    @property
    def shards(self) -> int:
        """Over how many ranks a graph lies; 0: it does not, and each worker has all of it."""
        ...

    def map(
        self,
        function: Callable[[Place, Item], Result],
        stored: Folder,
        backend: Backend,
        items: Sequence[Item],
        one_at_a_time: bool = False,
    ) -> Iterator[Result]:
        """Yield `function(place, item)` in the items' order; the first exception ends it. A piece may be run more than once.

        `stored` is the folder of a graph or of an index. `one_at_a_time` says that a piece takes all cores by itself, so that a
        process is to have one piece at a time.
        """
        ...

    def run_ranks(
        self, function: Callable[[Communicator, Item], Result], items: Sequence[Item], backend: Backend
    ) -> list[Result]:
        """Call `function(communicator, item)` at the same time for every item; results in their order.

        The first error of a rank ends all. All of it may be run more than once.
        """
        ...


class Here:
    """The threads of this process, one a core; on a GPU one piece after the other."""

    def __init__(self, shards: int = 0) -> None:
        self.shards = shards

    def map(
        self,
        function: Callable[[Place, Item], Result],
        stored: Folder,
        backend: Backend,
        items: Sequence[Item],
        one_at_a_time: bool = False,
    ) -> Iterator[Result]:
        """See `Cluster.map`. Few pieces share the cores."""
        threads = cores() if backend == "cpu" else 1  # the CPU's kernels release the interpreter's lock; a GPU's take all of it
        at_once = 1 if one_at_a_time else max(1, min(threads, len(items)))
        place = Place(open_placed(stored, backend), backend, threads // at_once)
        yield from map_in_order(partial(function, place), items, at_once)

    def run_ranks(
        self, function: Callable[[Communicator, Item], Result], items: Sequence[Item], backend: Backend
    ) -> list[Result]:
        """See `Cluster.run_ranks`. A thread a rank, however many cores and GPUs there are."""

        def run(communicator: Communicator) -> Result:
            together.set(len(items))
            return function(communicator, items[communicator.rank])

        return threads.run_ranks(len(items), run, _NEVER)


HERE = Here()


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Yield `function(item)` in the items' order, by that many threads.

    At most one result a thread waits to be taken, so memory does not grow with the number of items. The first exception ends
    the iteration.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            if len(waiting) == threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def started(config: ClusterConfig, backend: Backend) -> Iterator[Cluster]:
    """The cluster of a run, closed however the run ends.

    Raises
    ------
    ClusterLost
        No scheduler answers at the address, or it has no worker, within the deadline.
    BadConfig
        There is no GPU for a local worker, or a TLS file cannot be read.
    """
    if config.scheduler == "none":
        yield Here(config.shards)
        return
    from pipeline.cluster.client import connected
    from pipeline.cluster.workers import Workers

    with connected(config, backend) as client:
        yield Workers(client, config)


def open_placed(stored: Folder, backend: Backend) -> Graph | StoredIndex:
    """Open a graph or an index where pieces run."""
    return place_index(stored, backend) if stored.manifest.step == INDEX else open_on(stored, backend)
