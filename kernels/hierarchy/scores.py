"""How many shortcuts the contraction of each vertex needs: one search from each row counts for all vertices behind its arcs.

Where the shortest path from a row to another vertex consists of two arcs, and no other path is as short, the vertex between them
needs a shortcut. A search settles few vertices. Then the paths through ends of the row's arcs that are not settled are compared
with what is known, and all that is not known counts.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from kernels.hierarchy.constants import ENTRIES, NONE, OWN
from kernels.hierarchy.core import Core
from kernels.hierarchy.witnesses import enter, pop, raise_entry, slot, tables


def count_shortcuts(core: Core, rows: Array, settle: int) -> Array:
    """How many shortcuts the contraction of each vertex needs (int64 [n]) between `rows` (int64 [r]) and others."""
    per_arc = np.zeros(len(core.out.heads), np.int64)
    work = len(rows) * settle * (1 + len(per_arc) // core.size)
    over_items(ranges(len(rows), work), lambda part: _count(*core.out[:3], rows, settle, core.far, per_arc, *part))
    counts = np.zeros(core.size, np.int64)
    np.add.at(counts, core.out.heads, per_arc)
    return counts


@njit(cache=True, nogil=True)
def _count(
    offsets: Array, heads: Array, weights: Array, rows: Array, settle: int, far: Any, per_arc: Array, begin: int, end: int
) -> None:  # fmt: skip
    most = 0
    for number in range(begin, end):
        most = max(most, offsets[rows[number] + 1] - offsets[rows[number]])
    _search(offsets, heads, weights, rows[begin:end], settle, far, per_arc, tables(most + ENTRIES * settle, weights))


@njit(cache=True, **UNCOUNTED)
def _search(
    offsets: Array, heads: Array, weights: Array, rows: Array, settle: int, far: Any, per_arc: Array, arrays: Any
) -> None:  # fmt: skip
    """Search from rows; `arrays` are `tables` for the largest of them."""
    table, used, begins, heap = arrays
    keys, lengths, _ = table
    places, spots = heap
    for row in rows:
        count, left = 0, settle
        arcs = offsets[row + 1] - offsets[row]
        counts = per_arc[offsets[row] : offsets[row + 1]]
        for arc in range(arcs):
            place, count = enter(table, used, count, heads[offsets[row] + arc], far)
            lengths[place], begins[place], places[arc] = weights[offsets[row] + arc], OWN - arc, place
            raise_entry(table, heap, arc)
        size = arcs
        limit = arcs + ENTRIES * settle
        while size and left:
            size, left = size - 1, left - 1
            near = pop(table, heap, size)
            count, size = _relax(offsets, heads, weights, row, near, limit, far, table, used, count, begins, heap, size, counts)
        for entry in range(arcs):
            if begins[used[entry]] <= OWN and spots[used[entry]] >= 0:
                count, size = _relax(
                    offsets, heads, weights, row, used[entry], 0, far, table, used, count, begins, heap, size, counts
                )
        for spot in range(size):
            spots[places[spot]] = -1
        for entry in range(count):
            if begins[used[entry]] >= 0:
                counts[begins[used[entry]]] += 1
            keys[used[entry]] = -1


@njit(cache=True, **UNCOUNTED)
def _relax(
    offsets: Array, heads: Array, weights: Array, row: int, place: int, limit: int, far: Any, table: Any, used: Array, count: int,
    begins: Array, heap: Any, size: int, counts: Array,
) -> Any:  # fmt: skip
    """Go on from an entry; the numbers of entries, at most `limit` with new ones, and of those in the heap."""
    keys, lengths, _ = table
    places, spots = heap
    near, length = keys[place], lengths[place]
    begun = OWN - begins[place] if begins[place] <= OWN else NONE
    for arc in range(offsets[near], offsets[near + 1]):
        head, total = heads[arc], length + weights[arc]
        if head == row or total >= far:
            continue
        at = slot(keys, head)
        if keys[at] < 0 and count >= limit:
            if begun >= 0:
                counts[begun] += 1
            continue
        if keys[at] < 0:
            at, count = enter(table, used, count, head, far)
        if total < lengths[at]:
            lengths[at], begins[at] = total, begun
            spot = spots[at]
            if spot < 0:
                spot, size = size, size + 1
                places[spot] = at
            raise_entry(table, heap, spot)
        elif total == lengths[at] and begins[at] >= 0:
            begins[at] = NONE
    return count, size
