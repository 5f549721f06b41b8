"""Betweenness: how many shortest paths of other vertices pass through each vertex.

Read `parameters.py` (which sources, in which unit), then `cpu.py`. On a GPU `shallow.cu` follows 32 sources at a time, and
`deep.cu` one for each block.
"""

from kernels.answers import Betweenness
from kernels.arrays import on_gpu
from kernels.betweenness.parameters import DELTA, EPSILON, EXACT_BELOW, checked
from kernels.graph import Graph


def betweenness(
    graph: Graph,
    weights: bool = True,
    exact_below: int = EXACT_BELOW,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    seed: int = 0,
) -> Betweenness:
    """Sum over pairs (s, t) of other vertices the share of the shortest paths from s to t that pass through each row.

    That is NetworkX's `betweenness_centrality(normalized=False)`: in an undirected graph each pair counts once. Parallel arcs are
    one arc, of the least weight, and self-loops are on no path.

    Below `exact_below` vertices every row is a source s. Otherwise k rows are drawn, without replacement, and their sum is
    multiplied by V / k, where k = ln(2 V / delta) / (2 epsilon^2), rounded up, and at most V: the dependency of one source on a
    row is in 0..V-2, so by Hoeffding's inequality, and the union over all rows, with probability 1 - delta no row is wrong by
    more than epsilon V (V - 2), half of that in an undirected graph.

    The answer is unique, see `kernels.betweenness.cpu`: shortest paths are counted as doubles of unlimited exponent, rounded
    after each addition in the order of the arcs, and the dependency of each source is rounded to an integer number of units
    2^-f, where f is the largest that keeps the sum below 2^62, so that the order of the sources does not matter.

    Args:
        weights: Whether a path's length is its sum of weights, if the graph has any, or its number of arcs.
        exact_below: Number of vertices from which sources are drawn.
        epsilon, delta: Error and its probability, both in 0..1, exclusive.
        seed: Of the drawn sources, which depend on their external ids and on V only.

    Returns:
        float64, the same bits on a CPU, a GPU and over ranks.

    Raises:
        ArithmeticError: A shortest path has an arc without length (of weight 0, or lost in rounding), so that the number of paths
            depends on how often it is taken. NetworkX counts some of them. Or as `kernels.sssp.sssp`.
        ValueError: `epsilon` or `delta` is not in 0..1.

    Sources: Brandes, A Faster Algorithm for Betweenness Centrality, Journal of Mathematical Sociology 25, 2001. Brandes, Pich,
    Centrality Estimation in Large Networks, International Journal of Bifurcation and Chaos 17, 2007. Hoeffding, Probability
    Inequalities for Sums of Bounded Random Variables, JASA 58, 1963 (section 6: without replacement).

    Example, with the graph of `kernels.graph.Graph`:
        >>> betweenness(graph).betweenness.tolist()
        [0.0, 1.0, 0.0]
    """
    parameters = checked(weights, exact_below, epsilon, delta, seed)
    if on_gpu(graph, "betweenness"):
        from kernels.betweenness.cuda import solve
    else:
        from kernels.betweenness.cpu import solve
    return solve(graph, parameters)
