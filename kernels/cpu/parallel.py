"""Loops over rows or items on all cores of this process, for functions that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kernels.graph import Csr

Item = TypeVar("Item")
Result = TypeVar("Result")
_RANGES_PER_CORE = 4  # so that a core that finishes early takes another range
WORTH_A_THREAD = 1 << 19  # rows and arcs; below this, starting threads costs more than it saves


def cores() -> int:
    """Number of cores that this process may use, which is fewer than the machine has in a container or under taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_rows(csr: Csr, work: Callable[[int, int], Result]) -> list[Result]:
    """Call `work(begin, end)` for ranges of rows of about equal cost that cover `csr`, on all cores; results in row order.

    `work` has to release the GIL and write to its own rows only.
    """
    num_rows = len(csr.offsets) - 1
    workers = cores()
    if workers == 1 or num_rows + len(csr.indices) < WORTH_A_THREAD:
        return [work(0, num_rows)]
    ranges = workers * _RANGES_PER_CORE
    shares = np.linspace(0, len(csr.indices), ranges + 1)[1:-1]
    cuts = [0, *np.searchsorted(csr.offsets, shares).tolist(), num_rows]
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(work, cuts[:-1], cuts[1:]))


def over_items(items: Iterable[Item], work: Callable[[Item], Result], *, parallel: bool) -> list[Result]:
    """Call `work` for each item, on all cores if `parallel` says that threads are worth it; results in the items' order.

    `work` has to release the GIL and write to nothing that another call reads.
    """
    if not parallel or cores() == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(work, items))
