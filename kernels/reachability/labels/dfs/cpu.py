"""The forest of a depth-first search without the search: path counts upwards, costs downwards.

The size of a node is the number of paths that start there. The cost of a path is the sum, along the path, of the sizes of the
siblings visited before each of its nodes: its position among all paths in the order of a depth-first search. So the parent on the
path of least cost is the search's (Caiazza 2019, chapter 4). Sizes grow with the number of paths; where they do not fit int64,
paths are compared instead (root_paths.py).
"""

from typing import NamedTuple

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array
from kernels.reachability.constants import LARGEST_PATH_SUM
from kernels.reachability.keys import key
from kernels.reachability.labels.dfs.root_paths import first_parents
from kernels.reachability.labels.numbering import DagArcs


class PathCounts(NamedTuple):
    """Paths from each node, and from the siblings before each arc's head; `overflow` if they do not fit int64."""

    paths: Array
    before: Array
    overflow: bool


def find_parents(rows: DagArcs, roots: Array, order: Array, level: Array) -> tuple[Array, bool]:
    """Return the parents of the depth-first forest, and whether paths were compared.

    Rows and roots are in the order of visits; NO_ROW is the parent of a root.
    """
    sizes = count_paths(rows, order)
    if _overflow(sizes, roots):
        return first_parents(rows, roots, order, int(level.max()) + 1), True
    return cheapest_parents(rows, roots, order, sizes)[0], False


def sort_rows(rows: DagArcs, salt: np.uint64) -> DagArcs:
    """Sort each row by the keys of its arcs, then by node."""
    indices = rows.indices.copy()
    _sort_rows(rows.offsets, indices, salt)
    return DagArcs(rows.offsets, indices)


def sort_roots(roots: Array, num_nodes: int, salt: np.uint64) -> Array:
    """Sort the roots by their keys, as the heads of a virtual node, then by node."""
    return roots[np.argsort(_keys(roots, num_nodes, salt), kind="stable")]


def count_paths(rows: DagArcs, order: Array) -> PathCounts:
    """Count paths, from the last level up. O(C + M); stops at an overflow."""
    paths, before = np.ones(len(order), np.int64), np.empty(len(rows.indices), np.int64)
    overflow = _count_paths(*rows, order, paths, before)
    return PathCounts(paths, before, overflow)


def cheapest_parents(rows: DagArcs, roots: Array, order: Array, sizes: PathCounts) -> tuple[Array, Array]:
    """Find the parents of the depth-first forest, from the first level down.

    Returns:
        parent (index width [C]): NO_ROW for a root.
        cost (int64 [C]): The node's first position in the pre-order of all paths, from 0. With several roots it starts from 1,
            because a virtual root comes first.
    """
    parent = np.full_like(order, NO_ROW)
    cost = np.full(len(order), np.iinfo(np.int64).max)
    before = np.cumsum(sizes.paths[roots]) - sizes.paths[roots]
    cost[roots] = before + (len(roots) > 1)
    _lower_costs(*rows, order, sizes.before, cost, parent)
    return parent, cost


def _overflow(sizes: PathCounts, roots: Array) -> bool:
    """Whether the size of the virtual root, the largest sum, does not fit int64; the limit leaves a margin for float errors."""
    return sizes.overflow or float(sizes.paths[roots].sum(dtype=np.float64)) > LARGEST_PATH_SUM


@njit(cache=True, nogil=True)
def _sort_rows(offsets: Array, indices: Array, salt: np.uint64) -> None:
    for node in range(len(offsets) - 1):
        begin, end = offsets[node], offsets[node + 1]
        if end - begin > 1:
            keys = np.empty(end - begin, np.uint64)
            for arc in range(begin, end):
                keys[arc - begin] = key(salt, node, indices[arc])
            indices[begin:end] = indices[begin:end][np.argsort(keys, kind="mergesort")]


@njit(cache=True, nogil=True)
def _keys(roots: Array, num_nodes: int, salt: np.uint64) -> Array:
    keys = np.empty(len(roots), np.uint64)
    for place in range(len(roots)):
        keys[place] = key(salt, num_nodes, roots[place])
    return keys


@njit(cache=True, nogil=True)
def _count_paths(offsets: Array, indices: Array, order: Array, paths: Array, before: Array) -> bool:
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        total = 0
        for arc in range(offsets[node], offsets[node + 1]):
            before[arc] = total
            total += paths[indices[arc]]
            if total > LARGEST_PATH_SUM:
                return True
        paths[node] = total + 1
    return False


@njit(cache=True, nogil=True)
def _lower_costs(offsets: Array, indices: Array, order: Array, before: Array, cost: Array, parent: Array) -> None:
    for node in order:
        for arc in range(offsets[node], offsets[node + 1]):
            child = indices[arc]
            through = cost[node] + 1 + before[arc]
            if through < cost[child]:
                cost[child] = through
                parent[child] = node
