"""Dijkstra's algorithm of a source document on threads: each step settles the nearest row, which all threads look for.

Anastasopoulos, Megrampian, Mapping graphs on the graphics card (2016): an `omp parallel for reduction` over all rows. Theirs has
a race between the least length and its row; here each thread finds the nearest row of its part, and the parts are compared
afterwards. One thread lowers the lengths of a row's heads, which may be equal, and are few in the document's graphs. O(V^2).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numba
import numpy as np
from numba import prange

from kernels.answers import Paths
from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.graph import UNREACHED, Array, Graph, distance_dtype
from kernels.paths.predecessors_cpu import predecessors
from kernels.sssp.cpu import far_of

_APART = 8  # entries between those of two threads, so that they are in different cache lines


def search(graph: Graph, source: int, threads: int) -> Paths:
    """Answer `kernels.sssp.sssp` on NumPy arrays that have weights."""
    assert graph.out.weights is not None
    assert graph.into.weights is not None
    lengths, _ = _lengths(graph, source, -1, threads)
    distance = lengths.view(distance_dtype(graph.out.weights))
    distance[lengths == far_of(distance.dtype)] = UNREACHED
    return Paths(source, distance, predecessors(graph, source, distance, (graph.out.weights, graph.into.weights)))


def length_to(graph: Graph, source: int, target: int, threads: int) -> tuple[float, int]:
    """The distance of one row, UNREACHED where no path leads, and how many rows were settled until it was."""
    lengths, settled = _lengths(graph, source, target, threads)
    length = lengths[target]
    return (UNREACHED if length == far_of(distance_dtype(graph.out.weights)) else length.item()), settled


def _lengths(graph: Graph, source: int, target: int, threads: int) -> tuple[Array, int]:
    """Least sums from `source`, which are final for the settled rows, and how many these are; stops at `target`."""
    far = far_of(distance_dtype(graph.out.weights))
    lengths, settled = np.full(graph.num_vertices, far), np.zeros(graph.num_vertices, np.bool_)
    lengths[source] = 0
    arcs = unsigned(graph.out.offsets), unsigned(graph.out.indices), frozen(graph.out.weights)
    with _threads(threads):
        return lengths, _settle(*arcs, lengths, settled, source, target, threads, far)


@contextmanager
def _threads(threads: int) -> Iterator[None]:
    """Let Numba use so many threads, or as many as it has."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@njit(cache=True, nogil=True, parallel=True)
def _settle(
    offsets: Array, indices: Array, weights: Array, lengths: Array, settled: Array, source: int, target: int, threads: int,
    far: float,
) -> int:  # fmt: skip
    num_rows, found = len(lengths), np.empty(threads * _APART, np.int64)
    now, steps = source, 0
    while now >= 0:
        settled[now] = True
        steps += 1
        if now == target:
            break
        for arc in range(offsets[now], offsets[now + 1]):
            head = indices[arc]
            lengths[head] = min(lengths[head], lengths[now] + lengths.dtype.type(weights[arc]))
        for part in prange(threads):
            nearest, least = np.int64(-1), far
            for row in range(num_rows * part // threads, num_rows * (part + 1) // threads):
                if lengths[row] < least and not settled[row]:
                    nearest, least = row, lengths[row]
            found[part * _APART] = nearest
        now, shortest = np.int64(-1), far
        for part in range(threads):
            row = found[part * _APART]
            if row >= 0 and lengths[row] < shortest:
                now, shortest = row, lengths[row]
    return steps
