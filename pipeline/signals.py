"""The signals that end a run, SIGINT and SIGTERM: both raise KeyboardInterrupt, which libraries clean up after."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread

ENDING = (signal.SIGINT, signal.SIGTERM)
heard: list[int] = []


def listen() -> None:
    """Have both raise KeyboardInterrupt in the main thread, and note them in `heard`."""

    def end(number: int, _: object) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    def come_again(dropped: sys.UnraisableHookArgs) -> None:
        if heard and dropped.exc_type is KeyboardInterrupt:  # raised in a finalizer, or in what the garbage collector calls
            Timer(0.01, signal.pthread_kill, [main_thread().ident, heard[0]]).start()
        else:
            sys.__unraisablehook__(dropped)

    for number in ENDING:
        signal.signal(number, end)
    sys.unraisablehook = come_again


def require_none() -> None:
    """Raise KeyboardInterrupt if a signal was heard: some of Cython's functions drop what is raised in them."""
    if heard:
        raise KeyboardInterrupt


@contextmanager
def unbroken() -> Iterator[None]:
    """Let them wait until it is done: for what nobody can close that has half started."""
    if current_thread() is not main_thread():  # it alone hears of signals
        yield
        return
    waiting: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        signal.signal(number, lambda number, _: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for sent in waiting:
            signal.raise_signal(sent)
