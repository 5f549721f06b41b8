"""Certificate of maximum flows: a flow and a cut of the same value prove each other.

No flow carries more than a cut (Ford, Fulkerson: Maximal Flow Through a Network. Canadian Journal of Mathematics 8, 1956), so
that a flow with the value of a cut is a maximum flow, and the cut is a minimum one. The rows that the source reaches by arcs that
can carry more, and against arcs that carry something, are on the source's side of every minimum cut: where a minimum cut divided
them, an arc would be full one way or empty the other way.
"""

from kernels.answers import Certificate, Flows
from kernels.arrays import is_cupy
from kernels.certificate.rules import verdict
from kernels.graph import Graph

RULES = (
    "a pair is two vertices of the graph",
    "no arc carries more than its capacity, or less than nothing",
    "as much flow enters a vertex as leaves it, except at the ends of the pair",
    "the flow that leaves the source is the value",
    "the vertices to which the source can send more are as many as stated, and the target is not among them",
    "the arcs that leave these vertices are the cut",
    "the capacities of the cut add up to the value",
)


def certify_flows(graph: Graph, flows: Flows) -> Certificate:
    """Prove maximum flows, and that each cut is the minimum one nearest the source.

    O(V + A) time for each pair. A malformed answer does not hold; nothing is raised.
    """
    if is_cupy(graph):
        from kernels.flow.certificate.cuda import check
    else:
        from kernels.flow.certificate.cpu import check
    return verdict(RULES, check, graph, flows)
