"""Dijkstra's search for witnesses, of limited size, for compiled loops.

A table holds the vertices that a search has reached (open addressing): their numbers, their lengths, and the lengths of the paths
through contracted vertices that witnesses undercut.
"""

from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.hierarchy.constants import HEAP

_HASH = 0x9E3779B1


@njit(cache=True, nogil=True)
def slot(keys: Array, key: int) -> int:
    """The place of `key` in a table, or the empty place where it belongs."""
    mask = len(keys) - 1
    place = (key * _HASH >> 7) & mask
    while keys[place] >= 0 and keys[place] != key:
        place = (place + 1) & mask
    return place


@njit(cache=True, nogil=True)
def _push(heap: Any, size: int, length: Any, slot: int) -> int:
    lengths, slots = heap
    place = size
    while place:
        above = (place - 1) >> 1
        if lengths[above] <= length:
            break
        lengths[place], slots[place] = lengths[above], slots[above]
        place = above
    lengths[place], slots[place] = length, slot
    return size + 1


@njit(cache=True, nogil=True)
def _pop(heap: Any, size: int) -> int:
    """Remove the first entry, which stays readable at the place behind the last one."""
    lengths, slots = heap
    size -= 1
    first, first_slot = lengths[0], slots[0]
    length, slot = lengths[size], slots[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and lengths[below + 1] < lengths[below]:
            below += 1
        if lengths[below] >= length:
            break
        lengths[place], slots[place] = lengths[below], slots[below]
        place = below
    lengths[place], slots[place] = length, slot
    lengths[size], slots[size] = first, first_slot
    return size


@njit(cache=True, nogil=True)
def tables(size: int, weights: Array) -> Any:
    """A table of at least `size` entries: vertices, lengths, lengths through chosen vertices, these; its used places; a heap."""
    places = 64
    while places < 2 * size:
        places *= 2
    table = np.full(places, -1, np.int32), np.empty(places, weights.dtype), np.empty(places, weights.dtype)
    heap = np.empty(HEAP * size, weights.dtype), np.empty(HEAP * size, np.int32)
    return table, np.empty(size, np.int32), np.empty(places, np.int32), heap


@njit(cache=True, nogil=True)
def enter(table: Any, used: Array, count: int, key: int, far: Any) -> Any:
    """The place of a vertex, which is entered if it is new, and the number of entries."""
    keys, lengths, through = table
    place = slot(keys, key)
    if keys[place] < 0:
        keys[place], lengths[place], through[place], used[count] = key, far, far, place
        count += 1
    return place, count


@njit(cache=True, nogil=True)
def witnesses(
    offsets: Array, heads: Array, weights: Array, chosen: Array, avoid: int, settle: int, most: int, far: Any,
    table: Any, used: Array, count: int, heap: Any,
) -> int:  # fmt: skip
    """Search from a vertex whose arcs are entered, past chosen vertices and `avoid`; return the number of entries.

    It ends when witnesses undercut all paths through chosen vertices, or none can, or `settle` vertices are settled. It reaches
    no more than `most` vertices.
    """
    keys, lengths, through = table
    bound, size, pending = lengths.dtype.type(0), 0, 0
    for entry in range(count):
        if through[used[entry]] < lengths[used[entry]]:
            bound = max(bound, through[used[entry]])
            pending += 1
    for entry in range(count):
        if lengths[used[entry]] <= bound:
            size = _push(heap, size, lengths[used[entry]], used[entry])
    while size and settle and pending:
        size = _pop(heap, size)
        length, near = heap[0][size], keys[heap[1][size]]
        if length > lengths[heap[1][size]]:
            continue
        settle -= 1
        for arc in range(offsets[near], offsets[near + 1]):
            head, total = heads[arc], length + weights[arc]
            if total > bound or chosen[head] or head == avoid:
                continue
            place = slot(keys, head)
            if keys[place] < 0 and count < most:
                place, count = enter(table, used, count, head, far)
            if keys[place] == head and total < lengths[place] and size < HEAP * most:
                pending -= total <= through[place] < lengths[place]
                lengths[place] = total
                size = _push(heap, size, total, place)
    return count
