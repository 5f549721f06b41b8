"""The passes of the layout's certificate on NumPy arrays."""

from functools import reduce

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, over_items, over_rows, ranges
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.certificate.constants import BACKWARD, BOTH, FORWARD, MIX_1, MIX_2, WEIGHT_FACTOR

_BLOCK = 1 << 12  # arcs, so that arrays of them stay in a core's cache
_BUCKETS_PER_ID = 2
_FACTOR, _MIX_1, _MIX_2 = np.uint64(WEIGHT_FACTOR), np.uint64(MIX_1), np.uint64(MIX_2)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)


class Directory:
    """Finds ids among `ids`, int64 and ascending, in buckets of equal ranges of ids that have less than one id on average."""

    def __init__(self, ids: Array):
        self._ids, self._low = frozen(ids), int(ids[0]) if len(ids) else 0
        span = int(ids[-1]) - self._low if len(ids) else 0
        self._shift = (span // (_BUCKETS_PER_ID * len(ids) + 1)).bit_length()
        counts = np.bincount((ids - self._low) >> self._shift, minlength=(span >> self._shift) + 1)
        self._starts = np.concatenate([np.zeros(1, OFFSET), np.cumsum(counts)])

    def places(self, wanted: Array) -> Array:
        """The index of each of `wanted`, int64, in `ids`; -1 if it is not there."""
        places, arrays = np.empty(len(wanted), OFFSET), (self._ids, self._low, self._shift, self._starts, frozen(wanted))
        over_items(ranges(len(wanted)), lambda part: _find(*arrays, *part, places))
        return places


def arc_sums(csr: Csr, ids: Array, role: int, distinct: bool, keys: Array) -> tuple[Array, int]:
    """Read the arcs of rows.

    Args:
        csr: Offsets that ascend from 0 to the number of arcs; indices are local rows.
        ids (int64 [n + g]): Of local rows; the rows of `csr` are the first n.
        role (FORWARD, BACKWARD or BOTH): Whether the rows are tails, or heads, or both ends of the edges of an undirected graph.
        distinct: Whether parallel arcs break the order.
        keys (uint64 [5]): Of the fingerprint.

    Returns:
        sums (uint64 [4]): A fingerprint of two words of all arcs, and zeros. With BOTH, two fingerprints: of the arcs to ids that
            are not smaller, and of those to ids that are not greater, reversed.
        broken: The first arc whose index is not a local row, or which does not come after the one before it; -1 if there is none.
    """
    arrays = frozen(csr.offsets), unsigned(csr.indices), words_of(csr.weights), unsigned(ids)

    def read(begin: int, end: int) -> tuple[Array, int]:
        sums = np.zeros(4, np.uint64)
        return sums, _read_arcs(*arrays, begin, end, role, distinct, keys, sums)

    parts = over_rows(csr, read)
    return _added([sums for sums, _ in parts]), next((arc for _, arc in parts if arc >= 0), -1)


def sums_before(old: Csr, csr: Csr, of_csr: Array, ids: Array, rules: tuple[int, bool], keys: Array) -> tuple[Array, int]:
    """The fingerprint of an earlier CSR from that of a later one: arcs that both have are compared, and not read again.

    Args:
        old: Rows whose numbers, and those of their neighbours, stand for the same ids. Its arcs may be damaged.
        csr, of_csr: The later CSR, with at least as many rows, which `arc_sums` accepted, and its fingerprint, uint64 [4].
        ids, keys: As for `arc_sums`, whose role and `distinct` are `rules`.

    Returns:
        As `arc_sums`: an arc that both have has its place in the order of the later one, and one that differs is compared with
        those beside it.
    """
    sides = [(frozen(each.offsets), unsigned(each.indices), words_of(each.weights)) for each in (csr, old)]
    arrays = *sides[0], *sides[1], unsigned(ids)

    def compare(begin: int, end: int) -> tuple[Array, Array, int]:
        here, there = np.zeros(4, np.uint64), np.zeros(4, np.uint64)
        return here, there, _read_differing(*arrays, begin, end, rules, keys, here, there)

    parts = over_rows(csr, compare)
    here, there = _added([part[0] for part in parts]), _added([part[1] for part in parts])
    return of_csr - here + there, next((part[2] for part in parts if part[2] >= 0), -1)


def edge_sums(src: Array, dst: Array, weights: Array | None, rules: tuple[int, bool], keys: Array) -> Array:
    """The fingerprint of edges, uint64 [4], as of arcs. `rules`: FORWARD, BOTH or TURNED, and whether self-loops are read."""
    arrays = unsigned(src), unsigned(dst), words_of(weights)

    def read(part: Range) -> Array:
        sums = np.zeros(4, np.uint64)
        _add_fingerprints(*arrays, *part, *rules, keys, sums)
        return sums

    return _added(over_items(ranges(len(src)), read))


def first_not_stored(rows: Array, neighbours: Array, weights: Array | None, csr: Csr, ids: Array, *, alike: bool = False) -> int:
    """The first of arcs, given by row and the neighbour's id, without a stored one that is no heavier; -1 if all have one.

    If `alike`, the lightest stored one has to weigh the same. `csr` and `ids` are those that `arc_sums` accepted.
    """
    arrays = frozen(csr.offsets), unsigned(csr.indices), words_of(csr.weights), unsigned(ids)
    wanted = unsigned(rows), unsigned(neighbours), words_of(weights)
    places = over_items(ranges(len(rows)), lambda part: int(_look_up(*wanted, *arrays, alike, *part)))
    return next((place for place in places if place >= 0), -1)


def words_of(weights: Array | None) -> Array | None:
    """Weights as unsigned words, which order weights that are not negative as these do; None for none."""
    return None if weights is None else unsigned(weights)


def _added(sums: list[Array]) -> Array:
    return reduce(np.add, sums, np.zeros(4, np.uint64))


@njit(cache=True, nogil=True)
def _find(
    ids: Array, low: int, shift: int, starts: Array, wanted: Array, begin: int, stop: int, places: Array
) -> None:  # fmt: skip
    for item in range(begin, stop):
        bucket = (wanted[item] - low) >> shift
        places[item] = -1
        if wanted[item] >= low and bucket < len(starts) - 1:
            first, last, end = starts[bucket], starts[bucket + 1], starts[bucket + 1]
            while first < last:
                middle = (first + last) // 2
                if ids[middle] < wanted[item]:
                    first = middle + 1
                else:
                    last = middle
            if first < end and ids[first] == wanted[item]:
                places[item] = first


@njit(cache=True, nogil=True, inline="always")
def _mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> _SHIFT_1)) * _MIX_1
    word = (word ^ (word >> _SHIFT_2)) * _MIX_2
    return word ^ (word >> _SHIFT_3)


