"""Certificate of a transitive closure: its classes are the strong components, and all other pairs follow from the arcs.

The pairs alone say which vertices reach each other; the certificate of strong components proves these classes. Between proved
classes there is no cycle, so what a class reaches is determined, from the last class to the first, by one rule: the heads of its
arcs, and all that heads in other classes reach.
"""

from kernels.answers import Certificate, Closure
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, verdict
from kernels.closure.limit import LIMIT
from kernels.graph import Graph
from kernels.scc.certificate import RULES as CLASSES

RULES = (
    "pairs are of the graph's vertices, each once, ascending",
    *(f"for vertices that reach each other: {rule}" for rule in CLASSES),
    "vertices that reach each other reach the same",
    "a vertex reaches the head of each of its arcs, and all that the head reaches",
    "every vertex that a vertex reaches follows an arc from it, or from a vertex of its strong component",
)


def certify_closure(graph: Graph, closure: Closure, limit: int = LIMIT) -> Certificate:
    """Prove a closure of P pairs, `limit` at most.

    O(V + A + P) memory; time is in proportion to P times the mean number of arcs. A malformed answer does not hold; nothing is
    raised.
    """
    if is_cupy(graph):
        from kernels.closure.certificate.cuda import check
    else:
        from kernels.closure.certificate.cpu import check

    def check_within(graph: Graph, closure: Closure) -> None:
        if len(closure.vertex) > limit:
            raise Broken(f"{len(closure.vertex):,} pairs, more than the limit of {limit:,}")
        check(graph, closure)

    return verdict(RULES, check_within, graph, closure)
