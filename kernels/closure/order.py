"""A topological order of the nodes of a condensation, on the host: reading its arcs once is little beside writing the pairs."""

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import unsigned
from kernels.cpu.compiled import njit
from kernels.gpu.loader import to_host
from kernels.graph import Array


def by_height(nodes: Condensation) -> tuple[Array, Array]:
    """The nodes in ascending order of height, index width [C], and the number of nodes of each height, int64.

    The height of a node is the number of arcs on the longest path that begins at it, so its children are below it.
    """
    waiting = to_host(np.diff(nodes.children.offsets)).astype(nodes.names.dtype)
    order, height = np.empty_like(waiting), np.zeros_like(waiting)
    _take_ready(unsigned(to_host(nodes.parents.offsets)), unsigned(to_host(nodes.parents.indices)), waiting, order, height)
    return order, np.bincount(height)


@njit(cache=True, nogil=True)
def _take_ready(offsets: Array, indices: Array, waiting: Array, order: Array, height: Array) -> None:
    """Queue each node when its last child leaves the queue (Kahn: Topological sorting of large networks. CACM 5(11), 1962)."""
    tail = 0
    for node in range(len(waiting)):
        if waiting[node] == 0:
            order[tail] = node
            tail += 1
    for head in range(len(order)):
        node = order[head]
        for arc in range(offsets[node], offsets[node + 1]):
            parent = indices[arc]
            waiting[parent] -= 1
            if waiting[parent] == 0:
                height[parent] = height[node] + 1
                order[tail] = parent
                tail += 1
