"""Certificate of the layout: the stored graph has the arcs of the edge list, by the rules, and nothing else.

The ids ascend with the positions, so rows and ids name each other, and within a row the neighbours' ids ascend. Multisets of
(src, dst, weight) are compared by fingerprints of 128 bits: two sums modulo 2^64 of what keyed mixing functions make of each arc,
in any order. Keys are drawn for each proof, so that no input can be prepared for them; different multisets have the same
fingerprint with a probability of about 2^-128. In an undirected graph an edge is the arc to the greater id.

* Out-arcs and in-arcs have one fingerprint.
* The fingerprint of the edges is the sum of those of the stored arcs and of the dropped parallel edges. The layout lists the
  latter, and nothing is assumed of its list: if the sums are equal, each edge is stored or listed, and each stored arc is an
  edge.
* Every edge of the list is looked up: there is a stored arc between its ends that is no heavier.

So every edge has a stored arc that is no heavier, and every stored arc equals an edge. Over ranks each rank sums its edges and
its rows, and asks the owners of ids and rows for the edges of its list.

References: Blum, Kannan: Designing programs that check their work. JACM 42(1), 1995 (equality of multisets by fingerprints).
Clarke, Devadas, van Dijk, Gassend, Suh: Incremental multiset hash functions. ASIACRYPT 2003 (sums of keyed hashes). Steele, Lea,
Flood: Fast splittable pseudorandom number generators. OOPSLA 2014 (the mixing function).
"""

from kernels.answers import Certificate
from kernels.certificate.rules import verdict
from kernels.distributed import Communicator, Shard
from kernels.graph import Graph
from kernels.layout.certificate.check import check, check_weights
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges, EdgeSource

RULES = (
    "vertices are the ids that are declared or in an edge, each once, in ascending order",
    "a row's arcs ascend by the id of their neighbour, then by weight, and are as many as its degree",
    "the in-arcs are the out-arcs reversed, and the graph is directed if its edges are",
    "every edge has a stored arc that is no heavier, and every stored arc equals an edge",
    "dropped self-loops, added arcs and dropped parallel arcs are as many as stated",
)


def certify_layout(
    edges: EdgeSource, rules: ArcRules, claim: Claim, graph: Graph | Shard, communicator: Communicator
) -> Certificate:
    """Prove that `graph` is the layout of the edges of all ranks, and that its facts are true. Collective.

    Args:
        edges: This rank's part of the edge list; of several ranks in memory.
        graph (Graph or Shard): All rows on a single rank, this rank's rows on several. NumPy's arrays or CuPy's, like those of
            `edges`.

    Returns:
        The same on all ranks. The certificate of a malformed graph does not hold; nothing is raised.

    O(V + A + E) time, and for each dropped parallel edge a search in the row of one end.
    """
    return verdict(RULES, check, edges, rules, claim, graph, communicator)


def certify_weights(dropped: Edges, rules: ArcRules, graph: Graph | Shard, communicator: Communicator) -> Certificate:
    """Whether every edge that the layout dropped weighs as much as its stored arc; the graph is proved. Collective."""
    return verdict(("parallel arcs weigh the same",), check_weights, dropped, rules, graph, communicator)
