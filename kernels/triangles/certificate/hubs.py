"""Triangles with two or three hubs on all cores: neighbours that two hubs have in common are counted a word of bits at a time.

The bits that a row and one of its hubs have in common are the hubs that close a triangle with both. So a triangle of a row and
two hubs is found twice, once from each of them, and one of three hubs once from each of its edges.
"""

from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.bits import count_bits
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges, ranges_of_rows, running_sums
from kernels.graph import Array
from kernels.triangles.certificate.order import SideLists

_TEST = 16  # words that are counted in the time in which a bit is tested
_CALL = 64  # words that are counted in the time in which the count of a row of bits begins


class HubBits(NamedTuple):
    """Which hubs are neighbours: a row of bits for each hub."""

    first: int  # the place of the first hub
    words: int  # of a row
    joined: Array  # uint64 [hubs * words]
    mutual: Array  # uint64: where arcs lead both ways; empty if all count alike


class PartCounts(NamedTuple):
    """What a part of the rows adds."""

    once: Array  # int64 [hubs]: to the sums of hubs
    twice: Array  # int64 [hubs]: the same, where each triangle is found twice at each corner
    triangles: int
    thrice: int  # the triangles that are found three times
    total: int


def add(earlier: SideLists, later: SideLists, first_hub: int, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles_of_hubs`."""
    hubs = len(sums) - first_hub
    words = (hubs + 63) // 64
    size = hubs * words
    bits = HubBits(first_hub, words, np.zeros(size, np.uint64), np.zeros(size if len(later.arcs) else 0, np.uint64))
    sides = SideLists(*map(frozen, earlier)), SideLists(*map(frozen, later))
    over_items(ranges(hubs, size), lambda part: _set_bits(*sides, bits, part))
    parts = ranges_of_rows(running_sums(later.ends - later.begins))
    counted = [PartCounts(*counts) for counts in over_items(parts, lambda part: _add(sides[1], bits, part, sums))]
    sums[first_hub:] += sum(part.once for part in counted) + sum(part.twice for part in counted) // 2
    triangles = sum(part.triangles for part in counted) + sum(part.thrice for part in counted) // 3
    return triangles, sum(part.total for part in counted)


@njit(cache=True, nogil=True)
def _set_bits(earlier: SideLists, later: SideLists, bits: HubBits, part: tuple[int, int]) -> None:
    """Set the bits of some hubs."""
    for hub in range(part[0], part[1]):
        for side in (earlier, later):
            for entry in range(side.begins[bits.first + hub], side.ends[bits.first + hub]):
                other = side.places[entry] - bits.first
                if other >= 0:
                    _set(bits.joined, hub * bits.words, other)
                    if len(bits.mutual) and side.arcs[entry] == 2:
                        _set(bits.mutual, hub * bits.words, other)


@njit(cache=True, **UNCOUNTED)
def _set(row: Array, begin: int, bit: int) -> None:
    row[begin + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)


@njit(cache=True, **UNCOUNTED)
def _is_set(row: Array, begin: int, bit: int) -> Any:
    return np.int64(row[np.uint64(begin + (bit >> 6))] >> np.uint64(bit & 63)) & 1


@njit(cache=True, **UNCOUNTED)
def _common(one: Array, begin: int, other: Array, other_begin: int, words: int) -> int:
    """The number of bits that are set in two rows of bits."""
    count: int = 0
    mine, theirs = np.uint64(begin), np.uint64(other_begin)
    for word in range(np.uint64(words)):
        count += count_bits(one[mine + word] & other[theirs + word])
    return count


@njit(cache=True, nogil=True)
def _add(later: SideLists, bits: HubBits, part: tuple[int, int], sums: Array) -> tuple[Array, Array, int, int, int]:
    """Find the triangles of some places with later hubs."""
    hubs, weighted = len(later.begins) - bits.first, len(bits.mutual) > 0
    once, twice = np.zeros(hubs, np.int64), np.zeros(hubs, np.int64)
    triangles = thrice = total = 0
    joined, mutual = np.zeros(bits.words, np.uint64), np.zeros(bits.words if weighted else 0, np.uint64)
    for place in range(part[0], part[1]):
        begin, end = _first_at_least(later, place, bits.first), later.ends[place]
        if place >= bits.first:
            own = place - bits.first
            counts = _edges_to_hubs(later, begin, end, bits, bits.joined, bits.mutual, own * bits.words, twice)
            thrice += counts[0]
            twice[own] += counts[1]
            total += counts[2]
        elif (end - begin - 1) * _TEST < 2 * (bits.words + _CALL):
            counts = _pairs_of_hubs(later, begin, end, bits, once)
            triangles += counts[0]
            sums[place] += counts[1]
            total += counts[2]
        else:
            for entry in range(begin, end):
                _set(joined, 0, later.places[entry] - bits.first)
                if weighted and later.arcs[entry] == 2:
                    _set(mutual, 0, later.places[entry] - bits.first)
            counts = _edges_to_hubs(later, begin, end, bits, joined, mutual, 0, once)
            joined[:], mutual[:] = 0, 0
            triangles += counts[0] // 2
            sums[place] += counts[1] // 2
            total += counts[2] + counts[1] // 2
    return once, twice, triangles, thrice, total


@njit(cache=True, **UNCOUNTED)
def _first_at_least(later: SideLists, place: int, least: int) -> int:
    """The first entry of a list that is not less."""
    begin: int = later.begins[place]
    end = later.ends[place]
    while begin < end:
        middle = (begin + end) >> 1
        if later.places[middle] < least:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True, nogil=True)
def _edges_to_hubs(
    later: SideLists, begin: int, end: int, bits: HubBits, joined: Array, mutual: Array, own: int, of_hubs: Array
) -> tuple[int, int, int]:  # fmt: skip
    """Count the triangles with a row, whose bits begin at `own`, and each of some later hubs, to whose sums they are added.

    Returns:
        Their number, what they add for the row, and the arcs of the edges from the row to these hubs, each as often as triangles
        have it.
    """
    count = of_row = of_edges = 0
    for entry in range(begin, end):
        hub = later.places[entry] - bits.first
        closed = _common(joined, own, bits.joined, hub * bits.words, bits.words)
        count += closed
        if len(bits.mutual):
            of_row += closed + _common(joined, own, bits.mutual, hub * bits.words, bits.words)
            of_hubs[hub] += closed + _common(mutual, own, bits.joined, hub * bits.words, bits.words)
            of_edges += closed * later.arcs[entry]
        else:
            of_row += closed
            of_hubs[hub] += closed
            of_edges += closed
    return count, of_row, of_edges


@njit(cache=True, nogil=True)
def _pairs_of_hubs(later: SideLists, begin: int, end: int, bits: HubBits, of_hubs: Array) -> tuple[int, int, int]:
    """As `_edges_to_hubs` for a row of few hubs, whose pairs are looked up; the third number is that of all edges."""
    count = of_row = of_edges = 0
    for entry in range(begin + 1, end):
        hub = later.places[entry] - bits.first
        for before in range(begin, entry):
            other = later.places[before] - bits.first
            if _is_set(bits.joined, hub * bits.words, other):
                arcs, of_hub, of_other = 1, 1, 1
                if len(bits.mutual):
                    arcs += _is_set(bits.mutual, hub * bits.words, other)
                    of_hub, of_other = int(later.arcs[before]), int(later.arcs[entry])
                count += 1
                of_row += arcs
                of_hubs[hub] += of_hub
                of_hubs[other] += of_other
                of_edges += arcs + of_hub + of_other
    return count, of_row, of_edges
