"""Personalised PageRank: of a surfer who jumps to seeds instead of to any vertex; for many seeds at a time.

Read `iteration.py` first: a step reads each arc once for all rankings, whose scores of a vertex lie next to each other.
"""

from collections.abc import Sequence

from kernels.answers import Scores
from kernels.arrays import on_gpu
from kernels.distributed import SingleRank
from kernels.graph import Graph
from kernels.pagerank.parameters import DAMPING, TOLERANCE, Personalization, checked
from kernels.pagerank.seeded.iteration import RankedRows, iterate, step_of


def rankings(
    graph: Graph,
    personalizations: Sequence[Personalization],
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> list[Scores]:
    """Find the PageRank scores of every row for each personalization; weights of arcs are not read.

    As `kernels.pagerank.pagerank`, except that the surfer jumps to the seeds, also from rows without out-arcs, each with the
    probability of its weight. That is NetworkX's `personalization`, whose `dangling` is the same by default. The iteration begins
    with the weights as scores, so that a row that no seed reaches has score 0.

    Args:
        personalizations: One for each ranking, K. An empty one jumps to any row.
        damping, iterations: See `kernels.pagerank.pagerank`.
        tolerance: Iteration of a ranking ends when the sum of the changes of its scores is less than this.

    Returns:
        Of each ranking its scores: the same bits on a CPU, a GPU and over ranks, and with others beside it. Takes 3 V K doubles.

    Raises ValueError as `kernels.pagerank.pagerank`.

    Example, with the graph of `kernels.graph.Graph`:
        >>> rankings(graph, [Personalization.to(1)])[0].scores.round(3).tolist()
        [0.0, 0.541, 0.459]
    """
    parameters = checked(damping, tolerance, iterations)
    step = step_of(on_gpu(graph, "pagerank"), graph.out.offsets, graph.into, graph.derived)
    rows = RankedRows(range(graph.num_vertices), graph.num_vertices)
    return iterate(rows, step, SingleRank(), lambda shares: shares, personalizations, parameters)
