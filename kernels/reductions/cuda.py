"""Reductions of trees on a GPU; `kernels.reductions` defines them, and reductions.cu has the kernels."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import at_once, launch
from kernels.graph import Array, Csr
from kernels.reductions.constants import CHUNK, THREADS

_SOURCE = "reductions/reductions.cu"


def measure(distances: Array) -> tuple[Array, Array, Array, Array]:
    """As `cpu.measure`."""
    reached, farthest, high, low = cupy.zeros((4, len(distances)), np.int64)
    _launch("measure", distances, reached, farthest, high, low)
    return reached, farthest.view(np.float64) if distances.dtype.kind == "f" else farthest, high, low


def sums_of_floats(distances: Array, scales: Array) -> tuple[Array, Array]:
    """As `cpu.sums_of_floats`."""
    high, low = cupy.zeros((2, len(distances)), np.int64)
    _launch("sum_floats", distances, high, low, before=(cupy.asarray(scales),))
    return high, low


def within(distances: Array, thresholds: Array, columns: Array) -> Array:
    """See `kernels.reductions.within`."""
    counts: Array = cupy.zeros((len(distances), len(thresholds), 1 + len(columns)), np.int64)
    sizes = np.int64(len(thresholds)), np.int64(len(columns))
    _launch("count_within", distances, *sizes, counts, before=(cupy.asarray(thresholds), cupy.asarray(columns)))
    return counts


def insert(distances: Array, facilities: Array, distance: Array, facility: Array) -> None:
    """As `cpu.insert`."""
    inputs = (cupy.asarray(facilities),)
    _launch("insert_nearest", distances, np.int64(len(distance)), distance, facility, before=inputs, items=distances.shape[1])


def load(into: Csr, predecessors: Array, demand: Array | None, loads: Array) -> None:
    """As `cpu.load`, without arrays of its own for each thread."""
    trees = cupy.ascontiguousarray(predecessors)
    children, arrived = cupy.zeros((2, *trees.shape), np.uint32)
    paths = cupy.ones(trees.shape, np.int64)
    if demand is not None:
        paths[:] = demand
    size, types = (np.int64(len(trees)), np.int64(trees.shape[1])), {"ROW": trees.dtype, "WEIGHT": np.dtype(np.int64)}
    launch(_SOURCE, "count_children", THREADS, trees.size, trees, *size, children, **types)
    arguments = into.offsets, into.indices, trees, children, *size, arrived, paths, loads
    launch(_SOURCE, "load_arcs", THREADS, trees.size, *arguments, **types)


def load_paths(into: Csr, predecessors: Array, trees: Array, heads: Array, amounts: Array, loads: Array) -> None:
    """As `cpu.load_paths`, for as many trees at a time as fit in memory."""
    most = at_once("a tree with loads", 12 * predecessors.shape[1])
    for begin in range(0, len(predecessors), most):
        some = slice(*np.searchsorted(trees, [begin, begin + most]))
        if some.start < some.stop:
            batch = cupy.ascontiguousarray(predecessors[begin : begin + most])
            _load_paths(into, batch, trees[some] - begin, heads[some], amounts[some], loads)


def _load_paths(into: Csr, predecessors: Array, trees: Array, heads: Array, amounts: Array, loads: Array) -> None:
    number, rows = np.int64(len(trees)), np.int64(predecessors.shape[1])
    ends, types = cupy.asarray(trees * rows + heads), {"ROW": predecessors.dtype, "WEIGHT": np.dtype(np.int64)}
    state, paths = cupy.zeros(predecessors.shape, np.uint32), cupy.zeros(predecessors.shape, np.int64)
    walked = number, rows, predecessors, state, paths
    launch(_SOURCE, "walk_paths", THREADS, int(number), ends, cupy.asarray(amounts), *walked, **types)
    launch(_SOURCE, "load_paths", THREADS, int(number), into.offsets, into.indices, ends, *walked, loads, **types)


def _launch(name: str, distances: Array, *after: Any, before: tuple[Any, ...] = (), items: int | None = None) -> None:
    """Launch a kernel with the trees' distances, arguments, their sizes, and further arguments; by default a block a chunk."""
    trees = cupy.ascontiguousarray(distances)
    size = np.int64(len(trees)), np.int64(trees.shape[1])
    items = len(trees) * -(-trees.shape[1] // CHUNK) * THREADS if items is None else items
    types = {"ROW": np.dtype(np.int32), "WEIGHT": trees.dtype}
    launch(_SOURCE, name, THREADS, items, trees, *before, *size, *after, **types)
