"""A communicator between threads of one process, for tests and for one machine."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock, Thread
from typing import TypeVar

from kernels.distributed.communicator import OverExchange, PeerLost, own_copies
from kernels.graph import Array

Result = TypeVar("Result")
DEADLINE = 600.0  # seconds that a rank may compute between two collectives before the others consider it lost


class _Barrier:
    """A barrier that can break. `threading.Barrier` wakes its threads one after the other, and takes twice as long with eight."""

    def __init__(self, size: int, deadline: float):
        self._size, self._deadline, self._broken = size, deadline, False
        self._lock, self._waiting = Lock(), list[Lock]()  # one for each thread that waits

    def wait(self) -> bool:
        """Wait until all threads have come; false if one broke the barrier, or did not come within the deadline."""
        mine = Lock()
        mine.acquire()
        with self._lock:
            self._waiting.append(mine)
            complete = len(self._waiting) == self._size
        if complete or self._broken:
            self._wake()
        if not mine.acquire(timeout=self._deadline):
            self.abort()
        return not self._broken

    def abort(self) -> None:
        """End all threads' waiting, for ever."""
        self._broken = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for thread in waiting:
            thread.release()


class ThreadRank(OverExchange):
    """One rank's end, which shares `outboxes` and `barrier` with the others."""

    def __init__(self, rank: int, outboxes: list[Sequence[Array]], barrier: _Barrier):
        self.rank, self.size = rank, len(outboxes)
        self.outboxes, self.barrier = outboxes, barrier

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self.outboxes[self.rank] = self._ready(parts)
        self._wait()
        received = self._copied([outbox[self.rank] for outbox in self.outboxes], parts[self.rank], buffers)
        self._wait()  # until every rank has copied; then the callers may change their parts
        return received

    def _ready(self, parts: Sequence[Array]) -> Sequence[Array]:
        return parts

    def _copied(self, sent: Sequence[Array], like: Array, buffers: Sequence[Array] | None) -> list[Array]:
        return own_copies(sent, like, buffers)

    def _wait(self) -> None:
        if not self.barrier.wait():
            raise PeerLost(f"rank {self.rank}: another rank ended or did not answer within the deadline")


def run_ranks(size: int, function: Callable[[ThreadRank], Result], deadline: float = DEADLINE) -> list[Result]:
    """Call `function` for each rank on its own thread; return the results in rank order.

    Args:
        function: Takes its rank's communicator. An error on one rank ends the others at their next collective. A function that
            never returns is waited for, because a thread cannot be ended from outside.
        deadline: Seconds that a rank waits in a collective for the others.

    Raises:
        PeerLost: If a rank called fewer collectives than the others, within the deadline.
        Exception: The root-cause error: that of the first rank, in rank order, that failed with anything but PeerLost.
    """
    barrier = _Barrier(size, deadline)
    outboxes: list[Sequence[Array]] = [()] * size

    def run(rank: int) -> Result:
        try:
            return function(ThreadRank(rank, outboxes, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as threads:
        ranks = [threads.submit(run, rank) for rank in range(size)]
        try:
            errors = [error for error in (rank.exception() for rank in ranks) if error is not None]
        except BaseException:  # for example KeyboardInterrupt in the waiting thread
            barrier.abort()
            raise
    for error in sorted(errors, key=lambda error: isinstance(error, PeerLost)):
        raise error
    return [rank.result() for rank in ranks]


def on_daemon_thread(work: Callable[[], Result]) -> Future[Result]:
    """Start work that may never return on a thread of its own, which does not keep the process alive."""
    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    Thread(target=run, daemon=True).start()
    return result
