"""SIGINT, SIGTERM and SIGHUP: the main thread waits for them, and abandons the work of another thread.

An exception raised wherever the work happens to be would not do. A callback from C code swallows it, after which Numba has loaded
no machine code and calls address 0; finalizers swallow it, too; and compiled code delays it.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from queue import Empty, SimpleQueue
from threading import current_thread, main_thread
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_WAIT = 0.5  # seconds
_STACK = 2**24  # bytes: at least what a main thread has; a thread's default may be less
# Signals, work that has ended, and why work fails; a handler may interrupt its methods.
_events: "SimpleQueue[int | Future[Any] | _Failure]" = SimpleQueue()


class Interrupted(KeyboardInterrupt):
    """Work was abandoned because of signal `number`; `outlook` describes what the next run will do, if that is known."""

    def __init__(self, number: int, outlook: str = "") -> None:
        super().__init__(number)
        self.number = number
        self.outlook = outlook


class _AbandonableWork:
    """Work that may be abandoned: while its lock is held it is not."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.abandoned = False
        self.cleanings: list[Callable[[], object]] = []
        self.brakes: list[Callable[[], object]] = []
        self.outlook: Callable[[], str] = str
        self.is_awaited = False  # by the main thread, in `apart`


class _Failure(NamedTuple):
    work: _AbandonableWork
    error: BaseException


_current: ContextVar[_AbandonableWork] = ContextVar("work", default=_AbandonableWork())  # noqa: B039  the default is never abandoned


def listen() -> None:
    """Let these signals end the work that `apart` runs; `nohup` has SIGHUP ignored, which it stays."""
    for number in ENDING:
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: _events.put(number))


def ignore() -> dict[int, Any]:
    """Ignore these signals from now on; return their handlers."""
    return {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}


def apart(work: Callable[[], T]) -> T:
    """Return `work()`, which runs in a thread of its own with this one's context variables, while the main thread waits.

    After a signal, or an exception that a library's handler raises here, what `cleaned` was given is called, and the work is
    abandoned: its thread may still compute, but does nothing more that others see. Threads other than the main one call `work`.

    Raises Interrupted if a signal arrived after `listen`; log records are dropped from then on, because the process is to end.
    Raises the error with which `failing` ends the work.
    """
    if current_thread() is not main_thread():
        return work()
    begun = _AbandonableWork()
    begun.is_awaited = True
    try:
        outcome = _start(work, begun)
        outcome.add_done_callback(_events.put)
        while (event := _next_event()) is not outcome:
            if isinstance(event, int):
                logging.disable()
                raise Interrupted(event, begun.outlook())
            if isinstance(event, _Failure) and event.work is begun:
                raise event.error
    except BaseException:
        _abandon(begun)
        raise
    return outcome.result()


def failing() -> Callable[[BaseException], object] | None:
    """A function that fails this work from any thread, as a signal ends it; None if the main thread does not wait for it.

    It first calls what `braked` was given, the last one first: what suspends threads comes after what they might hold up.
    """
    work = _current.get()

    def fail(error: BaseException) -> None:
        for brake in [*work.brakes][::-1]:
            with suppress(Exception):
                brake()
        _events.put(_Failure(work, error))

    return fail if work.is_awaited else None


def _next_event() -> int | Future[Any] | _Failure:
    """A signal that arrives just before the main thread begins to wait does not wake it, so it wakes from time to time."""
    while True:
        with suppress(Empty):
            return _events.get(timeout=_LONGEST_WAIT)


def beside(work: Callable[[], T]) -> Future[T]:
    """Start `work` in a thread of its own with this one's context variables. It is not abandoned: who starts it, ends it.

    What it has `braked` is called when the work beside which it runs fails.
    """
    begun = _AbandonableWork()
    begun.brakes = _current.get().brakes
    return _start(work, begun)


def _start(work: Callable[[], T], begun: _AbandonableWork) -> Future[T]:
    outcome = Future[T]()

    def run() -> None:
        _current.set(begun)
        try:
            result = work()
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    before = threading.stack_size(_STACK)
    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    threading.stack_size(before)
    return outcome


def _abandon(work: _AbandonableWork) -> None:
    handlers = ignore()
    with work.lock:
        work.abandoned = True
    for clean in reversed(work.cleanings):
        with suppress(Exception):
            clean()
    for number, handler in handlers.items():
        signal.signal(number, handler)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Complete the block before this work may be abandoned, because others see it or it cannot be cleaned up half way.

    Raises KeyboardInterrupt, which ends the thread, if it has been abandoned.
    """
    work = _current.get()
    with work.lock:
        if work.abandoned:
            raise KeyboardInterrupt
        yield


@contextmanager
def foreseen(outlook: Callable[[], str]) -> Iterator[None]:
    """Let `outlook` say what the next run will do, if a signal ends this work in the block."""
    work = _current.get()
    before, work.outlook = work.outlook, outlook
    try:
        yield
    finally:
        work.outlook = before


@contextmanager
def braked(brake: Callable[[], object]) -> Iterator[None]:
    """Call `brake` as soon as the work fails by `failing` in the block: before anything is cleaned, which may take long."""
    work = _current.get()
    work.brakes.append(brake)
    try:
        yield
    finally:
        work.brakes.remove(brake)


@contextmanager
def cleaned(clean: Callable[[], object], only_abandoned: bool = False) -> Iterator[None]:
    """Call `clean` at the end of the block, or as soon as the work is abandoned while a thread is in the block; once."""
    work = _current.get()
    with undisturbed():
        work.cleanings.append(clean)
    try:
        yield
    finally:
        with work.lock:
            if not work.abandoned:
                work.cleanings.remove(clean)
                if not only_abandoned:
                    clean()
