"""What the labels of two nodes decide, read from one record per node, so that a query reads two places in memory."""

from typing import NamedTuple

import numpy as np

from kernels.answers import Labels, ReachabilityIndex
from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reachability.constants import FILTER, POSITIVE_CUT, SAME, SEARCH
from kernels.reachability.queries.sizes import BIT_BYTES, LINE, NUM_SCALARS, record_bytes

_LEVEL, _HEIGHT, FIRST, LAST = range(NUM_SCALARS)  # entries of a record after its bits
_INTERVALS = NUM_SCALARS
REACHES, REACHED = range(2)


class Records(NamedTuple):
    """The labels, a row for each node: `bits` (uint64) and `entries` (index width) are two views of one buffer.

    `backward`, bool [D], marks the dimensions whose wider interval is that of the node that is reached.
    """

    bits: Array
    entries: Array
    backward: Array


def records_of(index: ReachabilityIndex) -> Records:
    """The records of an index, which are made once and kept with it."""
    return index.derived.get(records_of, lambda: pack(index.labels))


def pack(labels: Labels) -> Records:
    """Make the records of labels, aligned to cache lines."""
    width = labels.low.itemsize
    row = record_bytes(labels.dimensions, width)
    num_nodes = len(labels.level)
    unaligned = np.empty(num_nodes * row + LINE, np.uint8)
    buffer = unaligned[-unaligned.ctypes.data % LINE :][: num_nodes * row].reshape(num_nodes, row)
    bits, entries = buffer.view(np.uint64), buffer.view(labels.low.dtype)[:, BIT_BYTES // width :]
    bits[:, REACHES], bits[:, REACHED] = labels.reaches, labels.reached
    for column, label in ((_LEVEL, labels.level), (_HEIGHT, labels.height), (FIRST, labels.first[0]), (LAST, labels.last[0])):
        entries[:, column] = label
    entries[:, _INTERVALS : _INTERVALS + 2 * labels.dimensions : 2] = labels.low.T
    entries[:, _INTERVALS + 1 : _INTERVALS + 1 + 2 * labels.dimensions : 2] = labels.post.T
    backward = np.array([labels.backward(dimension) for dimension in range(labels.dimensions)])
    return Records(bits, entries, backward)


@njit(cache=True, nogil=True, inline="always")
def decide(bits: Array, entries: Array, backward: Array, u: int, v: int) -> int:
    """FILTER, POSITIVE_CUT or SEARCH, or SAME if u is v. After its first test it does not branch."""
    decided = FILTER
    if entries[u, _LEVEL] >= entries[v, _LEVEL] or entries[u, _HEIGHT] <= entries[v, _HEIGHT]:
        if u == v:
            decided = SAME
    else:
        no = ((bits[u, REACHED] & ~bits[v, REACHED]) | (bits[v, REACHES] & ~bits[u, REACHES])) != 0
        no |= not contains(entries, backward, u, v)
        yes = (bits[u, REACHES] & bits[v, REACHED]) != 0
        yes |= (entries[u, FIRST] <= entries[v, LAST]) & (entries[v, LAST] <= entries[u, LAST])
        if not no:
            decided = POSITIVE_CUT if yes else SEARCH
    return decided


@njit(cache=True, nogil=True, inline="always")
def contains(entries: Array, backward: Array, u: int, v: int) -> bool:
    """Whether v's interval is inside u's in every forward dimension, and u's inside v's in every backward one."""
    inside = True
    for dimension in range(len(backward)):
        low, post = _INTERVALS + 2 * dimension, _INTERVALS + 2 * dimension + 1
        outer, inner = (v, u) if backward[dimension] else (u, v)
        if (entries[outer, low] > entries[inner, low]) | (entries[inner, post] > entries[outer, post]):
            inside = False
            break
    return inside
