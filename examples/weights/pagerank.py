"""PageRank as a sum over walks: every round passes the last round's changes on to the rows that they can reach.

Page, Brin, Motwani, Winograd: The PageRank Citation Ranking (1999); the series is that of McSherry: A Uniform Approach to
Accelerated PageRank Computation (2005).
"""

import numpy as np

from graphmill import Array, Frontier, Graph, advance, compute, filter, reduce


def pagerank(graph: Graph, damping: float = 0.85, tolerance: float = 1e-12) -> Array:
    """Scores, float64 [V]; rows without out-arcs pass their score to all. Ends when a round changes less than `tolerance`."""
    if not (0 <= damping < 1 and tolerance >= 0):
        raise ValueError(f"damping {damping} is not in 0..1, 1 excluded, or tolerance {tolerance} is below 0 or not a number")
    score, change, share = (np.zeros(graph.num_vertices, np.float64, like=graph.ids) for _ in range(3))
    size, base = graph.num_vertices, (1 - damping) / max(graph.num_vertices, 1)

    def start(row: int) -> None:
        change[row] = base

    def divide(row: int, degree: int) -> None:
        score[row] += change[row]
        share[row] = damping * change[row] / degree if degree > 0 else 0.0

    def dangling(row: int, degree: int) -> float:
        return damping * change[row] / size if degree == 0 else 0.0

    def passes(row: int) -> bool:
        return share[row] > 0

    def reach(neighbour: int) -> bool:
        return True

    def given(neighbour: int) -> float:
        return share[neighbour]

    def keep(row: int, total: float) -> None:
        change[row] += total

    def changed(row: int) -> float:
        return change[row]

    everything = Frontier.everything(graph)
    compute(everything, start)
    while float(reduce(everything, changed)) > tolerance:
        compute(everything, divide)
        base = float(reduce(everything, dangling))
        compute(everything, start)
        active = filter(everything, passes)
        receivers = advance(active, reach) if active.kind == "sparse" else everything  # of many rows, most rows receive something
        advance(receivers, given, direction="in", after=keep, collect="sum")
    return score
