"""A round of the certificate on all cores: votes that do not decide by themselves are counted in a hash table of the row."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, ranges_of_rows
from kernels.graph import Array, Csr

Arcs = tuple[Array, Array]  # offsets and indices
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads labels that follow each other (Knuth)


def recount(sides: tuple[Csr, ...], labels: Array, before: Array | None, num_own: int) -> Array:
    """As `kernels.cdlp.certificate.recounted`."""
    after = labels[:num_own].copy()
    each = tuple((frozen(side.offsets), frozen(side.indices)) for side in sides)
    changed = np.ones_like(labels, np.bool_) if before is None else labels != before
    differ = before is None and len(each) == 1
    read = each[0], each[-1], len(each) > 1, frozen(labels), frozen(changed), differ
    over_items(ranges_of_rows(sides[0].offsets[: num_own + 1]), lambda part: _recount(*read, after, part))
    return after


@njit(cache=True, nogil=True)
def _recount(
    out: Arcs, into: Arcs, two_sides: bool, labels: Array, changed: Array, differ: bool, after: Array, part: tuple[int, int]
) -> None:  # fmt: skip
    """Set the labels of a range of rows; `differ` says that all labels do, and that one side has all arcs."""
    keys, counts = np.empty(64, labels.dtype), np.zeros(64, np.int64)
    for row in range(part[0], part[1]):
        if differ:
            smallest = _smallest(out, row, labels)
            if smallest >= 0:
                after[row] = smallest
                continue
        if not (_sees_change(out, row, changed) or (two_sides and _sees_change(into, row, changed))):
            continue
        votes, own = _own_votes(out, row, labels)
        if two_sides:
            more = _own_votes(into, row, labels)
            votes, own = votes + more[0], own + more[1]
        if 2 * own > votes or votes == 0:
            continue
        bits = 2
        while 1 << bits < 2 * votes:
            bits += 1
        if len(keys) < 1 << bits:
            keys, counts = np.empty(1 << bits, labels.dtype), np.zeros(1 << bits, np.int64)
        _count(out, row, labels, keys, counts, bits)
        if two_sides:
            _count(into, row, labels, keys, counts, bits)
        after[row] = _most(keys, counts, bits)


@njit(cache=True, **UNCOUNTED)
def _smallest(side: Arcs, row: int, labels: Array) -> int:
    """The smallest label of the neighbours; -1 if there are none, or if arcs, which then follow each other, are parallel."""
    smallest = -1
    last = row
    for arc in range(side[0][row], side[0][row + 1]):
        other = side[1][arc]
        if other != row:
            if other == last:
                return -1
            label, last = labels[other], other
            smallest = label if smallest < 0 else min(smallest, label)
    return smallest


@njit(cache=True, **UNCOUNTED)
def _sees_change(side: Arcs, row: int, changed: Array) -> bool:
    for arc in range(side[0][row], side[0][row + 1]):  # noqa: SIM110 (Numba compiles no `any`)
        if changed[side[1][arc]]:
            return True
    return False


@njit(cache=True, **UNCOUNTED)
def _own_votes(side: Arcs, row: int, labels: Array) -> tuple[int, int]:
    """The number of votes, and of those for the row's own label."""
    votes = own = 0
    for arc in range(side[0][row], side[0][row + 1]):
        is_vote = side[1][arc] != row
        votes += is_vote
        own += is_vote and labels[side[1][arc]] == labels[row]
    return votes, own


@njit(cache=True, **UNCOUNTED)
def _count(side: Arcs, row: int, labels: Array, keys: Array, counts: Array, bits: int) -> None:
    """Count votes in a table of 2^bits slots, where a label has the first one from its own on that no other one has."""
    shift, last = np.uint64(64 - bits), (1 << bits) - 1
    for arc in range(side[0][row], side[0][row + 1]):
        if side[1][arc] == row:
            continue
        label = labels[side[1][arc]]
        slot = np.int64((np.uint64(label) * _FACTOR) >> shift)
        while counts[slot] and keys[slot] != label:
            slot = (slot + 1) & last
        keys[slot] = label
        counts[slot] += 1


@njit(cache=True, **UNCOUNTED)
def _most(keys: Array, counts: Array, bits: int) -> int:
    """The label of most votes, of several the smallest; the table is emptied."""
    best, most = keys[0], np.int64(0)
    for slot in range(1 << bits):
        if counts[slot] > most or (counts[slot] == most and most and keys[slot] < best):
            best, most = keys[slot], counts[slot]
        counts[slot] = 0
    label: int = best
    return label
