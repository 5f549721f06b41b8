"""Independent work on the threads of this process, its results in order."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar, cast

from kernels.cpu.staying import StayingThreads

Item = TypeVar("Item")
Result = TypeVar("Result")
_ALONE = ContextVar("_ALONE", default=False)


@contextmanager
def alone() -> Iterator[None]:
    """In this block `map_in_order` and `ahead` start no threads: other threads are busy with other items like this one."""
    before = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(before)


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int, each: int = 1) -> Iterator[Result]:
    """`function(item)` in the order of the items, computed by `threads` threads.

    At most `each` results for each thread are computed or wait to be taken, so memory does not grow with the number of items;
    with one, threads have nothing to do while an item takes longer than those behind it. The first exception ends the iteration;
    one of `items` itself comes after the results of the items before it, as with one thread. An iteration that is not taken to
    its end begins no further item, and does not wait for those that were begun.
    """
    return map(function, items) if threads == 1 or _ALONE.get() else _on_threads(function, items, threads, each)


def _on_threads(function: Callable[[Item], Result], items: Iterable[Item], threads: int, each: int) -> Iterator[Result]:
    iterator, failure, abandoned = iter(items), None, False
    pool = StayingThreads(threads)
    try:
        waiting: deque[Future[Result]] = deque()
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            if len(waiting) == threads * each:
                yield waiting.popleft().result()
            waiting.append(pool.submit(copy_context().run, function, item))
        while waiting:
            yield waiting.popleft().result()
    except GeneratorExit:
        abandoned = True
        raise
    finally:
        # The garbage collector may close an abandoned iteration anywhere, also where a thread is being started: joining a thread
        # there takes a lock that is held already, and hangs.
        pool.shutdown(wait=not abandoned, cancel_futures=abandoned)
    if failure:
        raise failure


def ahead(items: Iterator[Item], most: int) -> Generator[Item]:
    """Yield the items, which a thread of its own makes, up to `most` of them before they are taken."""
    if _ALONE.get():
        yield from items
        return
    end = object()
    with StayingThreads(1) as pool:
        waiting = deque(pool.submit(next, items, end) for _ in range(most))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, items, end))
            yield cast(Item, item)


class BoundedThreads:
    """Threads that call functions whose arguments take memory: at most `most` calls are running or waiting at a time."""

    def __init__(self, threads: int, most: int) -> None:
        self._pool, self._most, self._begun = StayingThreads(threads), most, deque[Future[Any]]()

    def __enter__(self) -> "BoundedThreads":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self._pool.shutdown(cancel_futures=error is not None)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Call the function as soon as a thread is free; if there are too many calls, wait for the first, and raise its error."""
        if len(self._begun) == self._most:
            self._begun.popleft().result()
        call = self._pool.submit(function, *arguments)
        self._begun.append(call)
        return call

    def finish(self) -> None:
        """Wait for all calls; raise the first error."""
        while self._begun:
            self._begun.popleft().result()


def concurrently(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """`function(item)` for each item, by `threads` threads with this one's context variables; results in the items' order.

    After an exception no further item is begun; those that were begun end first. Of several exceptions the one of the first item
    is raised. A signal abandons them all (`pipeline.signals`).
    """
    if threads == 1:
        return [function(item) for item in items]
    with StayingThreads(threads) as pool:
        running = [pool.submit(copy_context().run, function, item) for item in items]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return [future.result() for future in running if not future.cancelled()]
