"""Arcs that are sorted into rows: counted in each bucket of rows, then dealt into the buckets, on all cores.

Bucket b has the rows from `b << shift` up to those of the next one.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges, ranges_of_rows
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.numbering import Numbered
from kernels.layout.rules import ArcRules, Edges

ELSEWHERE = -1  # the place of an arc of a bucket that another pass deals
NO_WEIGHTS = np.empty(0, np.uint8)  # what compiled loops take for the weights of arcs that have none


class UnsortedArcs(Protocol):
    """At most `most` arcs in parts, which several cores read."""

    @property
    def most(self) -> int:
        """At most so many arcs."""

    @property
    def row(self) -> np.dtype[Any]:
        """The type of a row."""

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights; None without any."""

    def count(self, shift: int, buckets: int) -> Array:
        """How many arcs of each part are in each bucket, int64 [parts, buckets]."""

    def deal(self, shift: int, free: Array, tails: Array, heads: Array, weights: Array) -> None:
        """Write all arcs, those of each part to the places that begin at `free` [parts, buckets]."""


@dataclass(frozen=True)
class UnsortedEdges:
    """The arcs of an edge list, which is read twice."""

    numbering: Numbered
    rules: ArcRules

    @property
    def most(self) -> int:
        """See `UnsortedArcs`."""
        return (1 + self.rules.both) * self.numbering.edges.count

    @property
    def row(self) -> np.dtype[Any]:
        """See `UnsortedArcs`."""
        return self.numbering.table.dtype

    @property
    def weight(self) -> np.dtype[Any] | None:
        """See `UnsortedArcs`."""
        return self.numbering.edges.weight

    def count(self, shift: int, buckets: int) -> Array:
        """See `UnsortedArcs`."""
        counts: list[Array] = []
        for block in self.numbering.edges.blocks():
            of_block, parts = self._of(block), ranges(block.count)
            of_parts = np.zeros((len(parts), buckets), OFFSET)
            over_items(range(len(parts)), lambda part: _count_edges(*of_block, shift, *parts[part], of_parts[part]))  # noqa: B023
            counts.append(of_parts)
        return np.concatenate([np.zeros((0, buckets), OFFSET), *counts])

    def deal(self, shift: int, free: Array, tails: Array, heads: Array, weights: Array) -> None:
        """See `UnsortedArcs`."""
        first = 0
        for block in self.numbering.edges.blocks():
            of_block, parts, given = self._of(block), ranges(block.count), _or_none(block.weights)
            dealt = tails, heads, weights
            over_items(
                range(len(parts)),
                lambda part: _deal_edges(*of_block, shift, *parts[part], given, free[first + part], *dealt),  # noqa: B023
            )
            first += len(parts)

    def _of(self, block: Edges) -> tuple[Any, ...]:
        numbers = unsigned(self.numbering.table), np.uint64(self.numbering.first)
        return unsigned(block.src), unsigned(block.dst), *numbers, self.rules.both, self.rules.keep_self_loops


@dataclass(frozen=True)
class ReversedRows:
    """The arcs of rows, reversed."""

    csr: Csr

    @property
    def most(self) -> int:
        """See `UnsortedArcs`."""
        return len(self.csr.indices)

    @property
    def row(self) -> np.dtype[Any]:
        """See `UnsortedArcs`."""
        return self.csr.indices.dtype

    @property
    def weight(self) -> np.dtype[Any] | None:
        """See `UnsortedArcs`."""
        return None if self.csr.weights is None else self.csr.weights.dtype

    def count(self, shift: int, buckets: int) -> Array:
        """See `UnsortedArcs`."""
        parts, rows = ranges_of_rows(self.csr.offsets), (unsigned(self.csr.offsets), unsigned(self.csr.indices))
        counts = np.zeros((len(parts), buckets), OFFSET)
        over_items(range(len(parts)), lambda part: _count_rows(*rows, shift, *parts[part], counts[part]))
        return counts

    def deal(self, shift: int, free: Array, tails: Array, heads: Array, weights: Array) -> None:
        """See `UnsortedArcs`."""
        parts, rows = ranges_of_rows(self.csr.offsets), (unsigned(self.csr.offsets), unsigned(self.csr.indices))
        given, dealt = _or_none(self.csr.weights), (tails, heads, weights)
        over_items(range(len(parts)), lambda part: _deal_rows(*rows, shift, *parts[part], given, free[part], *dealt))


def _or_none(weights: Array | None) -> Array:
    """Weights as compiled loops take them."""
    return NO_WEIGHTS if weights is None else frozen(weights)


@njit(cache=True, nogil=True)
def _count_edges(
    src: Array, dst: Array, table: Array, first: np.uint64, both: bool, self_loops: bool, shift: int, begin: int, end: int,
    counts: Array,
) -> None:  # fmt: skip
    """Count the arcs of edges `begin..end-1` in each bucket."""
    for edge in range(begin, end):
        loop = src[edge] == dst[edge]
        counts[_position(table, first, src[edge]) >> shift] += self_loops or not loop
        if both:
            counts[_position(table, first, dst[edge]) >> shift] += not loop


@njit(cache=True, nogil=True)
def _deal_edges(
    src: Array, dst: Array, table: Array, first: np.uint64, both: bool, self_loops: bool, shift: int, begin: int, end: int,
    weights: Array, free: Array, tails: Array, heads: Array, dealt: Array,
) -> None:  # fmt: skip
    """Write arcs and their weights to the places that are `free` in each bucket of this pass."""
    for edge in range(begin, end):
        tail, head = _position(table, first, src[edge]), _position(table, first, dst[edge])
        if self_loops or tail != head:
            _deal(tail, head, edge, shift, weights, free, tails, heads, dealt)
        if both and tail != head:
            _deal(head, tail, edge, shift, weights, free, tails, heads, dealt)


@njit(cache=True, nogil=True, inline="always")
def _deal(
    tail: np.uint64, head: np.uint64, edge: int, shift: int, weights: Array, free: Array, tails: Array, heads: Array, dealt: Array
) -> None:
    """Write one arc of an edge, if its bucket is one of this pass."""
    place = free[tail >> shift]
    if place != ELSEWHERE:
        free[tail >> shift] += 1
        tails[place], heads[place] = tail, head
        if len(weights):
            dealt[place] = weights[edge]


@njit(cache=True, nogil=True, inline="always")
def _position(table: Array, first: np.uint64, end: np.uint64) -> np.uint64:
    """The position of an edge's end: without a table it is one."""
    return np.uint64(table[np.uint64(end) - first]) if len(table) else np.uint64(end)


@njit(cache=True, nogil=True)
def _count_rows(offsets: Array, indices: Array, shift: int, begin: int, end: int, counts: Array) -> None:
    """Count the arcs of rows `begin..end-1`, reversed, in each bucket."""
    for arc in range(offsets[begin], offsets[end]):
        counts[indices[arc] >> shift] += 1


@njit(cache=True, nogil=True)
def _deal_rows(
    offsets: Array, indices: Array, shift: int, begin: int, end: int, weights: Array, free: Array, tails: Array, heads: Array,
    dealt: Array,
) -> None:  # fmt: skip
    """Write the arcs of rows, reversed, and their weights to the places that are `free` in each bucket of this pass."""
    for row in range(begin, end):
        for arc in range(offsets[row], offsets[row + 1]):
            place = free[indices[arc] >> shift]
            if place != ELSEWHERE:
                free[indices[arc] >> shift] += 1
                tails[place], heads[place] = indices[arc], row
                if len(weights):
                    dealt[place] = weights[arc]
