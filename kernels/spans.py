"""Spans of time for a trace: what each thread of a run did, and when. Without a trace, a span costs a comparison."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

SHORTEST = 100_000  # nanoseconds: shorter calls of kernels, of which there may be millions, are left out


class Span(NamedTuple):
    """What a thread did without interruption; spans of one thread nest."""

    name: str
    category: str
    begin: int  # nanoseconds since the epoch
    duration: int  # nanoseconds
    process: int
    thread: int  # as the system numbers it
    thread_name: str


class WithSpans(NamedTuple):
    """What a task returned on another process, and what that process did until then."""

    result: Any
    spans: list[Span]


class _Recorder:
    """The spans of this process. Its clock never goes back, and differs from those of other processes as their hosts' clocks."""

    def __init__(self) -> None:
        self.spans, self.users = deque[Span](), 0
        self._epoch = time.time_ns() - time.perf_counter_ns()

    @contextmanager
    def record(self, name: str, category: str, shortest: int) -> Iterator[None]:
        begin = time.perf_counter_ns()
        try:
            yield
        finally:
            duration, thread = time.perf_counter_ns() - begin, threading.current_thread()
            if duration >= shortest:
                native = threading.get_native_id()
                self.spans.append(Span(name, category, begin + self._epoch, duration, os.getpid(), native, thread.name))

    def taken(self) -> list[Span]:
        """The spans that have ended, which are forgotten."""
        return [self.spans.popleft() for _ in range(len(self.spans))]


_recording: list[_Recorder] = []  # one or none
_LOCK = threading.Lock()
_NOTHING = nullcontext()


def span(name: str, category: str, shortest: int = 0) -> AbstractContextManager[None]:
    """A block that a trace shows, if there is one, and if it takes at least `shortest` nanoseconds."""
    for recorder in _recording:
        return recorder.record(name, category, shortest)
    return _NOTHING


def recording() -> bool:
    """Whether spans are recorded now."""
    return bool(_recording)


@contextmanager
def recorded() -> Iterator[_Recorder]:
    """Record the spans of all threads of this process during this block, and during others at the same time."""
    with _LOCK:
        if not _recording:
            _recording.append(_Recorder())
        recorder = _recording[0]
        recorder.users += 1
    try:
        yield recorder
    finally:
        with _LOCK:
            recorder.users -= 1
            if not recorder.users:
                _recording.clear()


def add(spans: Iterable[Span]) -> None:
    """Add the spans of another process."""
    for recorder in _recording:
        recorder.spans.extend(spans)


def call_recorded(function: Callable[..., Any], name: str, *arguments: Any) -> WithSpans:
    """`function(*arguments)` on another process, as a span; `add` takes its spans, which may be of other tasks, too."""
    with recorded() as recorder:
        with span(name, "task"):
            result = function(*arguments)
        return WithSpans(result, recorder.taken())
