"""The forest of a depth-first search without the search: sizes upwards, costs downwards.

The size of a node counts every path that starts there. The sizes of the siblings before a child, summed along a path from a
root, place the path among all paths in the order of a depth-first search; so the parent on the way of least cost is the search's
(Caiazza 2019, chapter 4). Sizes grow with the number of paths; where they would leave int64, paths are compared (paths.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.graph import NO_ROW, Array
from kernels.reachability.keys import key
from kernels.reachability.numbering import Rows

_LARGEST = 2**62  # a sum of two is still an int64


class Sizes(NamedTuple):
    """Paths from each node, and from the siblings before each arc's head; `overflow` where int64 does not hold them."""

    paths: Array
    before: Array
    overflow: bool


def sort_rows(rows: Rows, salt: np.uint64) -> Rows:
    """Each row by the keys of its arcs, then by node."""
    indices = rows.indices.copy()
    _sort_rows(rows.offsets, indices, salt)
    return Rows(rows.offsets, indices)


def sort_roots(roots: Array, num_nodes: int, salt: np.uint64) -> Array:
    """The roots by their keys, as the heads of a virtual node, then by node."""
    return roots[np.argsort(_keys(roots, num_nodes, salt), kind="stable")]


def sizes(rows: Rows, order: Array) -> Sizes:
    """Count paths, from the last level up. O(C + M); stops at an overflow."""
    paths, before = np.ones(len(order), np.int64), np.empty(len(rows.indices), np.int64)
    overflow = _count_paths(*rows, order, paths, before)
    return Sizes(paths, before, overflow)


def cheapest_parents(rows: Rows, roots: Array, order: Array, counted: Sizes) -> tuple[Array, Array]:
    """Parents of the depth-first forest, from the first level down.

    Returns
    -------
    parent : index width [C]
        NO_ROW for a root.
    cost : int64 [C]
        The node's first place in the pre-order of all paths; from 0, or from 1 where there are several roots, and so a virtual
        one before them.
    """
    parent = np.full_like(order, NO_ROW)
    cost = np.full(len(order), np.iinfo(np.int64).max)
    ahead = np.cumsum(counted.paths[roots]) - counted.paths[roots]
    cost[roots] = ahead + (len(roots) > 1)
    _spread(*rows, order, counted.before, cost, parent)
    return parent, cost


def overflows(counted: Sizes, roots: Array) -> bool:
    """Whether the size of the virtual root, the largest of all sums, leaves int64; floats add it with room for their error."""
    return counted.overflow or float(counted.paths[roots].sum(dtype=np.float64)) > _LARGEST


@njit(cache=True, nogil=True)
def _sort_rows(offsets, indices, salt):  # type: ignore[no-untyped-def]
    for node in range(len(offsets) - 1):
        begin, end = offsets[node], offsets[node + 1]
        if end - begin > 1:
            keys = np.empty(end - begin, np.uint64)
            for arc in range(begin, end):
                keys[arc - begin] = key(salt, node, indices[arc])
            indices[begin:end] = indices[begin:end][np.argsort(keys, kind="mergesort")]


@njit(cache=True, nogil=True)
def _keys(roots, num_nodes, salt):  # type: ignore[no-untyped-def]
    keys = np.empty(len(roots), np.uint64)
    for place in range(len(roots)):
        keys[place] = key(salt, num_nodes, roots[place])
    return keys


@njit(cache=True, nogil=True)
def _count_paths(offsets, indices, order, paths, before):  # type: ignore[no-untyped-def]
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        total = 0
        for arc in range(offsets[node], offsets[node + 1]):
            before[arc] = total
            total += paths[indices[arc]]
            if total > _LARGEST:
                return True
        paths[node] = total + 1
    return False


@njit(cache=True, nogil=True)
def _spread(offsets, indices, order, before, cost, parent):  # type: ignore[no-untyped-def]
    for node in order:
        for arc in range(offsets[node], offsets[node + 1]):
            child = indices[arc]
            through = cost[node] + 1 + before[arc]
            if through < cost[child]:
                cost[child] = through
                parent[child] = node
