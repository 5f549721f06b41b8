"""Dijkstra's search for witnesses, of limited size, for compiled loops.

A table holds the vertices that a search has reached (open addressing): their numbers, their lengths, and the lengths of the paths
through contracted vertices that witnesses undercut.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.graph import Array

_HASH = 0x9E3779B1


@njit(cache=True, **UNCOUNTED)
def slot(keys: Array, key: int) -> int:
    """The place of `key` in a table, or the empty place where it belongs."""
    mask = len(keys) - 1
    place = (key * _HASH >> 7) & mask
    while keys[place] >= 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@njit(cache=True, **UNCOUNTED)
def raise_entry(table: Any, heap: Any, spot: int) -> None:
    """Move an entry of a heap up to where it belongs."""
    keys, lengths, _ = table
    places, spots = heap
    place = places[spot]
    while spot:
        above = places[(spot - 1) >> 1]
        if lengths[above] < lengths[place] or (lengths[above] == lengths[place] and keys[above] < keys[place]):
            break
        places[spot], spots[above] = above, spot
        spot = (spot - 1) >> 1
    places[spot], spots[place] = place, spot


@njit(cache=True, **UNCOUNTED)
def pop(table: Any, heap: Any, size: int) -> int:
    """Remove the first entry, and return its place; `size` is the number of those that stay."""
    keys, lengths, _ = table
    places, spots = heap
    first, place, spot, below = places[0], places[size], 0, 1
    while below < size:
        near, other = places[below], places[min(below + 1, size - 1)]
        if lengths[other] < lengths[near] or (lengths[other] == lengths[near] and keys[other] < keys[near]):
            near, below = other, below + 1
        if lengths[place] < lengths[near] or (lengths[place] == lengths[near] and keys[place] < keys[near]):
            break
        places[spot], spots[near] = near, spot
        spot, below = below, 2 * below + 1
    places[spot], spots[place] = place, spot
    spots[first] = -1
    return int(first)


@njit(cache=True, nogil=True)
def tables(size: int, weights: Array) -> Any:
    """A table of at least `size` entries: vertices, lengths, lengths through chosen vertices, these; its used places; a heap.

    The heap has places of the table, and the table's places their spots in the heap, or -1.
    """
    places = 64
    while places < 2 * size:
        places *= 2
    table = np.full(places, -1, np.int32), np.empty(places, weights.dtype), np.empty(places, weights.dtype)
    heap = np.empty(size, np.int32), np.full(places, -1, np.int32)
    return table, np.empty(size, np.int32), np.empty(places, np.int32), heap


@njit(cache=True, **UNCOUNTED)
def enter(table: Any, used: Array, count: int, key: int, far: Any) -> Any:
    """The place of a vertex, which is entered if it is new, and the number of entries."""
    keys, lengths, through = table
    place = slot(keys, key)
    if keys[place] < 0:
        keys[place], lengths[place], through[place], used[count] = key, far, far, place
        count += 1
    return place, count


@njit(cache=True, **UNCOUNTED)
def witnesses(
    offsets: Array, heads: Array, weights: Array, chosen: Array, avoid: int, settle: int, most: int, far: Any,
    table: Any, used: Array, count: int, heap: Any,
) -> int:  # fmt: skip
    """Search from a vertex whose arcs are entered, past chosen vertices and `avoid`; return the number of entries.

    The nearest vertex is settled next, of equally near ones that of the smallest number. The search ends when witnesses undercut
    all paths through chosen vertices, or none can, or `settle` vertices are settled. It reaches no more than `most` vertices.
    """
    keys, lengths, through = table
    places, spots = heap
    bound, size, pending = lengths.dtype.type(0), 0, 0
    for entry in range(count):
        if through[used[entry]] < lengths[used[entry]]:
            bound = max(bound, through[used[entry]])
            pending += 1
    for entry in range(count):
        if lengths[used[entry]] <= bound:
            places[size] = used[entry]
            raise_entry(table, heap, size)
            size += 1
    while size and settle and pending:
        size -= 1
        settled = pop(table, heap, size)
        length, near = lengths[settled], keys[settled]
        settle -= 1
        for arc in range(offsets[near], offsets[near + 1]):
            head, total = heads[arc], length + weights[arc]
            if total > bound or chosen[head] or head == avoid:
                continue
            place = slot(keys, head)
            if keys[place] < 0 and count < most:
                place, count = enter(table, used, count, head, far)
            if keys[place] == head and total < lengths[place]:
                pending -= total <= through[place] < lengths[place]
                lengths[place] = total
                spot = spots[place]
                if spot < 0:
                    spot = size
                    places[spot] = place
                    size += 1
                raise_entry(table, heap, spot)
    for spot in range(size):
        spots[places[spot]] = -1
    return count
