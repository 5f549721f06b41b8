"""Time in which code is prepared, compiled or loaded from a cache, so that it is not taken for the time of its work."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock


class Prepared:
    """`seconds` in which at least one thread prepared code."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock, self._threads, self._since = Lock(), 0, 0.0

    def begin(self) -> None:
        """A thread begins; a thread may do so again before it ends."""
        with self._lock:
            if not self._threads:
                self._since = time.perf_counter()
            self._threads += 1

    def end(self) -> None:
        """A thread ends."""
        with self._lock:
            self._threads -= 1
            if not self._threads:
                self.seconds += time.perf_counter() - self._since


_CURRENT: ContextVar[Prepared | None] = ContextVar("prepared", default=None)


@contextmanager
def measured() -> Iterator[Prepared]:
    """Measure what this thread, and threads with its context, prepare in the block."""
    token = _CURRENT.set(prepared := Prepared())
    try:
        yield prepared
    finally:
        _CURRENT.reset(token)


def begin() -> None:
    """Say that this thread begins to prepare code; `end` follows."""
    if current := _CURRENT.get():
        current.begin()


def end() -> None:
    """Say that this thread has ended what it began."""
    if current := _CURRENT.get():
        current.end()


@contextmanager
def preparing() -> Iterator[None]:
    """Prepare code in the block."""
    begin()
    try:
        yield
    finally:
        end()
