"""The stored arcs of pairs of rows, and rows with changed arcs."""

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, over_items, ranges
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.changes.arcs import ArcChanges


def locate(csr: Csr, rows: Array, indices: Array, positions: Array) -> tuple[Array, Array]:
    """Find the arcs from each of some rows to a neighbour.

    Args:
        csr: Rows whose arcs ascend by their neighbours' positions.
        rows, indices (index width [C]): Pairs in any order; rows beyond those of `csr` have no arcs.
        positions (index width [V]): Of all rows in the ascending order of external ids.

    Returns:
        firsts (int64 [C]): The first arc of each pair; where there is none, the place at which it would be inserted.
        counts (int64 [C]): The number of its arcs: 0, 1, or more where parallel arcs are kept.
    """
    if is_cupy_array(rows):
        from kernels.layout.changes import cuda

        return cuda.locate(csr, rows, indices, positions)
    firsts, counts = np.empty(len(rows), OFFSET), np.empty(len(rows), OFFSET)
    arrays = frozen(csr.offsets), frozen(csr.indices), frozen(positions), frozen(rows), frozen(indices)
    over_items(ranges(len(rows), 64 * len(rows)), lambda part: _locate(*arrays, *part, firsts, counts))
    return firsts, counts


def merge(csr: Csr, changes: ArcChanges, positions: Array, num_rows: int) -> Csr:
    """The rows of `csr`, and rows without arcs after them up to `num_rows`, with changed arcs.

    Args:
        changes: Of these rows; indices and `positions` (index width [V]) are of all rows of the graph.
    """
    firsts, counts = locate(csr, changes.rows, changes.indices, positions)
    shifts = np.cumsum(changes.puts - counts)  # after each change: by how many places the arcs behind it move
    arcs = len(csr.indices) + (int(shifts[-1]) if len(shifts) else 0)
    like = csr.indices
    offsets, indices = np.empty(num_rows + 1, OFFSET, like=like), np.empty(arcs, csr.indices.dtype, like=like)
    merged = Csr(offsets, indices, None if csr.weights is None else np.empty(arcs, csr.weights.dtype, like=like))
    if is_cupy_array(like):
        from kernels.layout.changes import cuda

        cuda.splice(csr, changes, (firsts, counts, shifts), merged)
        return merged
    given = frozen(csr.indices), _words(csr.weights), frozen(changes.indices), frozen(changes.puts), _words(changes.weights)
    new_weights = None if merged.weights is None else merged.weights.view(f"u{merged.weights.itemsize}")

    def of_arcs(part: Range) -> None:
        _splice(*given, firsts, counts, shifts, *part, indices, new_weights)

    over_items(ranges(len(csr.indices) + 1), of_arcs)
    before = frozen(csr.offsets), frozen(changes.rows), shifts
    over_items(ranges(num_rows + 1), lambda part: _shift_offsets(*before, *part, offsets))
    return merged


def _words(weights: Array | None) -> Array | None:
    """Weights as words of their size, so that few kernels are compiled."""
    return None if weights is None else frozen(weights).view(f"u{weights.itemsize}")


@njit(cache=True, nogil=True)
def _locate(
    offsets: Array, heads: Array, positions: Array, rows: Array, indices: Array, begin: int, end: int, firsts: Array,
    counts: Array,
) -> None:  # fmt: skip
    for item in range(begin, end):
        row, wanted = rows[item], positions[indices[item]]
        first = last = stop = offsets[len(offsets) - 1]
        if row < len(offsets) - 1:
            first, last, stop = offsets[row], offsets[row + 1], offsets[row + 1]
        while first < last:
            middle = (first + last) // 2
            if positions[heads[middle]] < wanted:
                first = middle + 1
            else:
                last = middle
        firsts[item] = first
        while first < stop and heads[first] == indices[item]:
            first += 1
        counts[item] = first - firsts[item]


@njit(cache=True, nogil=True)
def _splice(
    heads: Array, weights: Array | None, indices: Array, puts: Array, put_weights: Array | None,
    firsts: Array, counts: Array, shifts: Array, begin: int, end: int, new_heads: Array, new_weights: Array | None,
) -> None:  # fmt: skip
    """Copy arcs `begin..end-1` that stay, and put those whose place is there; place A is behind the last of A arcs."""
    change, arc, shift = np.searchsorted(firsts, begin), begin, 0
    if change:
        arc, shift = max(begin, firsts[change - 1] + counts[change - 1]), shifts[change - 1]
    while True:
        here = change < len(firsts) and firsts[change] < end
        stop = firsts[change] if here else min(end, len(heads))
        for place in range(arc, stop):
            new_heads[place + shift] = heads[place]
            if weights is not None:
                new_weights[place + shift] = weights[place]
        if not here:
            break
        if puts[change]:
            new_heads[stop + shift] = indices[change]
            if weights is not None:
                new_weights[stop + shift] = put_weights[change]
        arc, shift = stop + counts[change], shifts[change]
        change += 1


@njit(cache=True, nogil=True)
def _shift_offsets(offsets: Array, rows: Array, shifts: Array, begin: int, end: int, new_offsets: Array) -> None:
    change, last = np.searchsorted(rows, begin), len(offsets) - 1
    for row in range(begin, end):
        while change < len(rows) and rows[change] < row:
            change += 1
        new_offsets[row] = offsets[min(row, last)] + (shifts[change - 1] if change else 0)
