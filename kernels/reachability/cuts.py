"""What the labels of two nodes decide, read from one record a node so that a query touches two places of memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.answers import Labels
from kernels.graph import Array
from kernels.reachability import FILTER, POSITIVE_CUT, SAME, SEARCH

_LINE = 64  # bytes of a cache line
_BITS = 16  # bytes: the two words of bits, which come first in a record
_LEVEL, _HEIGHT, _FIRST, _LAST, _INTERVALS = range(5)  # entries of a record after its bits
_REACHES, _REACHED = range(2)


class Records(NamedTuple):
    """The labels, a row for each node: `bits` (uint64) and `entries` (index width) are two views of one memory.

    `alternate` is whether odd dimensions are backward.
    """

    bits: Array
    entries: Array
    dimensions: int
    alternate: bool


def record_bytes(dimensions: int, width: int) -> int:
    """Size of a record whose entries have `width` bytes: a line for up to four dimensions, where nodes are int32."""
    return -(-(_BITS + width * (_INTERVALS + 2 * dimensions)) // (_LINE // 2)) * (_LINE // 2)


def pack(labels: Labels) -> Records:
    """Records of the labels, aligned to cache lines."""
    width = labels.low.itemsize
    before = _BITS // width
    row = record_bytes(labels.dimensions, width)
    num_nodes = len(labels.level)
    unaligned = np.empty(num_nodes * row + _LINE, np.uint8)
    memory = unaligned[-unaligned.ctypes.data % _LINE :][: num_nodes * row].reshape(num_nodes, row)
    bits, entries = memory.view(np.uint64), memory.view(labels.low.dtype)[:, before:]
    bits[:, _REACHES], bits[:, _REACHED] = labels.reaches, labels.reached
    for place, label in ((_LEVEL, labels.level), (_HEIGHT, labels.height), (_FIRST, labels.first[0]), (_LAST, labels.last[0])):
        entries[:, place] = label
    entries[:, _INTERVALS : _INTERVALS + 2 * labels.dimensions : 2] = labels.low.T
    entries[:, _INTERVALS + 1 : _INTERVALS + 1 + 2 * labels.dimensions : 2] = labels.post.T
    return Records(bits, entries, labels.dimensions, labels.method == "tree")


@njit(cache=True, nogil=True)
def decide(records, u, v):  # type: ignore[no-untyped-def]
    """FILTER, POSITIVE_CUT or SEARCH, or SAME where u is v."""
    if u == v:
        return SAME
    bits, entries = records.bits, records.entries
    if entries[u, _LEVEL] >= entries[v, _LEVEL] or entries[u, _HEIGHT] <= entries[v, _HEIGHT]:
        return FILTER
    if bits[u, _REACHES] & bits[v, _REACHED]:
        return POSITIVE_CUT
    if bits[u, _REACHED] & ~bits[v, _REACHED] or bits[v, _REACHES] & ~bits[u, _REACHES]:
        return FILTER
    if entries[u, _FIRST] <= entries[v, _LAST] and entries[v, _LAST] <= entries[u, _LAST]:
        return POSITIVE_CUT
    return SEARCH if contains(records, u, v) else FILTER


@njit(cache=True, nogil=True)
def contains(records, u, v):  # type: ignore[no-untyped-def]
    """Whether v's interval is inside u's in every dimension, and u's inside v's in the backward ones."""
    entries = records.entries
    for dimension in range(records.dimensions):
        low, post = _INTERVALS + 2 * dimension, _INTERVALS + 2 * dimension + 1
        outer, inner = (v, u) if records.alternate and dimension & 1 else (u, v)
        if entries[outer, low] > entries[inner, low] or entries[inner, post] > entries[outer, post]:
            return False
    return True
