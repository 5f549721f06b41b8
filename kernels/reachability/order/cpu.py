"""Levels by Kahn's algorithm: the level of a node is one more than the largest level of its parents.

Kahn: Topological sorting of large networks. CACM 5(11), 1962.
"""

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import unsigned
from kernels.cpu.compiled import njit
from kernels.graph import Array


def sort_by_level(condensation: Condensation) -> tuple[Array, Array, Array]:
    """Return levels, heights, and the nodes in ascending order of their levels, a topological order.

    Returns:
        level, height: int32 [C].
        order: index width [C].

    Raises ValueError if there is a cycle.
    """
    children = unsigned(condensation.children.offsets), unsigned(condensation.children.indices)
    waiting = np.diff(condensation.parents.offsets).astype(condensation.names.dtype)
    level, height = np.zeros(len(waiting), np.int32), np.zeros(len(waiting), np.int32)
    order = np.empty_like(waiting)
    if (done := _take_ready_nodes(*children, waiting, level, order)) < len(order):
        raise ValueError(f"label: {len(order) - done} of {len(order)} nodes are on cycles or are reached from one")
    _fill_heights(*children, order, height)
    return level, height, order


@njit(cache=True, nogil=True)
def _take_ready_nodes(offsets: Array, indices: Array, waiting: Array, level: Array, order: Array) -> int:
    """Queue each node when its last parent leaves the queue, which is the order. Return how many nodes were queued.

    `waiting` is the number of parents that have not left the queue.
    """
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
                level[child] = level[node] + 1  # levels in the queue ascend, so this parent's is the largest
                order[tail] = child
                tail += 1
    return tail


@njit(cache=True, nogil=True)
def _fill_heights(offsets: Array, indices: Array, order: Array, height: Array) -> None:
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        highest = 0
        for arc in range(offsets[node], offsets[node + 1]):
            highest = max(highest, height[indices[arc]] + 1)
        height[node] = highest
