"""Loops over rows or items on all cores of this process, for functions that release the GIL."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Csr

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


def first_over_rows(csr: Csr, work: Callable[[int, int], int]) -> int:
    """The first result of `over_rows` that is not negative, or -1: the first arc, say, that a range of rows finds."""
    return next((found for found in over_rows(csr, work) if found >= 0), -1)


def over_items(items: Iterable[Item], work: Callable[[Item], Result], *, parallel: bool) -> list[Result]:
    """Call `work` for each item, on all cores if `parallel` says that threads are worth it; results in the items' order.

    `work` has to release the GIL and write to nothing that another call reads.
    """
    if not parallel or cores() == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(work, items))


def elementwise(work: Callable[..., Array], *arrays: Array, dtype: DTypeLike) -> Array:
    """`work(*arrays)`, an array [n] of type `dtype` whose element i depends on the arrays' [n] elements i only, on all cores.

    The arrays are of NumPy or CuPy; on a GPU this is one call.
    """
    size, workers = len(arrays[0]), cores()
    if workers == 1 or size < WORTH_A_THREAD or is_cupy_array(arrays[0]):
        return work(*arrays).astype(dtype, copy=False)
    made = np.empty(size, dtype)
    cuts = np.linspace(0, size, workers * _RANGES_PER_CORE + 1).astype(np.int64).tolist()

    def of_range(begin: int, end: int) -> None:
        made[begin:end] = work(*(array[begin:end] for array in arrays))

    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(of_range, cuts[:-1], cuts[1:]))
    return made
