"""Other triangles on all cores: the later neighbours of a row are marked, and the lists of the earlier ones searched for them."""

from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.atomics import add as add_to
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges_of_rows, running_sums
from kernels.cpu.spare import Spare
from kernels.graph import Array
from kernels.triangles.certificate.order import SideLists
from kernels.triangles.constants import MOST_HUBS


class MarkedPlaces(NamedTuple):
    """The later neighbours of a row, as bits by their places."""

    joined: Array  # uint64 [n / 64]
    mutual: Array  # uint64: where arcs lead both ways; empty if all count alike


def add(earlier: SideLists, later: SideLists, lists: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles`."""
    sides = [_read(side) for side in (earlier, later, lists)]
    words = (len(sums) >> 6) + 1
    marks = Spare(lambda: MarkedPlaces(np.zeros(words, np.uint64), np.zeros(words if len(later.arcs) else 0, np.uint64)))
    last = min(len(sums), MOST_HUBS)  # places, at which most triangles end: each part has sums of its own for these

    def of_part(part: tuple[int, int]) -> tuple[Array, int, int]:
        own = marks.take()
        counts: tuple[Array, int, int] = _add(*sides, part, own, last, sums)
        marks.release(own)
        return counts

    matches = over_items(ranges_of_rows(running_sums((earlier.ends - earlier.begins)[:first_hub])), of_part)
    sums[len(sums) - last :] += sum(of_last for of_last, *_ in matches)
    return sum(triangles for _, triangles, _ in matches), sum(total for *_, total in matches)


def _read(side: SideLists) -> SideLists:
    return SideLists(frozen(side.begins), frozen(side.ends), unsigned(side.places), frozen(side.arcs))


@njit(cache=True, nogil=True)
def _add(
    earlier: SideLists, later: SideLists, lists: SideLists, part: tuple[int, int], marks: MarkedPlaces, last: int, sums: Array
) -> tuple[Array, int, int]:  # fmt: skip
    """Add the triangles whose second corners are some places; the last sums are returned."""
    triangles = total = 0
    matches, of_last, first_of_last = np.empty(_longest(lists), np.int64), np.zeros(last, np.int64), len(sums) - last
    for second in range(part[0], part[1]):
        if later.begins[second] == later.ends[second] or earlier.begins[second] == earlier.ends[second]:
            continue
        _mark_list(later, second, marks)
        own = 0
        for entry in range(earlier.begins[second], earlier.ends[second]):
            first = earlier.places[entry]
            here = _find(lists, first, second, marks.joined, matches)
            arcs, of_first, of_second = 1, here, here
            if len(marks.mutual):
                arcs = int(earlier.arcs[entry])
                for match in range(here):
                    of_first += _is_marked(marks.mutual, lists.places[matches[match]])
                    of_second += lists.arcs[matches[match]] - 1
            for match in range(here):
                third = lists.places[matches[match]]
                if third >= first_of_last:
                    of_last[third - first_of_last] += arcs
                else:
                    add_to(sums, third, arcs)
            if here:
                add_to(sums, first, of_first)
                own += of_second
                triangles += here
                total += here * arcs + of_first + of_second
        if own:
            add_to(sums, second, own)
        _clear_list(later, second, marks)
    return of_last, triangles, total


@njit(cache=True, nogil=True)
def _longest(lists: SideLists) -> int:
    longest = 0
    for place in range(len(lists.begins)):
        longest = max(longest, lists.ends[place] - lists.begins[place])
    return longest


@njit(cache=True, nogil=True)
def _mark_list(later: SideLists, second: int, marks: MarkedPlaces) -> None:
    for entry in range(later.begins[second], later.ends[second]):
        _mark(marks.joined, later.places[entry])
        if len(marks.mutual) and later.arcs[entry] == 2:
            _mark(marks.mutual, later.places[entry])


@njit(cache=True, nogil=True)
def _clear_list(later: SideLists, second: int, marks: MarkedPlaces) -> None:
    for entry in range(later.begins[second], later.ends[second]):
        marks.joined[later.places[entry] >> 6] = 0
        if len(marks.mutual):
            marks.mutual[later.places[entry] >> 6] = 0


@njit(cache=True, **UNCOUNTED)
def _mark(bits: Array, place: int) -> None:
    bits[place >> np.uint32(6)] |= np.uint64(1) << np.uint64(place & np.uint32(63))


@njit(cache=True, **UNCOUNTED)
def _is_marked(bits: Array, place: int) -> Any:
    return np.int64((bits[place >> np.uint32(6)] >> np.uint64(place & np.uint32(63))) & np.uint64(1))


@njit(cache=True, **UNCOUNTED)
def _find(lists: SideLists, first: int, second: int, marked: Array, matches: Array) -> int:
    """Write the numbers of the marked entries of a list behind `second`; return how many there are.

    It does not branch by the entries: most are not marked, and a processor would guess wrongly which.
    """
    count = 0
    for number in range(lists.ends[first] - 1, lists.begins[first] - 1, -1):
        third = lists.places[number]
        if third <= second:
            break
        matches[count] = number
        count += _is_marked(marked, third)
    return count
