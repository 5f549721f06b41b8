"""Threads that stay for later work when theirs is done: one that starts waits for the GIL twice, and for memory."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
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
        inbox.get()()
        _idle.append(inbox)


class StayingThreads(Executor):
    """As `concurrent.futures.ThreadPoolExecutor`, with threads that other executors have used before. Thread-safe."""

    def __init__(self, threads: int) -> None:
        self._threads = self._free = threads
        self._waiting = deque[tuple[Future[Any], Callable[[], Any]]]()
        self._change, self._open = Condition(), True

    def submit(self, function: Callable[..., Result], /, *arguments: Any, **keywords: Any) -> Future[Result]:
        """Call the function as soon as one of the threads is free."""
        future = Future[Result]()
        with self._change:
            if not self._open:
                raise RuntimeError("the executor was shut down")
            self._waiting.append((future, partial(function, *arguments, **keywords)))
            begins = self._free > 0
            self._free -= begins
        if begins:
            begin_call(self._work)
        return future

    def _work(self) -> None:
        while call := self._next():
            future, function = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            del call, future, function  # and what they hold, while the thread waits

    def _next(self) -> tuple[Future[Any], Callable[[], Any]] | None:
        with self._change:
            if self._waiting:
                return self._waiting.popleft()
            self._free += 1
            self._change.notify_all()
            return None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin no calls any more, if `cancel_futures` none of those that wait either; `wait` for those that were begun."""
        with self._change:
            self._open = False
            cancelled = [future for future, _ in self._waiting] if cancel_futures else []
            if cancel_futures:
                self._waiting.clear()
        for future in cancelled:
            future.cancel()
        if wait:
            with self._change:
                self._change.wait_for(lambda: self._free == self._threads)
