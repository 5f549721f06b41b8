"""Contraction hierarchy of a road network: an order of the vertices, and shortcuts, with which many trees are swept at a time.

Read `rounds.py` first, then a round in `cpu.py`.

Vertices are contracted one after the other: a contracted vertex leaves the graph, and where it was on the only shortest path
between two neighbours, a shortcut of the same length connects these. A vertex is higher than another one if it was contracted
later. Every distance then is the length of a path that first only ascends, by arcs of `up`, and then only descends, by arcs of
`down`. So the distances from a source follow from a search upwards, and one pass over all positions in ascending order:

    distance[p] = min(distance[p], distance[q] + weight for each arc of `down` from q to p), q < p.

Unpacking
    The shortcut from p to q with middle m stands for two arcs: the one from p in `down` of m, and the one to q in `up` of m, each
    found by a binary search in `others`, and each an original arc or again a shortcut with a lower middle.

Sums
    Integers are exact; a shortcut whose length would exceed int64 does not exist, as no path is that long. Floats are added as
    float64. If all weights are multiples of a power of 2, and all together are at most 2^53 of it, no sum rounds (`exact`), and
    distances by shortcuts are those of `sssp`. Otherwise they may differ in the last bits, because `sssp` rounds once per arc,
    from the source outwards, so `kernels.trees` adds once more, along the graph's own arcs.

Method
    In a round all vertices are contracted at once whose score is less than that of all their neighbours. The score is the number
    of shortcuts per arc that contraction removes (`scores.py`), and more for vertices above others that are contracted already. A
    shortcut is left out where a search past the vertices of the round, of limited size, finds a witness: another path that is not
    longer. The limit rises as the rest of the graph, the core, becomes denser. The searches also drop arcs that are no shortest
    paths.

References: Geisberger, Sanders, Schultes, Delling: Contraction Hierarchies. WEA 2008. Delling, Goldberg, Nowatzyk, Werneck:
PHAST: Hardware-Accelerated Shortest Path Trees. JPDC 73(7), 2013. Vetter: Parallel Time-Dependent Contraction Hierarchies.
Karlsruhe, 2009 (rounds).
"""

from kernels.answers import Hierarchy
from kernels.graph import Array, Graph
from kernels.hierarchy.constants import SEARCHES
from kernels.hierarchy.core import TooManyShortcuts
from kernels.hierarchy.nearness import nearness
from kernels.hierarchy.rounds import contract_all

__all__ = ["TooManyShortcuts", "build_hierarchy", "customise", "memory", "nearness"]


def build_hierarchy(graph: Graph) -> Hierarchy:
    """Build the hierarchy of a graph; without weights every arc weighs 1.

    Returns:
        The same to the byte on a CPU and on a GPU. Distances, which are unique, do not depend on which hierarchy it is.

    Raises:
        TooManyShortcuts: The graph needs too many shortcuts, with the figures; known before time or memory are spent on them.
    """
    return contract_all(graph, None)


def customise(order: Hierarchy | Array, graph: Graph) -> Hierarchy:
    """Build the hierarchy of new weights, or of changed arcs, on the order of another hierarchy with the same rows.

    Args:
        order: That hierarchy, or its `positions`.

    It takes a fraction of the time of `build_hierarchy`, because only necessary shortcuts are searched for, and no scores. Any
    weights give a correct hierarchy. Where the order does not suit them, the rest of the graph is ordered anew.

    Raises:
        ValueError: The two have different numbers of vertices.
        TooManyShortcuts: As `build_hierarchy`.
    """
    positions = order.positions if isinstance(order, Hierarchy) else order
    if len(positions) != graph.num_vertices:
        raise ValueError(f"the order has {len(positions)} vertices, the graph {graph.num_vertices}")
    return contract_all(graph, positions)


def memory(num_vertices: int, num_arcs: int, gpu: bool = False) -> int:
    """Bytes that building a hierarchy takes at most for a road network, besides the graph."""
    return 64 * num_vertices + 110 * num_arcs + (SEARCHES + 90 * num_arcs if gpu else 0)
