"""Edges by their numbers, on all cores."""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.generators.constants import FIRST, GRAPH500, SECOND, THIRD, WORDS
from kernels.generators.drawing import Drawing
from kernels.graph import Array

_CHUNK = 1 << 20  # edges that a thread draws at a time
_GOLDEN, _A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SPREAD = np.uint64(0x4519840211493211), np.uint64(0x3050852102C843A5)  # Graph500's, by which ids are scrambled
_SHIFTS = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F),
                        (8, 0x00FF00FF00FF00FF), (16, 0x0000FFFF0000FFFF))
)  # fmt: skip
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ONE, _TWO = np.uint64(1), np.uint64(2)
Numbers = tuple[int, int, int, np.uint64, np.uint64, np.uint64]  # kind, bits, ids, seed and two scramblers
Tables = tuple[Array, Array, int, np.uint64]  # communities, members, edges inside, units outside


def drawn(drawing: Drawing, begin: int, end: int) -> Array:
    """The ends of edges: int64 [2, end - begin]."""
    both = np.empty((2, end - begin), np.int64)
    over_items(
        _chunks(begin, end),
        lambda part: _draw(*_arguments(drawing), part[0], both[:, part[0] - begin : part[1] - begin]),
    )
    return both


def keys_between(drawing: Drawing, begin: int, end: int, low: int, high: int) -> list[Array]:
    """Keys of the edges whose smaller end is in `low..high-1`: smaller << bits | larger, uint64; ascending arrays."""

    def of_chunk(part: tuple[int, int]) -> Array:
        keys = np.empty(part[1] - part[0], np.uint64)
        chosen: Array = keys[: _select(*_arguments(drawing), part, (low, high), keys)].copy()
        chosen.sort()
        return chosen

    return over_items(_chunks(begin, end), of_chunk)


def counts_of_smaller(drawing: Drawing, begin: int, end: int, shift: int) -> Array:
    """How many edges have a smaller end of each `id >> shift`, int64; self-loops are left out."""

    def of_chunk(part: tuple[int, int]) -> Array:
        counts = np.zeros(((drawing.num_ids - 1) >> shift) + 1, np.int64)
        _count(*_arguments(drawing), part, shift, counts)
        return counts

    counts: Array = np.sum(over_items(_chunks(begin, end), of_chunk), axis=0)
    return counts


def distinct(runs: list[Array], cuts: Array) -> Array:
    """The distinct keys of ascending arrays, ascending. `cuts`, ascending, divides the work: keys by which threads share it."""
    places = [np.concatenate([[0], np.searchsorted(run, cuts), [len(run)]]) for run in runs]

    def of_range(number: int) -> Array:
        keys = np.concatenate([run[at[number] : at[number + 1]] for run, at in zip(runs, places, strict=True)])
        keys.sort()
        kept: Array = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        return kept

    return np.concatenate(over_items(range(len(cuts) + 1), of_range))


def _chunks(begin: int, end: int) -> list[tuple[int, int]]:
    return [(first, min(first + _CHUNK, end)) for first in range(begin, end, _CHUNK)]


def _arguments(drawing: Drawing) -> tuple[Numbers, Tables]:
    one, other = map(np.uint64, drawing.scramblers)
    numbers = drawing.kind, drawing.bits, drawing.num_ids, np.uint64(drawing.seed), one, other
    return numbers, (drawing.communities, drawing.members, drawing.inside, np.uint64(drawing.outside))


@njit(cache=True, nogil=True, inline="always")
def _word(seed: np.uint64, number: np.uint64) -> np.uint64:
    """SplitMix64's output of a number."""
    word = seed + _GOLDEN * (number + _ONE)
    word = (word ^ (word >> np.uint64(30))) * _A
    word = (word ^ (word >> np.uint64(27))) * _B
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _reversed(word: np.uint64, bits: int) -> np.uint64:
    """The last bits in reversed order."""
    for shift, mask in _SHIFTS:
        word = ((word >> shift) & mask) | ((word & mask) << shift)
    return ((word >> _HALF) | (word << _HALF)) >> np.uint64(64 - bits)


