"""PageRank: the stationary distribution of a surfer who follows a random arc, or sometimes jumps to any vertex.

Read `cpu.py` first. On a GPU `pull.cu` does the same where `pieces.py` finds that gathering is cheap; otherwise `tiles.py`
describes the arrays that `step.cuh` reads.
"""

from kernels.answers import Scores
from kernels.arrays import on_gpu
from kernels.graph import Graph
from kernels.pagerank.parameters import ANYWHERE, DAMPING, TOLERANCE, checked


def pagerank(
    graph: Graph,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> Scores:
    """Find the PageRank score of every row, by power iteration from equal scores; weights are not read.

    An iteration gives a row `(1 - damping) / V`, and `damping` times the sum of two terms: the score over the out-degree of the
    tail of each in-arc, and the score over V of every row without out-arcs. That is NetworkX's definition.

    Args:
        damping: Probability of following an arc, in 0..1.
        tolerance: Iteration ends when the sum of the scores' changes is less than this, and no score changes by more than 1/128
            of itself, or less with a damping above 0.85. It is NetworkX's `tol` times V.
        iterations: A fixed number of iterations, whatever the change: PageRank as LDBC Graphalytics defines it.

    Returns:
        The sum of the differences between the GPU's and the CPU's scores is at most 1e-6, or a smaller tolerance; after a fixed
        number of iterations no score differs by more than 1e-4 of itself. The bits are the same in every run.

    Raises ValueError if `damping` is not in 0..1, `tolerance` is negative or not a number, or `iterations` is negative.

    Example, with the graph of `kernels.graph.Graph`:
        >>> pagerank(graph).scores.round(3).tolist()
        [0.198, 0.282, 0.521]
    """
    parameters = checked(damping, tolerance, iterations)
    if on_gpu(graph, "pagerank"):
        if parameters.is_precise:
            from kernels.pagerank.seeded import rankings

            return rankings(graph, [ANYWHERE], damping, tolerance)[0]
        from kernels.pagerank.cuda import scores
    else:
        from kernels.pagerank.cpu import scores
    return scores(graph, parameters)
