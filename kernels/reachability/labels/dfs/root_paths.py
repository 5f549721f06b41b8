"""Depth-first parents by comparing root paths, for graphs whose number of paths does not fit int64.

Of two paths to a node the search takes the one that leaves the other for the earlier sibling. The node where they part is found
by binary lifting in the forest built so far (Bender, Farach-Colton: The Level Ancestor Problem Simplified, 2004, jump
pointers): a table of the 2^t-th ancestors, with C entries for each doubling of the depth.
"""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array
from kernels.reachability.labels.numbering import DagArcs


def first_parents(rows: DagArcs, roots: Array, order: Array, num_levels: int) -> Array:
    """Parents of the depth-first forest; NO_ROW for roots. O((C + M) log L) time, C (log L + 3) entries for L levels."""
    num_nodes = len(order)
    ancestors = np.empty((max(1, num_levels.bit_length()), num_nodes + 1), order.dtype)
    ancestors[0] = num_nodes  # the virtual root, which is the parent of every root and its own
    ancestors[:, num_nodes] = num_nodes
    sibling, depth = np.zeros(num_nodes + 1, np.int64), np.zeros(num_nodes + 1, np.int64)
    sibling[roots] = np.arange(len(roots))
    _choose(*rows, order, ancestors, sibling, depth)
    parent = ancestors[0, :num_nodes].copy()
    parent[parent == num_nodes] = NO_ROW
    return parent


@njit(cache=True, nogil=True)
def _choose(offsets: Array, indices: Array, order: Array, ancestors: Array, sibling: Array, depth: Array) -> None:
    """Offer each node as a parent to its heads once its own parent is final; `sibling` is a node's place in its parent's row."""
    virtual = len(order)
    parent = ancestors[0]
    for node in order:
        depth[node] = depth[parent[node]] + 1
        for step in range(1, len(ancestors)):
            ancestors[step, node] = ancestors[step - 1, ancestors[step - 1, node]]
        for arc in range(offsets[node], offsets[node + 1]):
            child, place = indices[arc], arc - offsets[node]
            if parent[child] == virtual or _earlier(ancestors, sibling, depth, node, place, parent[child], sibling[child]):
                parent[child] = node
                sibling[child] = place


@njit(cache=True, nogil=True)
def _earlier(ancestors: Array, sibling: Array, depth: Array, a: int, place_a: int, b: int, place_b: int) -> bool:
    """Whether the path through place_a of node a's row comes before that through place_b of the row of another node b."""
    if depth[a] > depth[b]:
        a = _ancestor(ancestors, a, depth[a] - depth[b] - 1)
        a, place_a = ancestors[0, a], sibling[a]
    elif depth[b] > depth[a]:
        b = _ancestor(ancestors, b, depth[b] - depth[a] - 1)
        b, place_b = ancestors[0, b], sibling[b]
    if a == b:
        return place_a < place_b
    for step in range(len(ancestors) - 1, -1, -1):
        if ancestors[step, a] != ancestors[step, b]:
            a, b = ancestors[step, a], ancestors[step, b]
    return bool(sibling[a] < sibling[b])


@njit(cache=True, nogil=True)
def _ancestor(ancestors: Array, node: int, generations: int) -> int:
    step = 0
    while generations:
        if generations & 1:
            node = ancestors[step, node]
        generations >>= 1
        step += 1
    return node
