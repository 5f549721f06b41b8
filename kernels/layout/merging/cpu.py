"""Merging of changes on all cores."""

from typing import Any

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.merging.changes import DELETE, INSERT, KIND, UPDATE, Changes


def sort_by_arc(rows: Array, ranks: Array, kinds: Array) -> tuple[Array, Array, Array, Array]:
    """Rows, ranks and kinds sorted by (row, rank, kind), stable, and the permutation."""
    order = np.lexsort((kinds, ranks, rows))
    return rows[order], ranks[order], kinds[order], order


def newest(rows: Array, indices: Array, puts: Array, weights: Array | None, positions: Array) -> tuple[Any, ...]:
    """Rows, neighbours, whether a pair has an arc, and weights of the last change of each pair, in the order of the pairs."""
    keys = rows.astype(np.int64) * len(positions) + positions[indices]
    order = np.argsort(keys, kind="stable")
    stays = np.ones_like(keys, np.bool_)
    stays[:-1] = np.diff(keys[order]) != 0
    order = order[stays]
    return rows[order], indices[order], puts[order], None if weights is None else weights[order]


def effective(
    csr: Csr, rows: Array, indices: Array, puts: Array, weights: Array | None, positions: Array
) -> tuple[Changes, Array, Array]:
    """The changes of pairs that do something, their places, and how many arcs the changes before each one add."""
    places, exist = np.empty(len(rows), OFFSET), np.empty(len(rows), np.bool_)
    search(csr, Changes(rows, indices, np.full_like(rows, DELETE, KIND), None, rows), positions, places, exist)
    kinds = np.where(puts, np.where(exist, UPDATE, INSERT), DELETE).astype(KIND)
    changes = Changes(rows, indices, kinds, weights, rows)
    if not (does := puts | exist).all():
        kept = np.flatnonzero(does)
        changes, places = changes[kept], places[kept]
    return changes, places, np.concatenate([[0], np.cumsum(changes.kinds, dtype=OFFSET)])


def search(csr: Csr, changes: Changes, positions: Array | None, places: Array, exist: Array) -> None:
    """As `find_places`, into `places` and `exist`."""
    ranks = np.empty(0, csr.indices.dtype) if positions is None else positions
    arrays = [frozen(each) for each in (csr.offsets, csr.indices, ranks, changes.rows, changes.heads, changes.kinds)]
    over_items(ranges(len(changes)), lambda part: _search(*arrays, places, exist, *part))


@njit(cache=True, nogil=True)
def _search(
    offsets: Array, indices: Array, ranks: Array, rows: Array, heads: Array, kinds: Array, places: Array, exist: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    for change in range(begin, end):
        row, head, inserts = rows[change], heads[change], kinds[change] == INSERT
        first = last = offsets[-1]
        if row < len(offsets) - 1:
            first, last = offsets[row], offsets[row + 1]
        rank = ranks[head] if len(ranks) else head
        low, high = first, last
        while low < high:
            middle = (low + high) >> 1
            there = ranks[indices[middle]] if len(ranks) else indices[middle]
            if there < rank or (there == rank and inserts):
                low = middle + 1
            else:
                high = middle
        if inserts:
            exist[change] = low > first and indices[low - 1] == head
        else:
            same = change  # the k-th deletion of an arc takes the k-th of its parallel arcs
            while same > 0 and rows[same - 1] == row and heads[same - 1] == head and kinds[same - 1] == kinds[change]:
                same -= 1
            low = min(low + change - same, last)
            exist[change] = low < last and indices[low] == head
        places[change] = low


def shift_offsets(old: Array, rows: Array, before: Array, offsets: Array) -> None:
    """Add to each offset what the changes of lower rows add."""

    def of_range(part: tuple[int, int]) -> None:
        numbers = np.arange(*part)
        offsets[slice(*part)] = old[np.minimum(numbers, len(old) - 1)] + before[np.searchsorted(rows, numbers)]

    over_items(ranges(len(offsets)), of_range)


def move(csr: Csr, changes: Changes, places: Array, before: Array, made: Csr) -> None:
    """Write the arcs of `made`, whose arrays have the right lengths."""
    arcs, kinds = len(csr.indices), frozen(changes.kinds)
    columns: list[tuple[Any, Any, Any]] = [(csr.indices, changes.heads, made.indices)]
    if csr.weights is not None:
        columns.append((csr.weights, csr.weights[:0] if changes.weights is None else changes.weights, made.weights))

    def of_range(part: tuple[int, int]) -> None:
        first = int(np.searchsorted(places, part[0]))
        last = len(places) if part[1] == arcs else int(np.searchsorted(places, part[1]))
        for old, new, target in columns:
            words = [frozen(np.ascontiguousarray(each)).view(f"u{each.itemsize}") for each in (old, new)]
            _move(*words, kinds, places, before, target.view(f"u{target.itemsize}"), first, last, *part)

    over_items(ranges(arcs), of_range)


@njit(cache=True, nogil=True)
def _move(
    old: Array, new: Array, kinds: Array, places: Array, before: Array, target: Array, first: int, last: int, begin: int, end: int
) -> None:
    at = begin
    for change in range(first, last):
        place, shift = places[change], before[change]
        if at < place:
            target[at + shift : place + shift] = old[at:place]
            at = place
        if kinds[change] >= 0:
            target[place + shift] = new[change]
        if kinds[change] != INSERT:
            at = place + 1
    shift = before[last]
    target[at + shift : end + shift] = old[at:end]
