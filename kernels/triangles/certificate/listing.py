"""The lists of neighbours on all cores: each row's arcs are read once, and written as earlier neighbours and later ones."""

from collections.abc import Sequence

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges_of_rows, running_sums
from kernels.graph import Array, Csr
from kernels.triangles.certificate.order import Order, SideLists, numbers_of_arcs

Arcs = tuple[Array, Array]  # offsets and indices


def list_neighbours(sides: Sequence[Csr], order: Order, first_hub: int, weighted: bool) -> tuple[SideLists, SideLists]:
    """As `neighbourhoods.divided`. Of the places of a row the first are its earlier neighbours, and the last its later ones."""
    bounds = running_sums(numbers_of_arcs(sides)[order.rows])
    ends, begins = bounds[:-1].copy(), bounds[1:].copy()
    places = np.zeros(int(bounds[-1]), order.places.dtype)
    arcs = np.zeros(len(places) if weighted else 0, np.uint8)
    each = tuple((frozen(side.offsets), frozen(side.indices)) for side in sides)
    read = each[0], each[-1], len(each) > 1, frozen(order.rows), frozen(order.places), first_hub
    over_items(ranges_of_rows(sides[0].offsets), lambda part: _list(*read, part, ends, begins, places, arcs))
    return SideLists(bounds[:-1], ends, places, arcs), SideLists(begins, bounds[1:], places, arcs)


@njit(cache=True, nogil=True)
def _list(
    out: Arcs, into: Arcs, two_sides: bool, rows: Array, order: Array, first_hub: int, part: tuple[int, int],
    ends: Array, begins: Array, places: Array, arcs: Array,
) -> None:  # fmt: skip
    """Write the neighbours of some places; `ends` move behind the earlier ones, and `begins` to the later ones."""
    longest = 0
    for row in range(part[0], part[1]):
        longest = max(longest, out[0][row + 1] - out[0][row] + into[0][row + 1] - into[0][row])
    keys = np.empty(longest, np.int64)  # 2 * place + 1 if, at first, it is an in-arc, and then if arcs lead both ways
    for row in range(part[0], part[1]):
        place = order[row]
        count = _append(out, row, order, 0, keys, 0)
        if two_sides:
            count = _paired(keys, _append(into, row, order, 1, keys, count))
        end, begin, kept = ends[place], begins[place], 0
        for number in range(count):  # without branches, of which half would be guessed wrongly: there is space for each key
            key = keys[number]
            head = key >> 1
            places[end], places[begin - 1], keys[kept] = head, head, key
            if len(arcs):
                arcs[end] = arcs[begin - 1] = 1 + (key & 1)
            end += head < place
            begin -= head > place and head >= first_hub
            kept += place < head < first_hub
        if kept > 1 and not two_sides:
            keys[:kept].sort()
        begin -= kept
        for number in range(kept):
            places[begin + number] = keys[number] >> 1
            if len(arcs):
                arcs[begin + number] = 1 + (keys[number] & 1)
        ends[place], begins[place] = end, begin


@njit(cache=True, nogil=True)
def _append(side: Arcs, row: int, order: Array, bit: int, keys: Array, count: int) -> int:
    """Append a key for each neighbour on one side, where a row's arcs to it follow each other; return the number of keys."""
    last = row
    for head in side[1][side[0][row] : side[0][row + 1]]:
        if head not in (row, last):
            keys[count] = 2 * np.int64(order[head]) + bit
            last = head
            count += 1
    return count


@njit(cache=True, nogil=True)
def _paired(keys: Array, count: int) -> int:
    """Replace the keys of both sides by one for each neighbour, ascending; return their number."""
    keys[:count].sort()
    kept = 0
    for number in range(count):
        if kept and keys[kept - 1] >> 1 == keys[number] >> 1:
            keys[kept - 1] |= 1
        else:
            keys[kept] = keys[number] & ~1
            kept += 1
    return kept
