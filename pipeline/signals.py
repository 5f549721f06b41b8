"""SIGINT and SIGTERM end a run: both raise KeyboardInterrupt, after which libraries clean up."""

import _thread
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM)
received: list[int] = []


def listen() -> None:
    """Raise KeyboardInterrupt in the main thread for both signals, and record them in `received`.

    An exception in a finalizer or a garbage collector's callback is swallowed; then the signal is sent again.
    """

    def end(number: int, frame: FrameType | None) -> None:
        if _runs(resend.__code__, frame):  # it would be swallowed again
            _send_later(number)
            return
        received.append(number)
        raise KeyboardInterrupt

    def resend(swallowed: "sys.UnraisableHookArgs") -> None:
        if not received:
            sys.__unraisablehook__(swallowed)
        elif swallowed.exc_type is KeyboardInterrupt:
            _send_later(received[0])  # other errors are those of objects that were interrupted while they were made

    for number in ENDING:
        signal.signal(number, end)
    sys.unraisablehook = resend


def ignore() -> None:
    """Ignore both signals from now on."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def require_none() -> None:
    """Raise KeyboardInterrupt if a signal was received: some Cython functions swallow exceptions."""
    if received:
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Defer SIGINT and SIGTERM until the block exits: it starts something that cannot be closed while half started."""
    if current_thread() is not main_thread():  # only the main thread handles signals
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


def _runs(code: object, frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def _send_later(number: int) -> None:
    def send() -> None:
        time.sleep(0.01)
        signal.pthread_kill(main_thread().ident or 0, number)

    _thread.start_new_thread(send, ())  # threading.Thread.start would wait, and could be interrupted by the signal
