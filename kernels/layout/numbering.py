"""External ids to positions: the dense numbers 0..V-1 in ascending order of the ids."""

from collections.abc import Iterator

import numpy as np

from kernels.graph import ID, Array, index_dtype

_SLOTS_PER_ID = 2  # a table over the range of the ids pays off up to this many slots per id that is read
_CHUNK = 1 << 20  # ids at a time: temporaries stay in the cache


def number(src: Array, dst: Array, declared: range) -> tuple[Array, Array, Array]:
    """Number the vertices: every id in `src`, `dst` and `declared`.

    Args:
        src, dst (int64 [E]): External ids of the edges' endpoints, not negative.
        declared: Ids that exist even without edges.

    Returns:
        ids (int64 [V]): Ascending; position p is the vertex `ids[p]`.
        src_positions, dst_positions: index width [E].
    """
    span = _span(src, dst, declared)
    if pays_as_table(span, len(src) + len(dst) + len(declared)):
        ids = _ids_of_dense_range(src, dst, declared, span)
        table = np.empty(len(span), index_dtype(len(ids)))
        table[ids - span.start] = np.arange(len(ids), dtype=table.dtype)
        return ids, _looked_up(table, src, span.start), _looked_up(table, dst, span.start)
    ids = _ids_of_sparse_range(src, dst, declared)
    return ids, _searched(ids, src), _searched(ids, dst)


def pays_as_table(span: range, ids: int) -> bool:
    """Whether a table over the range costs less than sorting the `ids` ids."""
    return span.stop - span.start <= _SLOTS_PER_ID * ids  # len() of a range of 2^63 overflows


def _span(src: Array, dst: Array, declared: range) -> range:
    ends = [end for ids in (src, dst) if len(ids) for end in (int(ids.min()), int(ids.max()))]
    ends += [declared[0], declared[-1]] if declared else []
    return range(min(ends), max(ends) + 1) if ends else range(0)


def _ids_of_dense_range(src: Array, dst: Array, declared: range, span: range) -> Array:
    seen = np.zeros(len(span), np.bool_)
    seen[declared.start - span.start : declared.stop - span.start] = True
    for ids in (src, dst):
        for chunk in _chunks(len(ids)):
            seen[ids[chunk] - span.start] = True
    present: Array = np.flatnonzero(seen).astype(ID, copy=False) + span.start
    return present


def _ids_of_sparse_range(src: Array, dst: Array, declared: range) -> Array:
    ids: Array = np.concatenate([src, dst, np.arange(declared.start, declared.stop, dtype=ID)])
    ids.sort()
    distinct: Array = ids[np.append(True, ids[1:] != ids[:-1])]
    return distinct


def _looked_up(table: Array, ids: Array, first: int) -> Array:
    positions = np.empty(len(ids), table.dtype)
    for chunk in _chunks(len(ids)):
        positions[chunk] = table[ids[chunk] - first]
    return positions


def _searched(sorted_ids: Array, ids: Array) -> Array:
    positions = np.empty(len(ids), index_dtype(len(sorted_ids)))
    for chunk in _chunks(len(ids)):
        ascending = np.argsort(ids[chunk])  # ascending searches share their path: eight times as fast as in random order
        positions[chunk][ascending] = np.searchsorted(sorted_ids, ids[chunk][ascending])
    return positions


def _chunks(length: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK) for start in range(0, length, _CHUNK))
