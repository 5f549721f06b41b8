"""The layout on the GPU: an edge list in device memory to rows of arcs, their order and their lanes.

Arcs are sorted as keys of no more bits than two ranks need (arcs.cu, radix_sort.cu), so that equal arcs come side by side;
then each row moves to its place in the running order (rows.cu). Beside what is given and returned, the most memory is taken
by the keys, twice: 16 bytes an arc.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.cuda import load
from kernels.graph import ID, OFFSET, Array, Csr, index_dtype
from kernels.layout.numbering import pays_as_table
from kernels.layout.radix_sort import KEY, sort
from kernels.layout.vect_csr import LANES, WARP_DEGREE, VectCsr

_THREADS = 256  # as in arcs.cu and rows.cu
_UNPACKED_TILE = 16 * _THREADS  # keys, as in arcs.cu
_BLOCK_ARCS = 1024 * _THREADS // 32  # as in rows.cuh
_BLOCKS_PER_PROCESSOR = 8
_NULL = np.uintp(0)


def clean(
    src: Array, dst: Array, weights: Array | None, declared: range, both: bool, keep_self_loops: bool, keep_parallel: bool
) -> tuple[Array, Csr, int]:
    """External ids ascending, clean arcs by rank, and the number of self-loops (`kernels.layout.cleaning.clean`)."""
    if keep_parallel and weights is not None:
        order = cupy.argsort(weights)
        src, dst, weights = src[order], dst[order], weights[order]
    ids, first_id, ranks, src, dst = _number(src, dst, declared)
    num_vertices, row = len(ids), index_dtype(len(ids))
    # All bits set stand for no arc: a self-loop where these are dropped, and else the rank after all others.
    bits = _bits(num_vertices if keep_self_loops else num_vertices - 1)
    if bits > 32:
        raise ValueError(f"{num_vertices} vertices: two of their ranks do not fit a key of 64 bits")
    keys, self_loops = cupy.empty((1 + both) * len(src), KEY), cupy.zeros(1, np.int64)
    edges = (src, dst, np.int64(len(src)), np.int64(first_id), _or_null(ranks))
    rules = (np.int32(bits), np.bool_(both), np.bool_(keep_self_loops))
    _launch("pack_edges", _streaming(len(src)), (*edges, *rules, keys, self_loops), EDGE=src.dtype, ROW=row)
    if weights is not None:
        weights = cupy.repeat(weights, 2) if both else weights.copy()
    found = int(self_loops[0])
    kept = len(keys) - found * (both + (not keep_self_loops))
    keys, weights = sort(keys, weights, 0, 2 * bits)
    return ids, _unpack(keys, weights, kept, bits, num_vertices, row, distinct=not keep_parallel), found


def transposed(csr: Csr) -> Csr:
    """The same arcs seen from their other ends; their rows ascend by index, and equal arcs keep their order."""
    num_rows, arcs = len(csr.offsets) - 1, len(csr.indices)
    bits, keys = _bits(num_rows - 1), cupy.empty(arcs, KEY)
    arguments = (csr.offsets, csr.indices, np.int64(num_rows), np.int32(bits), keys)
    _launch("pack_rows", -(-arcs // _BLOCK_ARCS), arguments, EDGE=ID, ROW=csr.indices.dtype)
    keys, weights = sort(keys, None if csr.weights is None else csr.weights.copy(), bits, 2 * bits)
    return _unpack(keys, weights, arcs, bits, num_rows, csr.indices.dtype, distinct=False)


def equal(left: Csr, right: Csr) -> bool:
    """Whether two graphs have the same rows."""
    pairs = ((left.offsets, right.offsets), (left.indices, right.indices), (left.weights, right.weights))
    return all(one is other or bool(cupy.array_equal(one, other)) for one, other in pairs)


def by_degree_in_windows(degrees: Array, window: int) -> Array:
    """Order of the rows (`kernels.layout.orders`)."""
    num_vertices = len(degrees)
    ranks = cupy.arange(num_vertices, dtype=index_dtype(num_vertices))
    if not num_vertices:
        return ranks
    most = max(int(degrees.max()), WARP_DEGREE - 1)
    keys = most - degrees  # of one window, of whatever degree: the narrow rows take the last 32 keys
    if window < num_vertices:
        keys += cupy.where(degrees < WARP_DEGREE, WARP_DEGREE * (cupy.arange(num_vertices, dtype=OFFSET) // window), 0)
    windows = -(-num_vertices // window)
    return sort(keys.view(KEY), ranks, 0, _bits(most + WARP_DEGREE * (windows - 1)))[1]


def take_rows(by_rank: Csr, order: Array, row_of_rank: Array) -> Csr:
    """Arcs of the ranks in `order`, their ends renumbered (`kernels.layout.rows`)."""
    begins = by_rank.offsets[order]
    offsets = cupy.zeros(len(order) + 1, OFFSET)
    cupy.cumsum(by_rank.offsets[1:][order] - begins, out=offsets[1:])
    arcs = int(offsets[-1])
    weights = None if by_rank.weights is None else cupy.empty(arcs, by_rank.weights.dtype)
    rows = Csr(offsets, cupy.empty(arcs, by_rank.indices.dtype), weights)
    begins -= offsets[:-1]
    source = (begins, by_rank.indices, _or_null(by_rank.weights), _bytes(weights), row_of_rank)
    arguments = (offsets, np.int64(len(order)), *source, rows.indices, _or_null(weights))
    _launch("take_rows", -(-arcs // _BLOCK_ARCS), arguments, "rows.cu", ROW=row_of_rank.dtype)
    return rows


def fill_lanes(vect: VectCsr, first_lane: int) -> None:
    """Fill the vector extension, whose weights are zeros (`kernels.layout.vect_csr.extend`)."""
    csr, num_segments = vect.csr, len(vect.segments) - 1
    rows = (csr.offsets, np.int64(len(csr.offsets) - 1), csr.indices, _or_null(csr.weights), _bytes(csr.weights))
    where = (vect.segments, np.int64(num_segments), np.int64(first_lane), np.int64(vect.first_row))
    lanes = (vect.segment_indices, _or_null(vect.segment_weights))
    _launch("fill_lanes", _streaming(num_segments * LANES), (*rows, *where, *lanes), "rows.cu", ROW=csr.indices.dtype)


def _number(src: Array, dst: Array, declared: range) -> tuple[Array, int, Array | None, Array, Array]:
    """Ids ascending; the first id, and the ranks of the ids from it on (None where they have no gap); the edges' ends."""
    span = _span(src, dst, declared)
    if not pays_as_table(span, 2 * len(src) + len(declared)):
        ids = cupy.unique(
            cupy.concatenate([src.astype(ID), dst.astype(ID), cupy.arange(declared.start, declared.stop, dtype=ID)])
        )
        return ids, 0, None, cupy.searchsorted(ids, src), cupy.searchsorted(ids, dst)
    if len(span) == len(declared):
        return cupy.arange(span.start, span.stop, dtype=ID), span.start, None, src, dst
    seen = cupy.zeros(len(span), np.bool_)
    seen[declared.start - span.start : declared.stop - span.start] = True
    _launch("mark_ids", _streaming(len(src)), (src, dst, np.int64(len(src)), np.int64(span.start), seen), EDGE=src.dtype)
    places = cupy.flatnonzero(seen)
    if len(places) == len(span):
        return places + span.start, span.start, None, src, dst
    ranks = cupy.empty(len(span), index_dtype(len(places)))
    ranks[places] = cupy.arange(len(places), dtype=ranks.dtype)
    return places + span.start, span.start, ranks, src, dst