@njit(cache=True, nogil=True)
def _scrambled(row: np.uint64, numbers: Numbers) -> np.uint64:
    """The id of a number: a permutation of 0..num_ids-1, by one of 0..2^bits-1 that is repeated until it gives an id."""
    _, bits, num_ids, _, one, other = numbers
    while True:
        row = _reversed((row + one + other) * (one | _SPREAD[0]), bits)
        row = _reversed(row * (other | _SPREAD[1]), bits)
        if row < np.uint64(num_ids):
            return row


@njit(cache=True, nogil=True, inline="always")
def _ends(numbers: Numbers, tables: Tables, edge: int) -> tuple[np.uint64, np.uint64]:
    kind, bits, _, seed, _, _ = numbers
    first = np.uint64(edge) * np.uint64(WORDS)
    if kind == GRAPH500:
        src, dst, word = np.uint64(0), np.uint64(0), np.uint64(0)
        for level in range(bits):
            word = word >> _HALF if level & 1 else _word(seed, first + np.uint64(level >> 1))
            place = word & _LOW
            right, below = place >= np.uint64(FIRST), place >= np.uint64(SECOND)
            src = (src << _ONE) | np.uint64(below)
            dst = (dst << _ONE) | np.uint64(right ^ below ^ (place >= np.uint64(THIRD)))
    else:
        src, dst = _social(tables, edge, _word(seed, first), _word(seed, first + _ONE))
    return _scrambled(src, numbers), _scrambled(dst, numbers)


@njit(cache=True, nogil=True)
def _social(tables: Tables, edge: int, one: np.uint64, other: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The ends of an edge of a social graph, as numbers that ascend by degree."""
    communities, members, inside, outside = tables
    if edge < inside:
        row = communities[_row(communities, np.uint64(edge))]
        begin = row[1] + (np.uint64(edge) - row[0]) // row[3] * row[2]
        src, dst = one % row[2], other % (row[2] - _ONE)
        return begin + src, begin + dst + np.uint64(dst >= src)
    return _member(members, one % outside), _member(members, other % outside)


@njit(cache=True, nogil=True)
def _member(members: Array, unit: np.uint64) -> np.uint64:
    row = members[_row(members, unit)]
    vertex: np.uint64 = row[1] + (unit - row[0]) // row[2]
    return vertex


@njit(cache=True, nogil=True)
def _row(table: Array, value: np.uint64) -> int:
    """The last row whose first entry is at most the value."""
    low, high = 0, len(table)
    while high - low > 1:
        middle = (low + high) >> 1
        if table[middle, 0] <= value:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _draw(numbers: Numbers, tables: Tables, begin: int, both: Array) -> None:
    for place in range(both.shape[1]):
        src, dst = _ends(numbers, tables, begin + place)
        both[0, place], both[1, place] = np.int64(src), np.int64(dst)


@njit(cache=True, nogil=True)
def _select(numbers: Numbers, tables: Tables, part: tuple[int, int], limits: tuple[int, int], keys: Array) -> int:
    """Write the keys of some edges, and return their number."""
    count, bits = 0, np.uint64(numbers[1])
    low, high = np.uint64(limits[0]), np.uint64(limits[1])
    for edge in range(part[0], part[1]):
        src, dst = _ends(numbers, tables, edge)
        smaller = min(src, dst)
        keys[count] = (smaller << bits) | max(src, dst)
        count += (src != dst) & (low <= smaller) & (smaller < high)
    return count


@njit(cache=True, nogil=True)
def _count(numbers: Numbers, tables: Tables, part: tuple[int, int], shift: int, counts: Array) -> None:
    for edge in range(part[0], part[1]):
        src, dst = _ends(numbers, tables, edge)
        counts[min(src, dst) >> np.uint64(shift)] += src != dst
