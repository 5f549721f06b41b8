"""Scores to rows: the arcs of a graph in its running order."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.arrays import is_cupy
from kernels.cpu.parallel import over_rows
from kernels.graph import OFFSET, Array, Csr


def take_rows(by_rank: Csr, order: Array, row_of_rank: Array | None) -> Csr:
    """Arcs of the ranks in `order`, their ends renumbered; within a row they stay in order of the ranks.

    Parameters
    ----------
    by_rank : Csr
        The whole graph, numbered by rank; or some of its rows, whose ends may have numbers of their own.
    order : index width [R]
        Scores of the rows to take, in order of the rows.
    row_of_rank : index width [V], or None
        The row of each number at an arc's end. None leaves them as they are.
    """
    if is_cupy(by_rank):
        from kernels.layout import cuda

        return cuda.take_rows(by_rank, order, row_of_rank)
    offsets = np.zeros(len(order) + 1, OFFSET)
    np.cumsum(np.diff(by_rank.offsets)[order], out=offsets[1:])
    arcs = int(offsets[-1])
    weights = None if by_rank.weights is None else np.empty(arcs, by_rank.weights.dtype)
    dtype = by_rank.indices.dtype if row_of_rank is None else row_of_rank.dtype
    rows = Csr(offsets, np.empty(arcs, dtype), weights)
    arrays = (by_rank.offsets, by_rank.indices, by_rank.weights, order, row_of_rank, offsets, rows.indices, weights)
    over_rows(rows, lambda begin, end: _take(*arrays, begin, end))
    return rows


@njit(cache=True, nogil=True)
def _take(
    offsets: Array, indices: Array, weights: Array | None, order: Array, row_of_rank: Array | None,
    new_offsets: Array, new_indices: Array, new_weights: Array, begin: int, end: int,
) -> None:  # fmt: skip
    for row in range(begin, end):
        arc = offsets[order[row]]
        for new in range(new_offsets[row], new_offsets[row + 1]):
            new_indices[new] = indices[arc] if row_of_rank is None else row_of_rank[indices[arc]]
            if weights is not None:
                new_weights[new] = weights[arc]
            arc += 1
