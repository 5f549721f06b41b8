"""Topological order of a graph without cycles (Kahn: Topological sorting of large networks. CACM 5(11), 1962)."""

from kernels.cpu.compiled import njit
from kernels.graph import Array


@njit(cache=True, nogil=True)
def sort_by_depth(offsets: Array, indices: Array, waiting: Array, depth: Array, order: Array) -> int:
    """Queue each node when the last one with an arc to it leaves the queue, which is the order.

    Args:
        offsets, indices: Arcs of the C nodes; frozen, and unsigned.
        waiting ([C]): How many arcs lead to each node from nodes that have not left the queue; all 0 afterwards.
        depth ([C]): 0; afterwards the number of arcs on the longest path to each node, which ascends in the order.
        order ([C]): Receives the nodes.

    Returns how many nodes were queued: fewer than C if there is a cycle.
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
            other = indices[arc]
            waiting[other] -= 1
            if waiting[other] == 0:
                depth[other] = depth[node] + 1  # depths in the queue ascend, so that of this node is the largest
                order[tail] = other
                tail += 1
    return tail
