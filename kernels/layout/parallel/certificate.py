"""Certificate of merged edges: every group of parallel rows has exactly one edge, whose weight follows from its rows by the rule.

The edges are entered into a hash table by their ends; then the rows are read once, in their order, and each is counted at its
edge: their number, and the sum, the largest, the first or the last of their weights. Nothing is sorted, and no code is shared
with the merging. The edges are those of the rows if all rows find an edge, all edges have a row, no ends are there twice and all
weights are the counted ones. Ends are distributed over parts by their hashes, one thread each; the mixing function is that of
Steele, Lea, Flood: Fast splittable pseudorandom number generators. OOPSLA 2014.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernels.certificate.rules import Broken
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items
from kernels.graph import Array
from kernels.layout.parallel import COUNT, FIRST, HEAVIEST, LAST, SUM
from kernels.layout.rules import Edges

RULES = (
    "every row has a merged edge of its ends, every merged edge has a row, and none is there twice",
    "the weight of a merged edge follows from all of its rows by the rule",
    "rows, pairs, repeated pairs and self-loops are as many as stated",
)
_EMPTY = -1
_PART_BITS = 16  # of a hash that choose the part; the others choose the place in its table


class RowsInOrder(NamedTuple):
    """A block of rows, and what says which of parallel rows comes first: two words, compared as one number; none if [0]."""

    src: Array  # int64 [N]
    dst: Array  # int64 [N]
    weights: Array  # int64 or float64 [N], or [0] of rows that are only counted
    high: Array  # int64 [N] or [0]
    low: Array  # uint64 [N] or [0]


class Counted(NamedTuple):
    """What was counted of rows and edges; self-loops are in none of the others."""

    rows: int
    pairs: int
    repeated: int  # pairs that have several rows
    most: int  # rows of one pair
    self_loops: int  # rows
    mirrored: int  # pairs that have as many rows in one direction as in the other


@dataclass(frozen=True)
class _Part:
    """The edges of some parts in a hash table, and what was counted of each so far."""

    places: Array  # int64 [P]: of the edges in the list
    src: Array
    dst: Array
    table: Array  # int64 [2^k]: the edge of each place, or -1
    rows: Array  # int64 [P]
    reverse: Array  # int64 [P]: rows that have the greater end first
    value: Array  # [P], of the type of the weights
    high: Array  # int64 [P], or [0]
    low: Array  # uint64 [P], or [0]


class Tally:
    """The count of the rows of merged edges.

    Args:
        edges: The merged edges, whose weights are claimed.
        code: Of the rule.
        both: Whether reversed ends are the same.
        parts: The parts of hashes, of 2^16, that are counted here: a range for each thread. The others are left out.
        ordered: Whether the rows have words of order.

    Raises:
        Broken: Two edges have the same ends, or one has the greater end first.
    """

    def __init__(self, edges: Edges, code: int, both: bool, parts: Sequence[range], ordered: bool) -> None:
        self._edges, self._code, self._both, self._ranges = edges, code, both, parts
        self._parts: list[_Part] = over_items(parts, lambda part: self._entered(part, ordered))

    def add(self, rows: RowsInOrder) -> None:
        """Count a block of rows; blocks come in their order. Raises Broken for a row without an edge."""

        def count(number: int) -> int:
            part, own = self._parts[number], self._ranges[number]
            counts = (part.src, part.dst, part.table, part.rows, part.reverse, part.value, part.high, part.low)
            most = np.iinfo(np.int64).max if part.value.dtype.kind == "i" else np.inf
            return int(_count(*rows, self._code, self._both, most, own.start, own.stop, *counts))

        for row in over_items(range(len(self._parts)), count):
            if row != _EMPTY:
                raise Broken(f"a row from {int(rows.src[row])} to {int(rows.dst[row])} has no merged edge")

    def result(self) -> Counted:
        """What was counted. Raises Broken for an edge without a row, or of another weight than its rows have by the rule."""
        counted = Counted(0, 0, 0, 0, 0, 0)
        for part in self._parts:
            self._require(part, part.rows > 0, "has no row")
            claimed = self._edges.weights
            if claimed is not None:
                value = part.rows if self._code == COUNT else part.value
                self._require(part, claimed[part.places] == value, "has another weight than its rows")
            between = part.src != part.dst
            rows, reverse = part.rows[between], part.reverse[between]
            counted = Counted(
                counted.rows + int(rows.sum()),
                counted.pairs + len(rows),
                counted.repeated + int((rows > 1).sum()),
                max(counted.most, int(rows.max(initial=0))),
                counted.self_loops + int(part.rows[~between].sum()),
                counted.mirrored + int((rows == 2 * reverse).sum()),
            )
        return counted

    def _require(self, part: _Part, holds: Array, fault: str) -> None:
        if not holds.all():
            edge = int(np.argmin(holds))
            raise Broken(f"the merged edge from {int(part.src[edge])} to {int(part.dst[edge])} {fault}")

    def _entered(self, part: range, ordered: bool) -> _Part:
        edges = self._edges
        places = np.flatnonzero(_parts_of(edges.src, edges.dst, part.start, part.stop))
        src, dst, count = edges.src[places], edges.dst[places], len(places)
        table = np.full(1 << max(1, (2 * count).bit_length()), _EMPTY, np.int64)
        kind = np.int64 if edges.weights is None or edges.weights.dtype.kind != "f" else np.float64
        words = count if ordered else 0
        if self._both and len(wrong := np.flatnonzero(src > dst)):
            raise Broken(f"the merged edge from {int(src[wrong[0]])} to {int(dst[wrong[0]])} has the greater end first")
        if (twice := _enter(src, dst, table)) != _EMPTY:
            raise Broken(f"two merged edges lead from {int(src[twice])} to {int(dst[twice])}")
        zeros = np.zeros(count, np.int64)
        return _Part(
            places, src, dst, table, zeros, zeros.copy(), np.zeros(count, kind), np.zeros(words, np.int64),
            np.zeros(words, np.uint64),
        )  # fmt: skip


@njit(cache=True, nogil=True, inline="always")
def _hash(src: int, dst: int) -> np.uint64:
    word = np.uint64(src) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(dst)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True, nogil=True)
def _parts_of(src: Array, dst: Array, begin: int, end: int) -> Array:
    """Whether each edge is in the parts `begin..end-1`."""
    own = np.empty(len(src), np.bool_)
    for edge in range(len(src)):
        own[edge] = begin <= np.int64(_hash(src[edge], dst[edge]) >> np.uint64(64 - _PART_BITS)) < end
    return own


@njit(cache=True, nogil=True)
def _enter(src: Array, dst: Array, table: Array) -> int:
    """Enter edges into a table of 2^k places; returns one whose ends are there already, or -1."""
    mask = len(table) - 1
    for edge in range(len(src)):
        place = np.int64(_hash(src[edge], dst[edge]) & np.uint64(mask))
        while table[place] != _EMPTY:
            if src[table[place]] == src[edge] and dst[table[place]] == dst[edge]:
                return edge
            place = (place + 1) & mask
        table[place] = edge
    return _EMPTY


@njit(cache=True, nogil=True)
def _count(
    row_src: Array, row_dst: Array, weights: Array, row_high: Array, row_low: Array, code: int, both: bool, most: float,
    begin: int, end: int, src: Array, dst: Array, table: Array, rows: Array, reverse: Array, value: Array, high: Array,
    low: Array,
) -> int:  # fmt: skip
    """Count the rows whose ends are in the parts `begin..end-1`; returns one without an edge, or -1."""
    mask = len(table) - 1
    for row in range(len(row_src)):
        tail, head = row_src[row], row_dst[row]
        if both and head < tail:
            tail, head = head, tail
        word = _hash(tail, head)
        if not begin <= np.int64(word >> np.uint64(64 - _PART_BITS)) < end:
            continue
        place = np.int64(word & np.uint64(mask))
        while table[place] != _EMPTY and (src[table[place]] != tail or dst[table[place]] != head):
            place = (place + 1) & mask
        edge = table[place]
        if edge == _EMPTY:
            return row
        new = rows[edge] == 0
        rows[edge] += 1
        reverse[edge] += row_dst[row] < row_src[row]
        if code == SUM:
            if weights[row] > most - value[edge]:  # no edge may claim so much
                return row
            value[edge] += weights[row]
        elif code == HEAVIEST:
            if new or weights[row] > value[edge]:
                value[edge] = weights[row]
        elif code != COUNT:
            before = len(high) > 0 and _is_before(row_high[row], row_low[row], high[edge], low[edge])
            if new or (code == FIRST and before) or (code == LAST and not before):
                value[edge] = weights[row]
                if len(high):
                    high[edge], low[edge] = row_high[row], row_low[row]
    return _EMPTY


@njit(cache=True, nogil=True, inline="always")
def _is_before(high: int, low: np.uint64, other_high: int, other_low: np.uint64) -> bool:
    return bool(low < other_low) if high == other_high else high < other_high
