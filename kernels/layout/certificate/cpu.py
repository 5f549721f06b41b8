"""The passes of the layout's certificate on NumPy arrays."""

from functools import reduce

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import WORTH_A_THREAD, over_items, over_rows
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.certificate.constants import BACKWARD, BOTH, FORWARD, MIX_1, MIX_2, WEIGHT_FACTOR

_CHUNK = 1 << 18  # edges that a core reads at a time
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
        places = np.empty(len(wanted), OFFSET)
        _find(self._ids, self._low, self._shift, self._starts, frozen(wanted), places)
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

    found = over_rows(csr, read)
    return _added([sums for sums, _ in found]), next((arc for _, arc in found if arc >= 0), -1)


def edge_sums(src: Array, dst: Array, weights: Array | None, rules: tuple[int, bool], keys: Array) -> Array:
    """The fingerprint of edges, uint64 [4], as of arcs. `rules`: FORWARD, BOTH or TURNED, and whether self-loops are read."""
    arrays = unsigned(src), unsigned(dst), words_of(weights)

    def read(begin: int) -> Array:
        sums = np.zeros(4, np.uint64)
        _read_edges(*arrays, begin, min(begin + _CHUNK, len(src)), *rules, keys, sums)
        return sums

    return _added(over_items(range(0, len(src), _CHUNK), read, parallel=len(src) > WORTH_A_THREAD))


def first_not_stored(rows: Array, neighbours: Array, weights: Array | None, csr: Csr, ids: Array) -> int:
    """The first of arcs, given by row and the neighbour's id, without a stored one that is no heavier; -1 if all have one.

    `csr` and `ids` are those that `arc_sums` accepted.
    """
    arrays = frozen(csr.offsets), unsigned(csr.indices), words_of(csr.weights), unsigned(ids)
    return int(_look_up(unsigned(rows), unsigned(neighbours), words_of(weights), *arrays))


def words_of(weights: Array | None) -> Array | None:
    """Weights as unsigned words, which order weights that are not negative as these do; None for none."""
    return None if weights is None else unsigned(weights)


def _added(sums: list[Array]) -> Array:
    return reduce(np.add, sums, np.zeros(4, np.uint64))


@njit(cache=True, nogil=True)
def _find(ids: Array, low: int, shift: int, starts: Array, wanted: Array, places: Array) -> None:
    for item in range(len(wanted)):
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
    sum_0 = sum_1 = sum_2 = sum_3 = np.uint64(0)
    for row in range(begin, end):
        own = ids[row]
        tail_0, tail_1 = _mixed(own + keys[0]), _mixed(own + keys[1])
        head_0, head_1 = _mixed(own + keys[2]), _mixed(own + keys[3])
        before = word_before = np.uint64(0)
        for arc in range(offsets[row], offsets[row + 1]):
            if indices[arc] >= len(ids):
                return arc
            other, word = ids[indices[arc]], _word_at(words, arc)
            if arc > offsets[row] and (other < before or (other == before and (distinct or word < word_before))):
                return arc
            before, word_before = other, word
            weight = (word + keys[4]) * _FACTOR
            if role == FORWARD or (role == BOTH and other >= own):
                sum_0 += _mixed(tail_0 + _mixed(other + keys[2]) + weight)
                sum_1 += _mixed(tail_1 + _mixed(other + keys[3]) + weight)
            if role == BACKWARD:
                sum_0 += _mixed(head_0 + _mixed(other + keys[0]) + weight)
                sum_1 += _mixed(head_1 + _mixed(other + keys[1]) + weight)
            if role == BOTH and other <= own:
                sum_2 += _mixed(head_0 + _mixed(other + keys[0]) + weight)
                sum_3 += _mixed(head_1 + _mixed(other + keys[1]) + weight)
    sums[0], sums[1], sums[2], sums[3] = sum_0, sum_1, sum_2, sum_3
    return -1


@njit(cache=True, nogil=True)
def _read_edges(
    src: Array, dst: Array, words: Array | None, begin: int, end: int, role: int, self_loops: bool, keys: Array, sums: Array
) -> None:
    sum_0 = sum_1 = sum_2 = sum_3 = np.uint64(0)
    for edge in range(begin, end):
        tail, head = np.uint64(src[edge]), np.uint64(dst[edge])
        if tail == head and not self_loops:
            continue
        first, second = np.uint64(role != BOTH or tail <= head), np.uint64(role == BOTH and tail >= head)
        if role != FORWARD:
            tail, head = min(tail, head), max(tail, head)
        weight = (_word_at(words, edge) + keys[4]) * _FACTOR
        mixed_0 = _mixed(_mixed(tail + keys[0]) + _mixed(head + keys[2]) + weight)
        mixed_1 = _mixed(_mixed(tail + keys[1]) + _mixed(head + keys[3]) + weight)
        sum_0, sum_1 = sum_0 + first * mixed_0, sum_1 + first * mixed_1
        sum_2, sum_3 = sum_2 + second * mixed_0, sum_3 + second * mixed_1
    sums[0], sums[1], sums[2], sums[3] = sum_0, sum_1, sum_2, sum_3


@njit(cache=True, nogil=True)
def _look_up(
    rows: Array, neighbours: Array, weights: Array | None, offsets: Array, indices: Array, words: Array | None, ids: Array
) -> int:
    for item in range(len(rows)):
        first, last = offsets[rows[item]], offsets[rows[item] + np.uint64(1)]
        end = last
        while first < last:
            middle = (first + last) // 2
            if ids[indices[middle]] < neighbours[item]:
                first = middle + 1
            else:
                last = middle
        if first == end or ids[indices[first]] != neighbours[item] or _word_at(words, first) > _word_at(weights, item):
            return item
    return -1
