"""Levels by Kahn's algorithm: a node is on the level after the last of its parents.

Kahn: Topological sorting of large networks. CACM 5(11), 1962.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Condensation
from kernels.arrays import unsigned
from kernels.graph import Array


def sort_by_level(condensation: Condensation) -> tuple[Array, Array, Array]:
    """Levels, heights, and the nodes level by level, in which order a node comes after all its parents.

    Returns
    -------
    level, height : int32 [C]
    order : index width [C]

    Raises
    ------
    ValueError
        If a cycle leaves nodes without a level.
    """
    children = unsigned(condensation.children.offsets), unsigned(condensation.children.indices)
    waiting = np.diff(condensation.parents.offsets).astype(condensation.names.dtype)
    level, height = np.zeros(len(waiting), np.int32), np.zeros(len(waiting), np.int32)
    order = np.empty_like(waiting)
    if (done := _peel(*children, waiting, level, order)) < len(order):
        raise ValueError(f"label: {len(order) - done} of {len(order)} nodes lie on cycles or behind them")
    _stack(*children, order, height)
    return level, height, order


@njit(cache=True, nogil=True)
def _peel(offsets, indices, waiting, level, order):  # type: ignore[no-untyped-def]
    """Take the nodes that wait for no parent from a queue; the queue is the order. Return how many came through it."""
    tail = 0
    for node in range(len(waiting)):
        if waiting[node] == 0:
            order[tail] = node
            tail += 1
    head = 0
    while head < tail:
        node = order[head]
        head += 1
        for arc in range(offsets[node], offsets[node + 1]):
            child = indices[arc]
            waiting[child] -= 1
            if waiting[child] == 0:
                level[child] = level[node] + 1  # the queue ascends by level, so this parent is on the last of their levels
                order[tail] = child
                tail += 1
    return tail


@njit(cache=True, nogil=True)
def _stack(offsets, indices, order, height):  # type: ignore[no-untyped-def]
    for place in range(len(order) - 1, -1, -1):
        node = order[place]
        highest = 0
        for arc in range(offsets[node], offsets[node + 1]):
            highest = max(highest, height[indices[arc]] + 1)
        height[node] = highest
