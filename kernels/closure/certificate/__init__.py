"""Certificate of a transitive closure: its classes are the strong components, and all other pairs follow from the arcs.

The pairs alone say which vertices reach each other; the certificate of strong components proves these classes. Between proved
classes there is no cycle, so what a class reaches is determined, from the last class to the first, by one rule: the heads of its
arcs, and all that heads in other classes reach.

Over ranks each has the pairs of some second vertices, for which it checks that rule, and holds the graph. Classes are then the
vertices that reach themselves and have one sum of hashes (`ranks.py`).
"""

from kernels.answers import Certificate, Closure
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, verdict
from kernels.closure.limit import LIMIT
from kernels.distributed import Communicator, SingleRank
from kernels.graph import Graph
from kernels.scc.certificate import RULES as CLASSES

RULES = (
    "pairs are of the graph's vertices, each once, ascending",
    *(f"for vertices that reach each other: {rule}" for rule in CLASSES),
    "vertices that reach each other reach the same",
    "a vertex reaches the head of each of its arcs, and all that the head reaches",
    "every vertex that a vertex reaches follows an arc from it, or from a vertex of its strong component",
)


def certify_closure(
    graph: Graph, closure: Closure, limit: int = LIMIT, communicator: Communicator | None = None
) -> Certificate:  # fmt: skip
    """Prove a closure of P pairs, `limit` at most; over ranks, of which each has the part of `kernels.closure.closure`, together.

    O(V + A + P) memory; time is in proportion to P times the mean number of arcs. A malformed answer does not hold; nothing is
    raised.
    """
    if is_cupy(graph):
        from kernels.closure.certificate.cuda import check
    else:
        from kernels.closure.certificate.cpu import check

    ranks = communicator or SingleRank()

    def check_within(graph: Graph, closure: Closure) -> None:
        if (pairs := ranks.sum(len(closure.vertex))) > ranks.min(limit):
            raise Broken(f"{pairs:,} pairs, more than the limit of {limit:,}")
        check(graph, closure, ranks)

    return verdict(RULES, check_within, graph, closure)
