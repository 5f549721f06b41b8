"""A round of contraction on all cores: the chosen vertices, and the rows that remain, with shortcuts.

Every row is a function of the previous round, so the result does not depend on the number of cores.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.graph import Array
from kernels.hierarchy.constants import ENTRIES
from kernels.hierarchy.core import Core, CoreArcs
from kernels.hierarchy.witnesses import enter, slot, tables, witnesses


def choose(core: Core, keys: Array) -> tuple[Array, Array, Array]:
    """Whether each vertex has a smaller key than all neighbours, and whether it has such neighbours (bool [n]); its new level."""
    chosen, touched, levels = np.empty(core.size, np.bool_), np.zeros(core.size, np.bool_), core.levels.copy()
    parts = ranges_of_rows(core.out.offsets)
    sides = core.out[:2], core.into[:2]
    over_items(parts, lambda rows: _choose(*sides, keys, chosen, *rows))
    over_items(parts, lambda rows: _raise(*sides, chosen, core.levels, touched, levels, *rows))
    return chosen, touched, levels


def contract(core: Core, chosen: Array, settle: int) -> CoreArcs:
    """The out-arcs between the vertices that remain, which keep their numbers, with shortcuts."""
    parts = ranges_of_rows(core.out.offsets)
    starts = np.zeros(core.size + 1, np.int64)
    over_items(parts, lambda rows: _most(*core.out[:2], chosen, starts, *rows))
    np.cumsum(starts, out=starts)
    size = int(starts[-1])
    side = CoreArcs(
        starts, np.empty(size, core.out.heads.dtype), np.empty(size, core.out.weights.dtype), np.empty(size, np.int64)
    )
    counts = np.zeros(core.size, np.int64)
    over_items(parts, lambda rows: _contract(*core.out, core.rows, chosen, settle, core.far, *side, counts, *rows))
    kept = counts
    if core.symmetric:
        mirrored = np.zeros(size, np.bool_)
        kept = np.zeros(core.size, np.int64)
        over_items(parts, lambda rows: _mirror(starts, side.heads, counts, mirrored, kept, *rows))
    else:
        mirrored = np.empty(0, np.bool_)
    offsets = np.zeros(core.size + 1, np.int64)
    np.cumsum(kept, out=offsets[1:])
    made = CoreArcs(offsets, *(np.empty(offsets[-1], array.dtype) for array in side[1:]))
    over_items(parts, lambda rows: _compress(*side, counts, mirrored, *made, *rows))
    return made


@njit(cache=True, **UNCOUNTED)
def _choose(out: Any, into: Any, keys: Array, chosen: Array, begin: int, end: int) -> None:
    for row in range(begin, end):
        least = True
        for offsets, heads in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                least &= keys[heads[arc]] > keys[row]
        chosen[row] = least


@njit(cache=True, **UNCOUNTED)
def _raise(out: Any, into: Any, chosen: Array, old: Array, touched: Array, levels: Array, begin: int, end: int) -> None:
    """Put every vertex above its chosen neighbours."""
    for row in range(begin, end):
        for offsets, heads in (out, into):
            for arc in range(offsets[row], offsets[row + 1]):
                if chosen[heads[arc]]:
                    touched[row] = True
                    levels[row] = max(levels[row], old[heads[arc]] + 1)


@njit(cache=True, **UNCOUNTED)
def _most(offsets: Array, heads: Array, chosen: Array, most: Array, begin: int, end: int) -> None:
    """How many arcs each row has at most after the round: entry row + 1 of `most`."""
    for row in range(begin, end):
        count = 0
        if not chosen[row]:
            for arc in range(offsets[row], offsets[row + 1]):
                head = heads[arc]
                count += offsets[head + 1] - offsets[head] if chosen[head] else 1
        most[row + 1] = count


@njit(cache=True, nogil=True)
def _contract(
    offsets: Array, heads: Array, weights: Array, via: Array, rows: Array, chosen: Array, settle: int, far: Any,
    starts: Array, new_heads: Array, new_weights: Array, new_via: Array, counts: Array, begin: int, end: int,
) -> None:  # fmt: skip
    most = 0
    for row in range(begin, end):
        most = max(most, starts[row + 1] - starts[row])
    core, made = (offsets, heads, weights, via), (starts, new_heads, new_weights, new_via)
    _contract_rows(core, rows, chosen, settle, far, made, counts, (begin, end), tables(most + ENTRIES * settle, weights))


@njit(cache=True, **UNCOUNTED)
def _contract_rows(
    core: Any, rows: Array, chosen: Array, settle: int, far: Any, new: Any, counts: Array, part: Any, arrays: Any
) -> None:  # fmt: skip
    (offsets, heads, weights, via), (starts, new_heads, new_weights, new_via), (begin, end) = core, new, part
    table, used, middles, heap = arrays
    keys, lengths, through = table
    for row in range(begin, end):
        made = starts[row]
        count = 0 if chosen[row] else _enter_paths(offsets, heads, weights, chosen, row, far, table, used, middles)
        if count:
            most = count + ENTRIES * settle
            count = witnesses(offsets, heads, weights, chosen, row, settle, most, far, table, used, count, heap)
        for arc in range(offsets[row], offsets[row + 1]):
            if chosen[row] or chosen[heads[arc]]:
                continue
            place = slot(keys, heads[arc])
            if keys[place] < 0 or (lengths[place] == weights[arc] and through[place] >= weights[arc]):
                new_heads[made], new_weights[made], new_via[made] = heads[arc], weights[arc], via[arc]
                made += 1
        for entry in range(count):
            place = used[entry]
            if through[place] < lengths[place]:
                middle = rows[middles[place]]
                new_heads[made], new_weights[made], new_via[made] = keys[place], through[place], ~np.int64(middle)
                made += 1
            keys[place] = -1
        counts[row] = made - starts[row]


@njit(cache=True, **UNCOUNTED)
def _enter_paths(
    offsets: Array, heads: Array, weights: Array, chosen: Array, row: int, far: Any, table: Any, used: Array, middles: Array
) -> int:  # fmt: skip
    """Enter the arcs of a row and its paths through chosen vertices; return the number of entries: none without such paths."""
    _, lengths, through = table
    count = 0
    for arc in range(offsets[row], offsets[row + 1]):
        middle = heads[arc]
        if not chosen[middle]:
            continue
        for beyond in range(offsets[middle], offsets[middle + 1]):
            total = weights[arc] + weights[beyond]
            if heads[beyond] != row and total < far:
                place, count = enter(table, used, count, heads[beyond], far)
                if total < through[place] or (total == through[place] and middle < middles[place]):
                    through[place], middles[place] = total, middle
    if count:
        for arc in range(offsets[row], offsets[row + 1]):
            if not chosen[heads[arc]]:
                place, count = enter(table, used, count, heads[arc], far)
                lengths[place] = weights[arc]
    return count


@njit(cache=True, **UNCOUNTED)
def _mirror(starts: Array, heads: Array, counts: Array, mirrored: Array, kept: Array, begin: int, end: int) -> None:
    """Whether the other end of each arc has kept it, too: a witness from one side is one from the other."""
    for row in range(begin, end):
        for arc in range(starts[row], starts[row] + counts[row]):
            head = heads[arc]
            for back in range(starts[head], starts[head] + counts[head]):
                if heads[back] == row:
                    mirrored[arc] = True
                    kept[row] += 1
                    break


@njit(cache=True, **UNCOUNTED)
def _compress(
    starts: Array, heads: Array, weights: Array, via: Array, counts: Array, mirrored: Array, offsets: Array, new_heads: Array,
    new_weights: Array, new_via: Array, begin: int, end: int,
) -> None:  # fmt: skip
    for row in range(begin, end):
        made = offsets[row]
        for arc in range(starts[row], starts[row] + counts[row]):
            if len(mirrored) == 0 or mirrored[arc]:
                new_heads[made], new_weights[made], new_via[made] = heads[arc], weights[arc], via[arc]
                made += 1


@njit(cache=True, nogil=True)
def in_preorder(above: Array) -> Array:
    """The place of each vertex of a forest in preorder (int64 [V]); parents `above` have smaller numbers, and roots -1."""
    sizes = np.ones(len(above), np.int64)
    for vertex in range(len(above) - 1, -1, -1):
        if above[vertex] >= 0:
            sizes[above[vertex]] += sizes[vertex]
    places, free, roots = np.empty(len(above), np.int64), np.empty(len(above), np.int64), 0
    for vertex in range(len(above)):
        if above[vertex] >= 0:
            places[vertex] = free[above[vertex]]
            free[above[vertex]] += sizes[vertex]
        else:
            places[vertex] = roots
            roots += sizes[vertex]
        free[vertex] = places[vertex] + 1
    return places
