"""Power iteration that pulls: a row adds the shares of its in-arcs in their order, so that every run gives the same bits.

Page, Brin, Motwani, Winograd, The PageRank Citation Ranking: Bringing Order to the Web, Stanford 1999.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from kernels.answers import Scores
from kernels.arrays import unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, over_items, over_rows, ranges
from kernels.graph import Array, Csr, Graph
from kernels.pagerank.parameters import PageRankParameters


def scores(graph: Graph, parameters: PageRankParameters) -> Scores:
    """Answer `kernels.pagerank.pagerank` on NumPy arrays."""
    degrees = np.diff(graph.out.offsets)
    return iterate(graph.into, degrees, graph.num_vertices, parameters, lambda shares: shares, lambda values: float(values.sum()))


def iterate(
    into: Csr, degrees: Array, num_vertices: int, parameters: PageRankParameters, extended: Callable[[Array], Array],
    total: Callable[[Array], float],
) -> Scores:  # fmt: skip
    """Iterate over n rows, which are all rows of the graph or one rank's own rows.

    Args:
        into: In-arcs of the rows.
        degrees (int64 [n]): Out-degrees.
        num_vertices: Of the whole graph.
        extended: Returns the shares of the n rows, followed by those of all other rows that `into` names.
        total: Sums values over all rows of the graph.
    """
    (damping, tolerance, most_iterations), limit = parameters, parameters.settled
    dangling = np.flatnonzero(degrees == 0)
    degrees = np.where(degrees == 0, np.inf, degrees)  # the share of a dangling row is 0
    current = np.full(len(degrees), 1 / max(num_vertices, 1))
    shares, following, changes = (np.empty(len(degrees)) for _ in range(3))
    offsets, indices = unsigned(into.offsets), unsigned(into.indices)
    change, iteration, settled = np.inf if num_vertices else 0.0, 0, False
    while (change >= tolerance or not settled) and iteration < most_iterations and num_vertices:
        base = (1 - damping + damping * total(current[dangling])) / num_vertices
        over_items(ranges(len(degrees)), partial(_share, current, degrees, shares))
        over_rows(into, partial(_pull, offsets, indices, extended(shares), base, damping, (current, following, changes)))
        change = total(changes)
        settled = change < tolerance and not total(changes * limit > following)
        current, following = following, current
        iteration += 1
    return Scores(current, iteration, change)


def _share(current: Array, degrees: Array, shares: Array, part: Range) -> None:
    np.divide(current[slice(*part)], degrees[slice(*part)], out=shares[slice(*part)])


@njit(cache=True, nogil=True)
def _pull(
    offsets: Array, indices: Array, shares: Array, base: float, damping: float, scores: tuple[Array, Array, Array], begin: int,
    end: int,
) -> None:  # fmt: skip
    """Set scores and changes of rows `begin:end` from the shares of their in-arcs, added in the arcs' order."""
    current, following, changes = scores
    for row in range(begin, end):
        sum_of_row = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            sum_of_row += shares[indices[arc]]
        following[row] = base + damping * sum_of_row
        changes[row] = abs(following[row] - current[row])
