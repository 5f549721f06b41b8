"""Levels and heights: one more than the largest level of the parents, and one more than the largest height of the children."""

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import unsigned
from kernels.components.topological import sort_by_depth
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
    if (done := sort_by_depth(*children, waiting, level, order)) < len(order):
        raise ValueError(f"label: {len(order) - done} of {len(order)} nodes are on cycles or are reached from one")
    _fill_heights(*children, order, height)
    return level, height, order


@njit(cache=True, nogil=True)
def _fill_heights(offsets: Array, indices: Array, order: Array, height: Array) -> None:
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        highest = 0
        for arc in range(offsets[node], offsets[node + 1]):
            highest = max(highest, height[indices[arc]] + 1)
        height[node] = highest
