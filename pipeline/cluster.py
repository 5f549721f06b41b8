"""Where a stage's independent pieces run: over the cores of this machine or one by one on its GPU, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from kernels.backend import cores
from pipeline.backend import Backend

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_order(function: Callable[[Item], Result], items: Iterable[Item], backend: Backend) -> Iterator[Result]:
    """Yield `function(item)` in the items' order: on the CPU by one thread a core, on a GPU one after the other.

    The CPU's kernels release the interpreter's lock; a GPU's take the whole of it. At most one result a core waits to be
    taken, so memory does not grow with the number of items. The first exception ends the iteration.
    """
    if backend == "gpu":
        yield from map(function, items)
        return
    workers = cores()
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            if len(waiting) == workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(function, item))
        while waiting:
            yield waiting.popleft().result()
