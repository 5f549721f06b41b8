"""Minimum spanning forest: the edges of least weight that connect all rows that arcs connect.

Read `cpu.py` first. On a GPU `forest.cu` has the launches in their order. `rooted.py` makes rooted trees of the edges, for
table `forest`.
"""

from kernels.answers import Forest
from kernels.arrays import on_gpu
from kernels.graph import Graph


def minimum_spanning_forest(graph: Graph) -> Forest:
    """Find the forest of least weight, with edges ordered by (weight, smaller external id, larger external id).

    A directed graph is read as undirected: an edge is the lightest arc between two rows. Self-loops are ignored. `weights` has
    the graph's weight type; int64 ones if the graph has no weights.

    Example, with the graph of `kernels.graph.Graph`:
        >>> minimum_spanning_forest(graph).weights.tolist()
        [4, 3]
    """
    if on_gpu(graph, "minimum_spanning_forest"):
        from kernels.forest.cuda import span
    else:
        from kernels.forest.cpu import span
    return span(graph)
