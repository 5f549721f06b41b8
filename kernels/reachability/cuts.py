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

    `backward`, bool [D], says of which dimensions the intervals widen towards what is reached.
    """

    bits: Array
    entries: Array
    backward: Array


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
    backward = np.array([labels.backward(dimension) for dimension in range(labels.dimensions)])
    return Records(bits, entries, backward)


@njit(cache=True, nogil=True, inline="always")
def decide(bits, entries, backward, u, v):  # type: ignore[no-untyped-def]
    """FILTER, POSITIVE_CUT or SEARCH, or SAME where u is v. After its first test it does not branch."""
    decided = FILTER
    if entries[u, _LEVEL] >= entries[v, _LEVEL] or entries[u, _HEIGHT] <= entries[v, _HEIGHT]:
        if u == v:
            decided = SAME
    else:
        no = ((bits[u, _REACHED] & ~bits[v, _REACHED]) | (bits[v, _REACHES] & ~bits[u, _REACHES])) != 0
        no |= not contains(entries, backward, u, v)
        yes = (bits[u, _REACHES] & bits[v, _REACHED]) != 0
        yes |= (entries[u, _FIRST] <= entries[v, _LAST]) & (entries[v, _LAST] <= entries[u, _LAST])
        if not no:
            decided = POSITIVE_CUT if yes else SEARCH
    return decided


@njit(cache=True, nogil=True, inline="always")
def contains(entries, backward, u, v):  # type: ignore[no-untyped-def]
    """Whether v's interval is inside u's in every dimension, and u's inside v's in the backward ones."""
    inside = True
    for dimension in range(len(backward)):
        low, post = _INTERVALS + 2 * dimension, _INTERVALS + 2 * dimension + 1
        outer, inner = (v, u) if backward[dimension] else (u, v)
        if (entries[outer, low] > entries[inner, low]) | (entries[inner, post] > entries[outer, post]):
            inside = False
            break
    return inside