@njit(cache=True, nogil=True, inline="always")
def _word_at(words: Array | None, place: int) -> np.uint64:
    """The word of a weight: 0 without weights, and for minus zero."""
    if words is None:
        return np.uint64(0)
    word = np.uint64(words[place])
    return np.uint64(0) if word == np.uint64(1) << np.uint64(8 * words.itemsize - 1) else word


@njit(cache=True, nogil=True)
def _read_arcs(
    offsets: Array, indices: Array, words: Array | None, ids: Array, begin: int, end: int, role: int, distinct: bool,
    keys: Array, sums: Array,
) -> int:  # fmt: skip
    """Read blocks of arcs into arrays, over which the loops have no branches; entry 0 is the arc before the block."""
    own, other, word = np.empty(_BLOCK + 1, np.uint64), np.empty(_BLOCK + 1, np.uint64), np.empty(_BLOCK + 1, np.uint64)
    row = begin
    for first in range(offsets[begin], offsets[end], _BLOCK):
        length = min(_BLOCK, offsets[end] - first)
        arc = first
        while arc < first + length:
            while offsets[row + 1] <= arc:
                row += 1
            stop, tail = min(offsets[row + 1], first + length), ids[row]
            for place in range(arc - first + 1, stop - first + 1):
                own[place] = tail
            arc = stop
        worst = indices[first]
        for place in range(length):
            worst = max(worst, indices[first + place])
        if worst >= len(ids):
            return int(first + np.argmax(indices[first : first + length] >= len(ids)))
        for place in range(length):
            other[place + 1], word[place + 1] = ids[indices[first + place]], _word_at(words, first + place)
        if first == offsets[begin]:
            own[0] = ~own[1]
        broken = False
        for place in range(1, length + 1):
            broken |= _falls(own, other, word, distinct, place)
        for place in range(1, length + 1 if broken else 1):
            if _falls(own, other, word, distinct, place):
                return first + place - 1
        _add_fingerprints(own, other, word, 1, length + 1, role, True, keys, sums)
        own[0], other[0], word[0] = own[length], other[length], word[length]
    return -1


