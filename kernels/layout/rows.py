"""Arcs between positions to arcs between rows."""

import numpy as np

from kernels.arrays import is_cupy
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import elementwise, over_rows, running_sums
from kernels.graph import OFFSET, Array, Csr


def take_rows(by_position: Csr, order: Array, row_of_position: Array | None) -> Csr:
    """Take the rows of the positions in `order` and renumber their indices; arcs keep their order within a row.

    Args:
        by_position: A graph whose rows are positions, or some rows of one; the indices may be of another numbering.
        order (index width [R]): The row of `by_position` for each new row.
        row_of_position (index width [V], or None): The new index for each old one. None keeps the indices.
    """
    if is_cupy(by_position):
        from kernels.layout import cuda

        return cuda.take_rows(by_position, order, row_of_position)
    begins, ends = by_position.offsets[:-1], by_position.offsets[1:]
    offsets = running_sums(elementwise(lambda rows: ends[rows] - begins[rows], order, dtype=OFFSET))
    arcs = int(offsets[-1])
    weights = None if by_position.weights is None else np.empty(arcs, by_position.weights.dtype)
    dtype = by_position.indices.dtype if row_of_position is None else row_of_position.dtype
    rows = Csr(offsets, np.empty(arcs, dtype), weights)
    old = by_position.offsets, by_position.indices, by_position.weights, order, row_of_position
    over_rows(rows, lambda begin, end: _take(*old, offsets, rows.indices, weights, begin, end))
    return rows


@njit(cache=True, nogil=True)
def _take(
    offsets: Array, indices: Array, weights: Array | None, order: Array, row_of_position: Array | None,
    new_offsets: Array, new_indices: Array, new_weights: Array, begin: int, end: int,
) -> None:  # fmt: skip
    for row in range(begin, end):
        arc = offsets[order[row]]
        for new in range(new_offsets[row], new_offsets[row + 1]):
            new_indices[new] = indices[arc] if row_of_position is None else row_of_position[indices[arc]]
            if weights is not None:
                new_weights[new] = weights[arc]
            arc += 1


def parallel_arcs(rows: Csr) -> int:
    """Number of arcs whose head is that of the arc before them in their row: of those of one pair all but one."""
    same = rows.indices[1:] == rows.indices[:-1]
    begins = rows.offsets[1:-1]
    same[begins[(begins > 0) & (begins < len(rows.indices))] - 1] = False
    return int(same.sum())
