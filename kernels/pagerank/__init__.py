"""PageRank: where a surfer is who follows a random arc, or now and then jumps anywhere."""

from __future__ import annotations

from kernels.answers import Scores
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Graph

DAMPING = 0.85
TOLERANCE = 1e-6
MOST_ITERATIONS = 100


def pagerank(
    graph: Graph, damping: float = DAMPING, tolerance: float = TOLERANCE, most_iterations: int = MOST_ITERATIONS
) -> Scores:
    """Find the PageRank of every row, by power iteration from equal ranks; weights are not read.

    An iteration gives a row `(1 - damping) / V` and `damping` times what it gets: from each in-arc's row its rank over its
    out-degree, and from every row without out-arcs its rank over V. That is NetworkX's definition.

    Parameters
    ----------
    graph : Graph
    damping : float
        Probability of following an arc, in 0..1.
    tolerance : float
        Iteration ends when the ranks' changes sum to less than this; NetworkX's `tol` times V.
    most_iterations : int
        Iteration ends after so many, whatever the change.

    Returns
    -------
    Scores
        The GPU's ranks differ from the CPU's by 1e-6 in sum at most, and are the same in every run.

    Raises
    ------
    ValueError
        If `damping` is not in 0..1, or `tolerance` is negative or not a number.
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    require_sense(damping, tolerance)
    if is_cupy(graph):
        from kernels.pagerank import cuda

        return cuda.scores(graph, damping, tolerance, most_iterations)
    require_numpy(graph, "pagerank")
    from kernels.pagerank import cpu

    return cpu.scores(graph, damping, tolerance, most_iterations)


def require_sense(damping: float, tolerance: float) -> None:
    """Raise ValueError as `pagerank` does."""
    if not 0 <= damping <= 1:
        raise ValueError(f"damping {damping} is not in 0..1")
    if not tolerance >= 0:
        raise ValueError(f"tolerance {tolerance} is negative or not a number")
