"""Random spanning trees: what method "tree" takes in the place of a depth-first search.

A node's parent is drawn from the level before, one look at each in-arc; no size, sum or search decides it. Intervals of the
reversed graph prune what those of the graph leave, so the dimensions take turns.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.graph import NO_ROW, Array
from kernels.reachability.keys import key
from kernels.reachability.numbering import Rows


def draw_parents(into: Rows, level: Array, salt: np.uint64 | None) -> Array:
    """Draw each node's parent from the tails of its in-arcs on the level before: by the smallest key, or the smallest node.

    Returns
    -------
    index width [C]
        NO_ROW on level 0.
    """
    parent = np.full(len(level), NO_ROW, into.indices.dtype)
    if salt is None:
        _first(*into, level, parent)
    else:
        _draw(*into, level, salt, parent)
    return parent


@njit(cache=True, nogil=True)
def _first(offsets, indices, level, parent):  # type: ignore[no-untyped-def]
    for node in range(len(level)):
        for arc in range(offsets[node], offsets[node + 1]):
            if level[indices[arc]] == level[node] - 1:
                parent[node] = indices[arc]
                break


@njit(cache=True, nogil=True)
def _draw(offsets, indices, level, salt, parent):  # type: ignore[no-untyped-def]
    for node in range(len(level)):
        smallest = np.uint64(0)
        for arc in range(offsets[node], offsets[node + 1]):
            tail = indices[arc]
            if level[tail] == level[node] - 1:
                drawn = key(salt, tail, node)
                if parent[node] < 0 or drawn < smallest:
                    smallest = drawn
                    parent[node] = tail
