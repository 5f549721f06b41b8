"""Betweenness: how many shortest paths pass through each vertex, or use each edge.

Read `parameters.py` (which sources, in which unit), then `cpu.py`. On a GPU `shallow.cu` follows 32 sources at a time, and
`deep.cu` one for each block.
"""

from typing import Any

from kernels.answers import Betweenness, EdgeBetweenness
from kernels.arrays import on_gpu
from kernels.betweenness.edges import distinct_edges
from kernels.betweenness.parameters import BetweennessParameters, checked, rows_of, scale
from kernels.betweenness.shares import each_share
from kernels.distributed.communicator import Communicator, SingleRank
from kernels.graph import Array, Graph


def betweenness(graph: Graph, weights: bool = True, communicator: Communicator | None = None, **options: Any) -> Betweenness:
    """Sum over pairs (s, t) of other vertices the share of the shortest paths from s to t that pass through each row.

    That is NetworkX's `betweenness_centrality(normalized=False)`: in an undirected graph each pair counts once. Parallel arcs are
    one arc, of the least weight, and self-loops are on no path.

    Below `exact_below` vertices every row is a source s. Otherwise k rows are drawn, without replacement, and their sum is
    multiplied by V / k, where k = ln(2 V / delta) / (2 epsilon^2), rounded up, and at most V: the dependency of one source on a
    row is in 0..V-2, so by Hoeffding's inequality, and the union over all rows, with probability 1 - delta no row is wrong by
    more than epsilon V (V - 2), half of that in an undirected graph. With endpoints it is in 0..V-1.

    The answer is unique, see `kernels.betweenness.cpu`: shortest paths are counted as doubles of unlimited exponent, rounded
    after each addition in the order of the arcs, and the dependency of each source is rounded to an integer number of units
    2^-f, where f is the largest that keeps the sum below 2^62, so that the order of the sources does not matter.

    Args:
        weights: Whether a path's length is its sum of weights, if the graph has any, or its number of arcs.
        communicator: Of ranks that hold this graph each, and take a share of the sources each; all have the answer. The call is
            then a collective.
        exact_below (int = 20,000): Number of vertices from which sources are drawn.
        epsilon, delta (float = 0.1): Error and its probability, both in 0..1, exclusive.
        seed (int = 0): Of the drawn sources, which depend on their external ids and on V only.
        normalized (bool = False): Whether values are shares of all pairs of other vertices; of all vertices, with endpoints.
        endpoints (bool = False): Whether a path counts at s and t, too.
        sources (sequence of int = ()): External ids of the sources s, whose paths to all t are added, and not multiplied; none:
            as above. That is `betweenness_centrality_subset` with all targets: in an undirected graph a pair counts one half
            for each of its vertices that is a source.

    Returns:
        float64, the same bits on a CPU, a GPU and over ranks.

    Raises:
        ArithmeticError: A shortest path has an arc without length (of weight 0, or lost in rounding), so that the number of paths
            depends on how often it is taken. NetworkX counts some of them. Or as `kernels.sssp.sssp`.
        ValueError: `epsilon` or `delta` is not in 0..1, or a source is given twice or not in the graph.

    Sources: Brandes, A Faster Algorithm for Betweenness Centrality, Journal of Mathematical Sociology 25, 2001; On Variants of
    Shortest-Path Betweenness Centrality, Social Networks 30, 2008 (endpoints, edges). Brandes, Pich, Centrality Estimation in
    Large Networks, International Journal of Bifurcation and Chaos 17, 2007. Hoeffding, Probability Inequalities for Sums of
    Bounded Random Variables, JASA 58, 1963 (section 6: without replacement).

    Example, with the graph of `kernels.graph.Graph`:
        >>> betweenness(graph).betweenness.tolist()
        [0.0, 1.0, 0.0]
    """
    parameters = checked(weights, **options)
    rows = rows_of(parameters, graph.ids, graph.num_vertices)
    units = scale(parameters, graph.num_vertices, len(rows), graph.directed)
    total = _sums(graph, parameters, rows, units.bits, communicator or SingleRank())
    return Betweenness(total * units.factor, len(rows))


def edge_betweenness(
    graph: Graph, weights: bool = True, communicator: Communicator | None = None, **options: Any
) -> EdgeBetweenness:  # fmt: skip
    """Sum over pairs (s, t) of vertices the share of the shortest paths from s to t that use each edge.

    That is NetworkX's `edge_betweenness_centrality(normalized=False)`, or with sources `edge_betweenness_centrality_subset`.
    Parallel arcs are one edge, and so are both arcs of an edge without direction; self-loops are left out. If sources are drawn,
    their number follows from that of the edges, E, in the place of V: k = ln(2 E / delta) / (2 epsilon^2); with probability
    1 - delta no edge is wrong by more than epsilon V (V - 1).

    Arguments, but for `endpoints`, and errors are those of `betweenness`, whose units and order make this answer unique, too.

    Example, with the graph of `kernels.graph.Graph`:
        >>> edge_betweenness(graph).betweenness.tolist()
        [2.0, 0.0, 2.0]
    """
    parameters = checked(weights, of_edges=True, **options)
    edges = distinct_edges(graph)
    rows = rows_of(parameters, graph.ids, len(edges.src))
    units = scale(parameters, graph.num_vertices, len(rows), graph.directed)
    of_arcs = _sums(graph, parameters, rows, units.bits, communicator or SingleRank())
    total = edges.sums(of_arcs)
    return EdgeBetweenness(edges.src, edges.dst, total * units.factor, len(rows))


def _sums(graph: Graph, parameters: BetweennessParameters, sources: Array, bits: int, communicator: Communicator) -> Array:
    """Dependencies of all sources on every row, int64 [V], or on every out-arc, [A], in units of 2^-bits, on all ranks."""
    if on_gpu(graph, "betweenness"):
        from kernels.betweenness.cuda import sum_of_sources
    else:
        from kernels.betweenness.cpu import sum_of_sources
    own = each_share(communicator, sources, ArithmeticError, lambda some: sum_of_sources(graph, parameters, some, bits))
    return own if communicator.size == 1 else communicator.total(own)
