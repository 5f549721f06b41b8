"""Random spanning trees, which method "tree" uses instead of a depth-first search.

A node's parent is drawn from the level before by reading each in-arc once, without sizes, sums or searches. The intervals of the
reversed graph prune searches that those of the graph do not, so the dimensions alternate.
"""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array
from kernels.reachability.keys import key
from kernels.reachability.labels.numbering import DagArcs


def draw_parents(into: DagArcs, level: Array, salt: np.uint64 | None) -> Array:
    """Draw each node's parent from the tails of its in-arcs on the level before: by the smallest key, or the smallest node.

    Returns:
        index width [C]: NO_ROW on level 0.
    """
    parent = np.full(len(level), NO_ROW, into.indices.dtype)
    if salt is None:
        _take_first(*into, level, parent)
    else:
        _take_smallest_key(*into, level, salt, parent)
    return parent


@njit(cache=True, nogil=True)
def _take_first(offsets: Array, indices: Array, level: Array, parent: Array) -> None:
    for node in range(len(level)):
        for arc in range(offsets[node], offsets[node + 1]):
            if level[indices[arc]] == level[node] - 1:
                parent[node] = indices[arc]
                break


@njit(cache=True, nogil=True)
def _take_smallest_key(offsets: Array, indices: Array, level: Array, salt: np.uint64, parent: Array) -> None:
    for node in range(len(level)):
        smallest = np.uint64(0)
        for arc in range(offsets[node], offsets[node + 1]):
            tail = indices[arc]
            if level[tail] == level[node] - 1:
                drawn = key(salt, tail, node)
                if parent[node] < 0 or drawn < smallest:
                    smallest = drawn
                    parent[node] = tail
