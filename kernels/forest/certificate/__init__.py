"""Certificate of the minimum spanning forest: it has no cycle, and every other arc is the greatest edge on the cycle it closes.

Edges are ordered by (weight, smaller id, larger id), so no two are equal and the forest is unique. A spanning forest is that one
if and only if every edge outside it is greater than each forest edge between its endpoints (the cycle property; Tarjan, 1979).

Both backends join the forest's edges into a hierarchy of O(log V) levels, in which the greatest forest edge between two vertices
is on the path between them; for the endpoints of a forest edge it is that edge. So it suffices to look up, for each arc, the edge
that joined its endpoints. If there is one, the forest spans. If it has the arc's endpoints, no arc may be lighter and one has to
be equal, so forest edges are lightest arcs of the graph. If it has other endpoints, it has to be less than the arc (the cycle
property).

References: Tarjan: Applications of path compression on balanced trees. JACM 26(4), 1979. Graham, Hell: On the history of the
minimum spanning tree problem, 1985.
"""

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

    O((V + A) log V) time, O(V) memory. The certificate of a malformed answer does not hold; nothing is raised.
    """
    return verdict(RULES, backend_of(graph).check, graph, forest)


def backend_of(arrays: Graph | Csr) -> Any:
    """The module that checks these arrays: `cpu` or `cuda`."""
    if is_cupy(arrays):
        from kernels.forest.certificate import cuda

        return cuda
    from kernels.forest.certificate import cpu

    return cpu
