"""Proof of the minimum spanning forest: it has no cycle, and every other arc is the greatest edge on the cycle it closes.

Edges are ordered by (weight, smaller id, larger id), so no two are equal and the forest is unique. A spanning forest is that one
if and only if every edge outside it is greater than each forest edge between its ends (the cycle property; Tarjan, 1979).

Both backends join the forest's edges into a hierarchy of O(log V) levels, in which the greatest forest edge between two vertices
stands on the way between them; of an edge of the forest itself that is the edge. So one question to each arc, "which edge joined
your ends?", proves that the forest spans (one did), that its edges are lightest arcs of the graph (its own ends: no arc is
lighter, and one is equal), and the cycle property (other ends: that edge is less).

References
----------
Tarjan: Applications of path compression on balanced trees. JACM 26(4), 1979. Graham, Hell: On the history of the minimum spanning
tree problem, 1985.
"""

from __future__ import annotations

from typing import Any

from kernels.answers import Certificate, Forest
from kernels.arrays import is_cupy
from kernels.certificate.rules import NAMED, verdict
from kernels.graph import Csr, Graph

RULES = (
    "the first end of an edge has the smaller external id",
    "edges ascend by their ends, and none repeats",
    "the edges close no cycle",
    "no arc joins two trees",
    "an edge is an arc, and no arc between its ends is lighter",
    "every other arc is greater, in the order (weight, ends), than all edges between its ends",
    NAMED,
    "both ends of every edge have one label",
    "there are as many labels as trees",
)


def certify_forest(graph: Graph, forest: Forest) -> Certificate:
    """Prove that `forest` is the minimum spanning forest, in order, and that its labels name the trees.

    O((V + A) log V) time, O(V) memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, backend_of(graph).check, graph, forest)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.forest.certificate import cuda

        return cuda
    from kernels.forest.certificate import cpu

    return cpu
