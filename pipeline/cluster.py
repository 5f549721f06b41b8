"""Where a stage's independent pieces run: over the cores of this machine, in order, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from kernels.backend import cores

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield `function(item)` in the items' order, computed by one thread a core.

    The kernels release the interpreter's lock. At most one result a core waits to be taken, so memory does not grow with
    the number of items. The first exception ends the iteration.
    """
    workers = cores()
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            if len(waiting) == workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()