@njit(cache=True, nogil=True)
def _read_differing(
    offsets: Array, indices: Array, words: Array | None, old_offsets: Array, old_indices: Array, old_words: Array | None,
    ids: Array, begin: int, end: int, rules: tuple[int, bool], keys: Array, here: Array, there: Array,
) -> int:  # fmt: skip
    """Add the arcs that only one of two CSRs has to its sums; returns an old one that is no arc in order, or -1."""
    (role, distinct), old_rows = rules, len(old_offsets) - 1
    arcs, counts = np.empty((2, 3, _BLOCK), np.uint64), np.zeros(2, np.int64)
    for row in range(begin, end):
        at, stop, old_at, old_stop = offsets[row], offsets[row + 1], np.int64(0), np.int64(0)
        if row < old_rows:
            old_at, old_stop = old_offsets[row], old_offsets[row + 1]
        first, last = old_at, old_stop - 1
        while at < stop or old_at < old_stop:
            if (
                at < stop
                and old_at < old_stop
                and indices[at] == old_indices[old_at] < old_rows
                and _word_at(words, at) == _word_at(old_words, old_at)
            ):
                at, old_at = at + 1, old_at + 1
                continue
            head = old_head = ~np.uint64(0)
            if at < stop:
                head = ids[indices[at]]
            if old_at < old_stop:
                if old_indices[old_at] >= old_rows or (old_at < last and old_indices[old_at + 1] >= old_rows):
                    return int(old_at)
                old_head = ids[old_indices[old_at]]
                if old_at > first and not _ascends(ids[old_indices[old_at - 1]], old_head, distinct):
                    return int(old_at)
                if old_at < last and not _ascends(old_head, ids[old_indices[old_at + 1]], distinct):
                    return int(old_at)
            takes_old = old_head < head or at == stop
            side, word = (1, _word_at(old_words, old_at)) if takes_old else (0, _word_at(words, at))
            at, old_at = (at, old_at + 1) if takes_old else (at + 1, old_at)
            place = counts[side]
            arcs[side, 0, place], arcs[side, 1, place], arcs[side, 2, place] = ids[row], old_head if takes_old else head, word
            counts[side] += 1
            if counts[side] == _BLOCK:
                _add_fingerprints(
                    arcs[side, 0], arcs[side, 1], arcs[side, 2], 0, _BLOCK, role, True, keys, there if takes_old else here
                )
                counts[side] = 0
    _add_fingerprints(arcs[0, 0], arcs[0, 1], arcs[0, 2], 0, counts[0], role, True, keys, here)
    _add_fingerprints(arcs[1, 0], arcs[1, 1], arcs[1, 2], 0, counts[1], role, True, keys, there)
    return -1


@njit(cache=True, nogil=True, inline="always")
def _ascends(head: int, following: int, distinct: bool) -> bool:
    return head < following or (head == following and not distinct)


@njit(cache=True, nogil=True, inline="always")
def _falls(own: Array, other: Array, word: Array, distinct: bool, place: int) -> bool:
    """Whether an arc does not come after the one before it in its row."""
    equal, lighter = other[place] == other[place - 1], word[place] < word[place - 1]
    falls: bool = (own[place] == own[place - 1]) & ((other[place] < other[place - 1]) | (equal & (distinct | lighter)))
    return falls


@njit(cache=True, nogil=True)
def _add_fingerprints(
    tails: Array, heads: Array, words: Array | None, begin: int, end: int, role: int, self_loops: bool, keys: Array, sums: Array
) -> None:
    """Add the fingerprints of arcs or edges `begin..end-1`, by ids. The loop has no branches, so that it becomes vector code."""
    sum_0 = sum_1 = sum_2 = sum_3 = zero = np.uint64(0)
    for arc in range(begin, end):
        tail, head = np.uint64(tails[arc]), np.uint64(heads[arc])
        turned = (role == BACKWARD) | ((role != FORWARD) & (head < tail))
        low, high = head if turned else tail, tail if turned else head
        weight = (_word_at(words, arc) + keys[4]) * _FACTOR
        mixed_0 = _mixed(_mixed(low + keys[0]) + _mixed(high + keys[2]) + weight)
        mixed_1 = _mixed(_mixed(low + keys[1]) + _mixed(high + keys[3]) + weight)
        counts = self_loops | (tail != head)
        first, second = counts & ((role != BOTH) | (tail <= head)), counts & (role == BOTH) & (tail >= head)
        sum_0 += mixed_0 if first else zero
        sum_1 += mixed_1 if first else zero
        sum_2 += mixed_0 if second else zero
        sum_3 += mixed_1 if second else zero
    sums[0] += sum_0
    sums[1] += sum_1
    sums[2] += sum_2
    sums[3] += sum_3


@njit(cache=True, nogil=True)
def _look_up(
    rows: Array, neighbours: Array, weights: Array | None, offsets: Array, indices: Array, words: Array | None, ids: Array,
    alike: bool, begin: int, end: int,
) -> int:  # fmt: skip
    for item in range(begin, end):
        first, last = offsets[rows[item]], offsets[rows[item] + np.uint64(1)]
        stop = last
        while first < last:
            middle = (first + last) // 2
            if ids[indices[middle]] < neighbours[item]:
                first = middle + 1
            else:
                last = middle
        if first == stop or ids[indices[first]] != neighbours[item]:
            return item
        stored, own = _word_at(words, first), _word_at(weights, item)
        if stored > own or (alike and stored != own):
            return item
    return -1
