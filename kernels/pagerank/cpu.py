"""Power iteration that pulls: a row sums what its in-arcs bring, in their order, so that every run gives the same bits.

Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Scores
from kernels.arrays import frozen
from kernels.cpu.parallel import over_rows
from kernels.graph import Graph


def scores(graph: Graph, damping: float, tolerance: float, most_iterations: int) -> Scores:
    """Answer `kernels.pagerank.pagerank` on NumPy arrays."""
    num_rows = graph.num_vertices
    degrees = np.diff(graph.out.offsets)
    dangling = degrees == 0
    degrees = np.maximum(degrees, 1)
    rank, following = np.full(num_rows, 1 / max(num_rows, 1)), np.empty(num_rows)
    offsets, indices = frozen(graph.into.offsets), frozen(graph.into.indices)
    change = np.inf if num_rows else 0.0
    iteration = 0
    while change >= tolerance and iteration < most_iterations and num_rows:
        shares = np.where(dangling, 0, rank / degrees)
        base = (1 - damping + damping * rank[dangling].sum()) / num_rows

        def pull(begin: int, end: int, shares=shares, base=base, following=following) -> None:  # type: ignore[no-untyped-def]
            pull_ranks(offsets, indices, shares, base, damping, begin, end, following)

        over_rows(graph.into, pull)
        change = float(np.abs(following - rank).sum())
        rank, following = following, rank
        iteration += 1
    return Scores(rank, iteration, change)


@njit(cache=True, nogil=True)
def pull_ranks(offsets, indices, shares, base, damping, begin, end, ranks):  # type: ignore[no-untyped-def]
    """Give the rows `begin:end` of `ranks` what their in-arcs bring of `shares`, added in the arcs' order."""
    for row in range(begin, end):
        sum_of_row = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            sum_of_row += shares[indices[arc]]
        ranks[row] = base + damping * sum_of_row