def _span(src: Array, dst: Array, declared: range) -> range:
    ends = [declared[0], declared[-1]] if declared else []
    if len(src):
        span = cupy.array([np.iinfo(ID).max, -1], ID)
        _launch("find_span", _streaming(len(src)), (src, dst, np.int64(len(src)), span), EDGE=src.dtype)
        ends += [int(end) for end in span.get()]
    return range(min(ends), max(ends) + 1) if ends else range(0)


def _unpack(
    keys: Array, weights: Array | None, length: int, bits: int, num_vertices: int, row: np.dtype[Any], distinct: bool
) -> Csr:
    """Rows of the first `length` of sorted keys."""
    tiles = -(-length // _UNPACKED_TILE)
    indices, least = cupy.empty(length, row), None if weights is None else cupy.empty(length, weights.dtype)
    if least is not None and distinct:
        least.view(np.uint8).fill(0xFF)
    begins, ends = cupy.zeros(num_vertices, OFFSET), cupy.zeros(num_vertices, OFFSET)
    status = cupy.zeros(tiles + 1, KEY)
    given = (keys, _or_null(weights), _bytes(weights), np.int64(length), np.int32(bits), np.bool_(distinct))
    results = (status, status[tiles:], indices, _or_null(least), begins, ends)
    _launch("unpack_arcs", tiles, (*given, *results), EDGE=ID, ROW=row)
    offsets = cupy.zeros(num_vertices + 1, OFFSET)
    ends -= begins
    cupy.cumsum(ends, out=offsets[1:])
    kept = int(offsets[-1])
    return Csr(offsets, indices[:kept], None if least is None else least[:kept])


def _bits(largest: int) -> int:
    return max(largest, 1).bit_length()


def _bytes(weights: Array | None) -> np.int32:
    return np.int32(0 if weights is None else weights.itemsize)


def _or_null(array: Array | None) -> Any:
    return _NULL if array is None else array


def _streaming(threads: int) -> int:
    """Blocks for a loop over this many elements: as many as run at a time."""
    most = _BLOCKS_PER_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
    return int(min(-(-threads // _THREADS), most))


def _launch(name: str, blocks: int, arguments: tuple[Any, ...], source: str = "arcs.cu", **types: np.dtype[Any]) -> None:
    if blocks:
        module = load(f"layout/{source}", cooperative=False, **({"ROW": np.dtype(np.int32)} | types))
        module.get_function(name)((blocks,), (_THREADS,), arguments)
