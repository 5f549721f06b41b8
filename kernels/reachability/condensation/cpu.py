"""From strong components to the rows of the acyclic graph between them, by a radix sort (kernels/layout/sorting.py)."""

import numpy as np

from kernels.answers import Condensation
from kernels.graph import Array, Csr, Graph
from kernels.layout.numbering import Numbered
from kernels.layout.rules import ArcRules, Edges
from kernels.layout.sorting import sort_arcs, transpose
from kernels.scc import scc

_DISTINCT = ArcRules(range(0), both=False, keep_self_loops=False, keep_parallel=False)


def condense(graph: Graph) -> Condensation:
    """Answer `kernels.reachability.condense` on NumPy arrays."""
    labels = scc(graph).labels
    ascending = graph.rows_by_id[labels[graph.rows_by_id] == graph.rows_by_id]
    numbers = np.empty_like(labels)
    numbers[ascending] = np.arange(len(ascending), dtype=labels.dtype)
    node = numbers[labels]
    children = _arcs_between(graph.out, node, ascending)
    return Condensation(node, ascending, children, transpose(children))


def _arcs_between(out: Csr, node: Array, nodes: Array) -> Csr:
    """Return the arcs between nodes without copies; the heads of a row ascend. Indices have the type of `node`."""
    heads = node[out.indices]
    tails = np.repeat(node, np.diff(out.offsets))
    return sort_arcs(Numbered(nodes, Edges(tails, heads, None), np.empty(0, node.dtype), 0, 0), _DISTINCT)
