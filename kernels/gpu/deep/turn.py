"""Which of the threads that wait for a GPU computes on it next."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from threading import Event, Lock

_COMING = ContextVar[list[int] | None]("coming", default=None)  # what this context has announced: a rank, until it has the turn


@dataclass(eq=False)
class Turn:
    """A lock that goes to the waiting thread of the smallest rank; of several, to the one that waits longest.

    While a thread of a smaller rank is coming, it goes to none of a larger one.
    """

    _lock: Lock = field(default_factory=Lock)
    _held: bool = False
    _waiting: list[tuple[int, int, Event]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)
    _coming: list[list[int]] = field(default_factory=list)

    def acquire(self, rank: int = 0) -> None:
        """Wait for the turn."""
        come = Event()
        with self._lock:
            self._forget(_COMING.get())
            heappush(self._waiting, (rank, next(self._numbers), come))
            self._pass_on()
        come.wait()

    def release(self) -> None:
        """End the turn, and give it to a thread that waits."""
        with self._lock:
            self._held = False
            self._pass_on()

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

    @contextmanager
    def coming(self, rank: int) -> Iterator[None]:
        """A block that will want the turn once: until it does, or ends, larger ranks wait."""
        announced = [rank]
        with self._lock:
            self._coming.append(announced)
        token = _COMING.set(announced)
        try:
            yield
        finally:
            _COMING.reset(token)
            with self._lock:
                self._forget(announced)
                self._pass_on()

    def _forget(self, announced: list[int] | None) -> None:
        self._coming = [other for other in self._coming if other is not announced]

    def _pass_on(self) -> None:
        """Give the turn to the next thread, unless one has it or is expected before."""
        if self._held or not self._waiting or any(rank < self._waiting[0][0] for (rank,) in self._coming):
            return
        self._held = True
        heappop(self._waiting)[-1].set()
