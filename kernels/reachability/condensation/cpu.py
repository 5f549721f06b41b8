"""From strong components to the rows of the acyclic graph between them, by counting sorts (kernels/layout/sorting.py)."""

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import Array, Csr, Graph
from kernels.layout.sorting import sort_arcs, transpose
from kernels.scc import scc


def condense(graph: Graph) -> Condensation:
    """Answer `kernels.reachability.condense` on NumPy arrays."""
    labels = scc(graph).labels
    ascending = graph.rows_by_id[labels[graph.rows_by_id] == graph.rows_by_id]
    numbers = np.empty_like(labels)
    numbers[ascending] = np.arange(len(ascending), dtype=labels.dtype)
    node = numbers[labels]
    children = _arcs_between(graph.out, node, len(ascending))
    return Condensation(node, ascending, children, transpose(children))


def _arcs_between(out: Csr, node: Array, num_nodes: int) -> Csr:
    """Return the arcs between nodes without copies; the heads of a row ascend. Indices have the type of `node`."""
    heads = node[out.indices]
    tails = np.repeat(node, np.diff(out.offsets))
    arcs = sort_arcs(num_nodes, tails, heads, None, both=False, keep_self_loops=False)
    indices = np.empty(len(arcs.indices), node.dtype)
    offsets = np.zeros_like(arcs.offsets)
    _drop_copies(frozen(arcs.offsets), frozen(arcs.indices), offsets, indices)
    return Csr(offsets, indices[: offsets[-1]].copy(), None)


@njit(cache=True, nogil=True)
def _drop_copies(offsets: Array, indices: Array, kept_offsets: Array, kept: Array) -> None:
    """Copy the first of equal arcs, which are adjacent."""
    free = 0
    for row in range(len(offsets) - 1):
        begin = free
        for arc in range(offsets[row], offsets[row + 1]):
            if free == begin or kept[free - 1] != indices[arc]:
                kept[free] = indices[arc]
                free += 1
        kept_offsets[row + 1] = free
