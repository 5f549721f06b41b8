"""Triangles: how many every vertex is a corner of, and how many arcs there are between its neighbours.

Read `cpu.py` first; `lists.py` has the lists of neighbours that are intersected, and `triangles.cu` does the same on a GPU.
"""

from kernels.answers import Clustering, TriangleCounts
from kernels.graph import Graph
from kernels.triangles.counting import count
from kernels.triangles.quotients import clustering_of


def triangles(graph: Graph) -> TriangleCounts:
    """Count the triangles at every row: pairs of its neighbours that are neighbours, too.

    Two rows are neighbours if an arc connects them, in either direction; parallel arcs count once, self-loops and weights are not
    read.

    The rows are ordered by their number of arcs, and a row lists only the neighbours that have more. So a triangle is found once,
    from the corner of fewest arcs, and no list is longer than the root of twice the number of edges.

    Returns:
        The same on every backend and for any number of ranks. A triangle counts at each of its three corners.

    Sources: Chiba, Nishizeki, Arboricity and Subgraph Listing Algorithms, SIAM Journal on Computing 14, 1985. Schank, Wagner,
    Finding, Counting and Listing all Triangles in Large Graphs, WEA 2005.

    Example, with the graph of `kernels.graph.Graph`:
        >>> triangles(graph).triangles.tolist()
        [1, 1, 1]
    """
    return TriangleCounts(count(graph, "triangles", directed=False)[0])


def lcc(graph: Graph) -> Clustering:
    """Find the local clustering coefficient of every row, as LDBC Graphalytics defines it.

    Of a row with d neighbours (see `triangles`), it is the number of arcs from one of them to another over d (d - 1), the number
    of ordered pairs; 0 if d < 2. Parallel arcs count once, an undirected edge counts as two arcs.

    Returns:
        The same on every backend and for any number of ranks. `numerator` and `denominator` are exact; `lcc` is their quotient,
        rounded once.

    Sources: Iosup et al., LDBC Graphalytics, VLDB 9, 2016; Watts, Strogatz, Collective dynamics of small-world networks, Nature
    393, 1998.

    Example, with the graph of `kernels.graph.Graph`:
        >>> lcc(graph).numerator.tolist(), lcc(graph).lcc.tolist()
        ([1, 1, 1], [0.5, 0.5, 0.5])
    """
    return clustering_of(*count(graph, "lcc", directed=True))
