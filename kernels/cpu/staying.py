"""Threads that stay for later work when theirs is done: one that starts waits for the GIL twice, and for memory."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import Context
from functools import partial
from queue import SimpleQueue
from threading import Condition, Thread
from typing import Any, TypeVar

Result = TypeVar("Result")
Work = Callable[[], object]
_idle: list[SimpleQueue[Work]] = []  # where threads without work wait for some; the last one has waited for the shortest time
os.register_at_fork(after_in_child=_idle.clear)  # the child does not have the threads


def begin_call(work: Work) -> None:
    """Let an idle thread, or a new one, call `work`, which raises nothing. It never waits for a thread that is busy."""
    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        Thread(target=_serve, args=(inbox,), daemon=True).start()
    inbox.put(work)


def _serve(inbox: SimpleQueue[Work]) -> None:
    while True:
        Context().run(inbox.get())  # its own: a context variable that work has set ends with it
        _idle.append(inbox)


class StayingThreads(Executor):
    """As `concurrent.futures.ThreadPoolExecutor`, with threads that other executors have used before. Thread-safe."""

    def __init__(self, threads: int) -> None:
        self._threads, self._at_work, self._idle = threads, 0, 0  # at work are also those that are idle
        self._waiting = deque[tuple[Future[Any], Callable[[], Any]]]()
        self._change, self._open = Condition(), True

    def submit(self, function: Callable[..., Result], /, *arguments: Any, **keywords: Any) -> Future[Result]:
        """Call the function as soon as one of the threads is free. Raises RuntimeError if none is there or can be started."""
        future = Future[Result]()
        call = future, partial(function, *arguments, **keywords)
        with self._change:
            if not self._open:
                raise RuntimeError("the executor was shut down")
            self._waiting.append(call)
            begins = len(self._waiting) > self._idle and self._at_work < self._threads
            self._at_work += begins
            self._change.notify_all()
        if begins:
            try:
                begin_call(self._work)
            except BaseException:
                if not self._left_to_others(call):
                    raise
        return future

    def _left_to_others(self, call: tuple[Future[Any], Callable[[], Any]]) -> bool:
        """Whether a thread that is at work takes, or has taken, a call for which none could be started; else it is withdrawn."""
        with self._change:
            self._at_work -= 1
            self._change.notify_all()
            if self._at_work or call not in self._waiting:
                return True
            self._waiting.remove(call)
            return False

    def _work(self) -> None:
        while call := self._next():
            if call[0].set_running_or_notify_cancel():
                _settle(*call)
            del call  # and what it holds, while the thread waits

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        """The next call; None after the end. A thread stays until then: others would have memory for the same work, too."""
        with self._change:
            self._idle += 1
            self._change.wait_for(lambda: self._waiting or not self._open)
            self._idle -= 1
            if self._waiting:
                return self._waiting.popleft()
            self._at_work -= 1
            self._change.notify_all()
            return None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin no calls any more, if `cancel_futures` none of those that wait either; `wait` for those that were begun."""
        with self._change:
            self._open = False
            cancelled = [future for future, _ in self._waiting] if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
            self._change.notify_all()
        for future in cancelled:
            future.cancel()
        if wait:
            with self._change:
                self._change.wait_for(lambda: not self._at_work)


def _settle(future: Future[Result], function: Callable[[], Result]) -> None:
    """Call a function for its future, which alone holds the result then."""
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
