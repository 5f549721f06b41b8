"""Which of the threads that wait for a GPU computes on it next."""

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from threading import Event, Lock


class Turn:
    """A lock that goes to the waiting thread of the smallest rank; of several, to the one that waits longest."""

    def __init__(self) -> None:
        self._lock, self._held = Lock(), False
        self._waiting, self._numbers = list[tuple[int, int, Event]](), count()

    def acquire(self, rank: int = 0) -> None:
        """Wait for the turn."""
        with self._lock:
            if not self._held:
                self._held = True
                return
            come = Event()
            heappush(self._waiting, (rank, next(self._numbers), come))
        come.wait()

    def release(self) -> None:
        """End the turn, and give it to a thread that waits."""
        with self._lock:
            self._held = bool(self._waiting)
            if self._waiting:
                heappop(self._waiting)[-1].set()

    def locked(self) -> bool:
        """Whether a thread has it."""
        return self._held

    @contextmanager
    def of(self, rank: int) -> Iterator[None]:
        """A block that has the turn."""
        self.acquire(rank)
        try:
            yield
        finally:
            self.release()
