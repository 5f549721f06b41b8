"""Triangles on all cores: a label's list is intersected with the lists of its entries.

With the list S of a label, the triangles of its entry S[k] are the entries before it that are in the list of S[k]. Lists of the
labels of most arcs, where most searches end, are also rows of bits. Other lists are merged, or searched if one is much longer.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.cpu.atomics import add
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items, running_sums, worth_threads
from kernels.graph import Array
from kernels.triangles.constants import BIT_ROWS, MUCH_LONGER
from kernels.triangles.lists import NeighbourLists, labelled, list_neighbours

__all__ = ["add_triangles", "labelled", "list_neighbours"]

_PARTS = 64  # of the work of a core


class BitRows(NamedTuple):
    """The lists of the first labels as bits: label l has `(l >> 6) + 1` words, behind those of smaller labels."""

    labels: int  # how many there are
    listed: Array  # uint64
    mutual: Array  # uint64: of the entries that are; empty if the lists have none


def add_triangles(lists: NeighbourLists, others: NeighbourLists, sums: Array) -> None:
    """Add to `sums`, int64 [n], those of triangles of a label, an entry of its list, and an entry of both lists.

    Args:
        others: The lists of the entries, as far as they are known; the others are empty. Both have `mutual`, or neither.
    """
    bits = _bit_rows(others)
    lengths = lists.ends - lists.begins
    work = running_sums(lengths * (lengths + 1))
    marks = np.linspace(0, int(work[-1]), cores() * _PARTS + 1 if worth_threads(int(work[-1])) else 2)
    cuts = np.searchsorted(work, marks).tolist()
    cuts[-1] = len(lengths)
    over_items(pairwise(cuts), lambda part: _add(lists, others, bits, part, sums))


def _bit_rows(lists: NeighbourLists) -> BitRows:
    labels = min(len(lists.begins), BIT_ROWS)
    words = _first_word(labels)
    bits = BitRows(labels, np.zeros(words, np.uint64), np.zeros(words if len(lists.mutual) else 0, np.uint64))
    _set_bits(lists, bits)
    return bits


@njit(cache=True, nogil=True)
def _first_word(label: int) -> int:
    """Where the words of a label begin."""
    group = label >> 6
    return 32 * group * (group + 1) + (label & 63) * (group + 1)


@njit(cache=True, nogil=True)
def _set_bits(lists: NeighbourLists, bits: BitRows) -> None:
    for label in range(bits.labels):
        first = _first_word(label)
        for entry in range(lists.begins[label], lists.ends[label]):
            head = lists.heads[entry]
            bit = np.uint64(1) << np.uint64(head & 63)
            bits.listed[first + (head >> 6)] |= bit
            if len(bits.mutual) and lists.mutual[entry]:
                bits.mutual[first + (head >> 6)] |= bit


@njit(cache=True, nogil=True)
def _add(lists: NeighbourLists, others: NeighbourLists, bits: BitRows, part: tuple[int, int], sums: Array) -> None:
    """Add the triangles of some labels."""
    longest = 0
    for label in range(part[0], part[1]):
        longest = max(longest, lists.ends[label] - lists.begins[label])
    counts = np.zeros(longest, np.int64)  # of each entry of a list; 0 again behind it
    common = np.empty((2, longest), np.int64)
    for label in range(part[0], part[1]):
        begin, length, own = lists.begins[label], lists.ends[label] - lists.begins[label], 0
        for number in range(1, length):
            second = lists.heads[begin + number]
            if others.begins[second] == others.ends[second]:
                continue
            if second < bits.labels:
                own += _add_by_bits(lists, bits, begin, number, counts)
            else:
                own += _add_by_lists(lists, others, begin, number, counts, common)
        if own:
            add(sums, label, own)
            for number in range(length):
                if counts[number]:
                    add(sums, lists.heads[begin + number], counts[number])
                    counts[number] = 0


@njit(cache=True, nogil=True)
def _add_by_bits(lists: NeighbourLists, bits: BitRows, begin: int, number: int, counts: Array) -> int:
    """Add to `counts` the triangles of an entry of a list and earlier ones; return the sum for the label of the list."""
    own = here = 0
    first = _first_word(lists.heads[begin + number])
    if not len(lists.mutual):
        for before in range(number):
            third = lists.heads[begin + before]
            bit = int((bits.listed[first + (third >> 6)] >> np.uint64(third & 63)) & np.uint64(1))
            counts[before] += bit
            here += bit
        counts[number] += here
        return here
    for before in range(number):
        third = lists.heads[begin + before]
        word, mask = first + (third >> 6), np.uint64(1) << np.uint64(third & 63)
        if bits.listed[word] & mask:
            own += 2 if bits.mutual[word] & mask else 1
            counts[before] += 1 + lists.mutual[begin + number]
            here += 1 + lists.mutual[begin + before]
    counts[number] += here
    return own


@njit(cache=True, nogil=True)
def _add_by_lists(
    lists: NeighbourLists, others: NeighbourLists, begin: int, number: int, counts: Array, common: Array
) -> int:  # fmt: skip
    """As `_add_by_bits`, by the list of the entry."""
    second = lists.heads[begin + number]
    first = others.begins[second]
    count: int = _common(lists.heads[begin : begin + number], others.heads[first : others.ends[second]], common)
    if not len(lists.mutual):
        for match in range(count):
            counts[common[0, match]] += 1
        counts[number] += count
        return count
    own = 0
    for match in range(count):
        before = common[0, match]
        own += 1 + int(others.mutual[first + common[1, match]])
        counts[before] += 1 + lists.mutual[begin + number]
        counts[number] += 1 + lists.mutual[begin + before]
    return own


@njit(cache=True, nogil=True)
def _common(one: Array, other: Array, places: Array) -> int:
    """Write the places of common entries of two ascending lists, and return their number."""
    count, mine, theirs = 0, 0, 0
    if len(one) * MUCH_LONGER < len(other):
        for mine in range(len(one)):
            theirs = _place(other, theirs, one[mine])
            if theirs < len(other) and other[theirs] == one[mine]:
                places[0, count], places[1, count] = mine, theirs
                count += 1
    elif len(other) * MUCH_LONGER < len(one):
        for theirs in range(len(other)):
            mine = _place(one, mine, other[theirs])
            if mine < len(one) and other[theirs] == one[mine]:
                places[0, count], places[1, count] = mine, theirs
                count += 1
    else:
        while mine < len(one) and theirs < len(other):
            first, second = one[mine], other[theirs]
            if first == second:
                places[0, count], places[1, count] = mine, theirs
                count += 1
            mine += first <= second
            theirs += second <= first
    return count


@njit(cache=True, nogil=True)
def _place(ascending: Array, begin: int, value: int) -> int:
    """The first place from `begin` on whose entry is not less than `value`."""
    end = len(ascending)
    while begin < end:
        middle = (begin + end) >> 1
        if ascending[middle] < value:
            begin = middle + 1
        else:
            end = middle
    return begin
