"""What a kernel does before and around its loops: tell the backend, check arguments, freeze arrays, split rows over the cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from kernels.graph import Array, Csr, Graph

Item = TypeVar("Item")
Part = TypeVar("Part")
_PARTS_PER_CORE = 4  # more parts than cores, so that a core that is done early takes another
WORTH_A_THREAD = 1 << 19  # rows and arcs; below, starting threads costs more than they save


def is_cupy(graph: Graph | Csr) -> bool:
    """Whether the graph's arrays are CuPy's: the arrays choose the backend, and this is the GPU's."""
    offsets = graph.offsets if isinstance(graph, Csr) else graph.out.offsets
    return is_cupy_array(offsets)


def is_cupy_array(array: Array) -> bool:
    """Whether an array is CuPy's."""
    return type(array).__module__.partition(".")[0] == "cupy"


def require_numpy(graph: Graph | Csr, kernel: str) -> None:
    """Raise TypeError unless the graph's arrays are NumPy's: the arrays choose the backend, and this is the CPU's."""
    kind = _kind(graph)
    if not issubclass(kind, np.ndarray):
        raise TypeError(
            f"{kernel}: arrays of type {kind.__module__}.{kind.__qualname__}, where there is a kernel for numpy.ndarray only"
        )


def _kind(graph: Graph | Csr) -> type:
    return type(graph.offsets if isinstance(graph, Csr) else graph.out.offsets)


def require_row(graph: Graph, row: int) -> None:
    """Raise IndexError unless `row` is a row of the graph."""
    if not 0 <= row < graph.num_vertices:
        raise IndexError(f"row {row} is not in 0..{graph.num_vertices - 1}, the rows of this graph")


def frozen(array: Array) -> Array:
    """View of `array` as a plain read-only ndarray: a memory map and an array in memory then share one compiled kernel."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def unsigned(array: Array) -> Array:
    """Frozen view of offsets or rows, none negative, as unsigned numbers: compiled loops need not test for a negative index."""
    return frozen(array).view(f"u{array.dtype.itemsize}")


def cores() -> int:
    """How many cores this process may use; fewer than the machine has in a container or under taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def over_rows(csr: Csr, part: Callable[[int, int], Part]) -> list[Part]:
    """Call `part(begin, end)` for ranges of rows of about equal work that cover `csr`, on all cores; results in row order.

    `part` has to release the GIL and to write to its own rows only.
    """
    num_rows = len(csr.offsets) - 1
    workers = cores()
    if workers == 1 or num_rows + len(csr.indices) < WORTH_A_THREAD:
        return [part(0, num_rows)]
    parts = workers * _PARTS_PER_CORE
    shares = np.linspace(0, len(csr.indices), parts + 1)[1:-1]
    cuts = [0, *np.searchsorted(csr.offsets, shares).tolist(), num_rows]
    with ThreadPoolExecutor(workers) as threads:
        return list(threads.map(part, cuts[:-1], cuts[1:]))


def over_items(items: Iterable[Item], part: Callable[[Item], Part], *, parallel: bool) -> list[Part]:
    """Call `part` for each item, on all cores if `parallel` says that it is worth starting threads; results in the items' order.

    `part` has to release the GIL and to write to nothing that another reads.
    """
    if not parallel or cores() == 1:
        return [part(item) for item in items]
    with ThreadPoolExecutor(cores()) as threads:
        return list(threads.map(part, items))
