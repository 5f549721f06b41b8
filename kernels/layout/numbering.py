"""External ids to positions: the dense numbers 0..V-1 in ascending order of the ids."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, over_items, ranges, running_sums
from kernels.graph import ID, Array, index_dtype
from kernels.layout.rules import Edges, EdgeSource, Spill

_SLOTS_PER_ID = 2  # a table over the range of the ids pays off up to this many slots per id that is read
_SLOT = 5  # bytes of a slot
_CHUNK = 1 << 20  # ids that are searched for at a time


@dataclass(frozen=True)
class Numbered:
    """The vertices of an edge list, and where the positions of its endpoints are read."""

    ids: Array  # int64 [V]: ascending; position p is the vertex `ids[p]`
    edges: EdgeSource  # between external ids, or, without a table, between positions of index width
    # Index width [S]: the position of id `first + place`; [0] if the range of the ids is too wide. It is read where a position is
    # needed: the positions of all endpoints would take as much memory as the ids.
    table: Array
    first: int
    self_loops: int  # number of edges that are self-loops


def number(edges: EdgeSource, declared: range) -> Numbered:
    """Number the vertices: the endpoints of all edges, which are not negative, and `declared`, which exist without edges."""
    span = _with_declared(edges.span(), declared)
    spill = edges.spill
    if not pays_as_table(span, 2 * edges.count + len(declared)) or (spill and _SLOT * (span.stop - span.start) > spill.most):
        ids, self_loops = _ids_of_sparse_range(edges, declared)
        searched = Searched(edges, ids)
        kept = searched if spill else next(searched.blocks())
        return Numbered(ids, kept, np.empty(0, index_dtype(len(ids))), 0, self_loops)
    seen, self_loops = np.zeros(len(span), np.bool_), 0
    seen[declared.start - span.start : declared.stop - span.start] = True
    for block in edges.blocks():
        ends = block.src, block.dst, span.start
        self_loops += sum(over_items(ranges(block.count), lambda part: _mark(*ends, *part, seen)))  # noqa: B023
    table = running_sums(seen, index_dtype(len(span)))  # how many ids are smaller
    ids = np.empty(table[-1], ID)

    def list_ids(part: Range) -> None:
        np.add(np.flatnonzero(seen[slice(*part)]), span.start + part[0], out=ids[table[part[0]] : table[part[1]]])

    over_items(ranges(len(span)), list_ids)
    return Numbered(ids, edges, table.astype(index_dtype(len(ids)), copy=False), span.start, self_loops)


@dataclass(frozen=True)
class Searched:
    """An edge list between positions, which are searched for as its blocks are read."""

    edges: EdgeSource
    ids: Array  # int64 [V]: ascending

    @property
    def count(self) -> int:
        """Number of edges."""
        return self.edges.count

    @property
    def weight(self) -> np.dtype[Any] | None:
        """The type of the weights; None without any."""
        return self.edges.weight

    @property
    def spill(self) -> Spill | None:
        """See `EdgeSource`."""
        return self.edges.spill

    def span(self) -> range:
        """All positions."""
        return range(len(self.ids))

    def blocks(self) -> Iterator[Edges]:
        """The edges in their order."""
        for block in self.edges.blocks():
            yield Edges(_searched(self.ids, block.src), _searched(self.ids, block.dst), block.weights)

    def none(self) -> Edges:
        """No edges."""
        ends = np.empty(0, index_dtype(len(self.ids)))
        return Edges(ends, ends, self.edges.none().weights)


def pays_as_table(span: range, ids: int) -> bool:
    """Whether a table over the range costs less than sorting the `ids` ids."""
    return span.stop - span.start <= _SLOTS_PER_ID * ids  # len() of a range of 2^63 overflows


def _with_declared(span: range, declared: range) -> range:
    if not span or not declared:
        return span or declared
    return range(min(span.start, declared.start), max(span.stop, declared.stop))


def _ids_of_sparse_range(edges: EdgeSource, declared: range) -> tuple[Array, int]:
    """All ids, and the number of self-loops. What is not distinct yet takes at most as much as what is, or as a block."""
    distinct, more, self_loops = np.arange(declared.start, declared.stop, dtype=ID), list[Array](), 0
    for block in edges.blocks():
        self_loops += int(np.count_nonzero(block.src == block.dst))
        more += [block.src, block.dst]
        if sum(map(len, more)) > len(distinct):
            distinct, more = _distinct([distinct, *more]), []
    return _distinct([distinct, *more]), self_loops


def _distinct(parts: list[Array]) -> Array:
    ids: Array = np.concatenate(parts, dtype=ID)
    ids.sort()
    distinct: Array = ids[np.append(True, ids[1:] != ids[:-1])[: len(ids)]]
    return distinct


@njit(cache=True, nogil=True)
def _mark(src: Array, dst: Array, first: int, begin: int, end: int, seen: Array) -> int:
    """Mark the ids of edges; return how many of these are self-loops."""
    self_loops = 0
    for edge in range(begin, end):
        self_loops += src[edge] == dst[edge]
        for place in (src[edge] - first, dst[edge] - first):
            if not seen[place]:  # threads that all write to a hub wait for each other
                seen[place] = True
    return self_loops


def _searched(sorted_ids: Array, ids: Array) -> Array:
    if is_cupy_array(sorted_ids):
        return np.searchsorted(sorted_ids, ids)
    positions = np.empty(len(ids), index_dtype(len(sorted_ids)))

    def search(begin: int) -> None:
        chunk = slice(begin, begin + _CHUNK)
        ascending = np.argsort(ids[chunk])  # ascending searches share their path: eight times as fast as in random order
        positions[chunk][ascending] = np.searchsorted(sorted_ids, ids[chunk][ascending])

    over_items(range(0, len(ids), _CHUNK), search)
    return positions
