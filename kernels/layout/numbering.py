"""External ids to positions: the dense numbers 0..V-1 in ascending order of the ids."""

from dataclasses import dataclass

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, over_items, ranges, running_sums
from kernels.graph import ID, Array, index_dtype

_SLOTS_PER_ID = 2  # a table over the range of the ids pays off up to this many slots per id that is read
_CHUNK = 1 << 20  # ids that are searched for at a time


@dataclass(frozen=True)
class Numbering:
    """The vertices of an edge list, and the positions of its endpoints.

    A table is read where a position is needed: positions of all endpoints would take as much memory as the ids.
    """

    ids: Array  # int64 [V]: ascending; position p is the vertex `ids[p]`
    src: Array  # [E]: the endpoints' external ids, or, without a table, their positions (index width)
    dst: Array
    table: Array  # index width [S]: the position of id `first + place`; [0] if the range of the ids is too wide
    first: int


def number(src: Array, dst: Array, declared: range) -> Numbering:
    """Number the vertices: every id in `src`, `dst` and `declared`.

    Args:
        src, dst (int32 or int64 [E]): External ids of the edges' endpoints, not negative.
        declared: Ids that exist even without edges.
    """
    span = _span(src, dst, declared)
    if not pays_as_table(span, len(src) + len(dst) + len(declared)):
        ids = _ids_of_sparse_range(src, dst, declared)
        return Numbering(ids, _searched(ids, src), _searched(ids, dst), np.empty(0, index_dtype(len(ids))), 0)
    seen = np.zeros(len(span), np.bool_)
    seen[declared.start - span.start : declared.stop - span.start] = True
    over_items(ranges(len(src)), lambda part: _mark(src, dst, span.start, *part, seen))
    table = running_sums(seen, index_dtype(len(span)))  # how many ids are smaller
    ids = np.empty(table[-1], ID)

    def list_ids(part: Range) -> None:
        np.add(np.flatnonzero(seen[slice(*part)]), span.start + part[0], out=ids[table[part[0]] : table[part[1]]])

    over_items(ranges(len(span)), list_ids)
    return Numbering(ids, src, dst, table.astype(index_dtype(len(ids)), copy=False), span.start)


def pays_as_table(span: range, ids: int) -> bool:
    """Whether a table over the range costs less than sorting the `ids` ids."""
    return span.stop - span.start <= _SLOTS_PER_ID * ids  # len() of a range of 2^63 overflows


def _span(src: Array, dst: Array, declared: range) -> range:
    parts = [ids[slice(*part)] for ids in (src, dst) if len(ids) for part in ranges(len(ids))]
    ends = [end for both in over_items(parts, lambda part: (int(part.min()), int(part.max()))) for end in both]
    ends += [declared[0], declared[-1]] if declared else []
    return range(min(ends), max(ends) + 1) if ends else range(0)


def _ids_of_sparse_range(src: Array, dst: Array, declared: range) -> Array:
    ids: Array = np.concatenate([src, dst, np.arange(declared.start, declared.stop, dtype=ID)], dtype=ID)
    ids.sort()
    distinct: Array = ids[np.append(True, ids[1:] != ids[:-1])]
    return distinct


@njit(cache=True, nogil=True)
def _mark(src: Array, dst: Array, first: int, begin: int, end: int, seen: Array) -> None:
    for edge in range(begin, end):
        for place in (src[edge] - first, dst[edge] - first):
            if not seen[place]:  # threads that all write to a hub wait for each other
                seen[place] = True


def _searched(sorted_ids: Array, ids: Array) -> Array:
    positions = np.empty(len(ids), index_dtype(len(sorted_ids)))

    def search(begin: int) -> None:
        chunk = slice(begin, begin + _CHUNK)
        ascending = np.argsort(ids[chunk])  # ascending searches share their path: eight times as fast as in random order
        positions[chunk][ascending] = np.searchsorted(sorted_ids, ids[chunk][ascending])

    over_items(range(0, len(ids), _CHUNK), search)
    return positions
