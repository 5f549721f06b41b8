"""Where the independent pieces of a step run: over the threads of this process, or over Dask workers.

A graph or an index is placed once a worker, opened from its folder and never sent. What Dask is told about faults stands here,
whole: a piece whose worker dies is given to another, so a piece must be free to run twice, also at the same time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kernels.backend import cores
from kernels.graph import Graph
from kernels.sharded import threads
from kernels.sharded.communicator import Communicator
from pipeline.backend import Backend, choose, open_on
from pipeline.cluster_config import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.manifest import Folder, code_version
from pipeline.scratch import scratch
from pipeline.signals import unbroken
from pipeline.stored_index import STEP as INDEX
from pipeline.stored_index import StoredIndex, place_index
from pipeline.stored_shards import together

if TYPE_CHECKING:
    import distributed
    from distributed import Client, LocalCluster, Security

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")
_LOOK = 1.0  # seconds between two looks at the scheduler
_CLOSE = 10.0  # seconds that workers have to end by themselves
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
        place = Place(_open(stored, backend), backend, threads // at_once)
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
    import dask
    import distributed  # noqa: F401

    logging.getLogger("distributed").setLevel(logging.ERROR)  # after the import, which sets a level of its own
    logging.getLogger("distributed.nanny.memory").setLevel(logging.WARNING)  # why a worker is gone
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_settings(config)))
        client = stack.enter_context(_client(config, backend))
        _await_workers(client, config)
        threads: dict[str, int] = client.nthreads()
        log.info("cluster: %d workers, %d threads; dashboard %s", len(threads), sum(threads.values()), client.dashboard_link)
        yield Workers(client, config)


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
        """See `Cluster.run_ranks`, and `pipeline.transport.run_ranks` for what happens when a worker is lost."""
        from pipeline import transport

        look = self._watch()
        return transport.run_ranks(self._client, function, items, backend, self._deadline, self._lost_workers, look)

    def _result(self, future: distributed.Future[Result]) -> Result:
        from distributed import KilledWorker

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
        return function(Place(_placed(stored, choose(backend)), backend, 1), item)


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
            _here[key] = _open(stored, backend)
        return _here[key]


def _open(stored: Folder, backend: Backend) -> Graph | StoredIndex:
    return place_index(stored, backend) if stored.manifest.step == INDEX else open_on(stored, backend)


def _settings(config: ClusterConfig) -> dict[str, Any]:
    """What Dask is told, here and in local workers. A scheduler elsewhere has its own: docs/operations.md."""
    silence = f"{config.deadline:g}s"
    return {
        "distributed.scheduler.allowed-failures": config.lost_workers,
        "distributed.scheduler.no-workers-timeout": silence,
        "distributed.scheduler.worker-ttl": silence,
        "distributed.comm.timeouts.connect": silence,
        "distributed.comm.timeouts.tcp": silence,
        "distributed.comm.require-encryption": config.scheduler == "local" or config.scheduler.startswith("tls:"),
        # A nanny starts its worker again for as long as the run lives, also one that dies again and again, or starts slowly.
        "distributed.deploy.lost-worker-timeout": "365 days",
        # A worker's memory is a mapped graph and arrays in use: nothing that could be spilled, or that a pause would free.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": 0.95,
        "distributed.scheduler.preload": [],  # no code that somebody's files in the home folder name
        "distributed.worker.preload": [],
        "distributed.nanny.preload": [],
    }


@contextmanager
def _client(config: ClusterConfig, backend: Backend) -> Iterator[Client]:
    security = _security(config)
    with ExitStack() as stack:
        if config.scheduler != "local":
            client = _connected(config.scheduler, config, security)
            stack.callback(client.close, _CLOSE)
        else:
            from pipeline.local_workers import local_workers

            folder = stack.enter_context(scratch())
            with unbroken():  # Dask does not close what it has half started
                workers = stack.enter_context(_ended(local_workers(config, backend, security, str(folder))))
                client = _connected(workers, config, security)
                stack.callback(client.close, _CLOSE)
        yield client


def _connected(scheduler: str | LocalCluster, config: ClusterConfig, security: Security) -> Client:
    from distributed import Client

    try:
        return Client(scheduler, security=security, timeout=config.deadline, set_as_default=False)
    except OSError as error:
        raise ClusterLost(f"cluster: no scheduler answers at {config.scheduler}: {error}") from None


@contextmanager
def _ended(workers: LocalCluster) -> Iterator[LocalCluster]:
    """Close local workers. One that takes too long for it ends with this process, and is no error of the run."""
    try:
        yield workers
    finally:
        try:
            workers.close()
        except TimeoutError:
            log.warning("cluster: a worker did not end in time")


def _security(config: ClusterConfig) -> Security:
    """Both sides show a certificate. A local cluster makes its own: other users of the machine reach loopback, too."""
    from distributed import Security

    if config.scheduler == "local":
        made: Security = Security.temporary()
        return made
    if config.scheduler.startswith("tcp:"):
        return Security()
    files = {"tls_ca_file": config.tls_ca, "tls_client_cert": config.tls_cert, "tls_client_key": config.tls_key}
    for path in files.values():
        if path is None or not path.is_file():
            raise BadConfig(f"cluster: {path}: no such file")
    return Security(require_encryption=True, **{name: str(path) for name, path in files.items()})


def _await_workers(client: Client, config: ClusterConfig) -> None:
    try:
        client.wait_for_workers(1, timeout=config.deadline)
    except TimeoutError:
        raise ClusterLost(f"cluster: {config.scheduler} has no worker for {config.deadline:g} s") from None


def _name(function: Callable[..., Any]) -> str:
    """What the dashboard calls a piece."""
    while isinstance(function, partial):
        function = function.func
    return function.__name__.strip("_")
