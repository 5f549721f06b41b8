"""The layout on the GPU: an edge list to rows of arcs, their order and their lanes.

Arcs are sorted as keys of no more bits than two positions need (arcs.cu, radix_sort.cu), so that parallel arcs become adjacent;
then each row moves to its place in the order (rows.cu). The keys need the most memory, twice 8 bytes per arc. So an edge list
that is not small is divided into ranges of tails, which become keys and then rows one after the other; edges are in the memory of
the GPU, or come again for each range, in blocks.
"""

from dataclasses import replace
from typing import Any

import cupy
import numpy as np

from kernels.distributed.partition import cut
from kernels.gpu.constants import STATUS_FLAG_BITS
from kernels.gpu.loader import free_bytes, pointer
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import ID, OFFSET, Array, Csr, index_dtype
from kernels.layout.constants import LAYOUT_THREADS, PACK_EDGES, TAIL_BIN_BITS, UNPACK_KEYS, WARP_ARCS, WARP_DEGREE
from kernels.layout.on_gpu.numbering import NumberedEdges, bits_of, bytes_of, number, run
from kernels.layout.rules import ArcRules, Edges, EdgeSource

_ROWS = "layout/rows.cu"
_UNPACKED_TILE = UNPACK_KEYS * LAYOUT_THREADS  # keys of a block
_SMALL = 1 << 24  # arcs, whose keys take 268 MB: one range
MOST_KEYS = 1 << 31  # of a range, here on average: CuPy's functions are tried with no more
_RANGE_BYTES = 1.5  # memory that the arcs of a range may take, relative to the rows
_SPACE = 3  # free memory, relative to the rows, in which blocks of the pool that are partly in use leave enough for them again
_MOST_DROPPED = 16  # the arrays are copied to their length if more than one arc in 16 was dropped
_BLOCK_ARCS = WARP_ARCS * LAYOUT_THREADS // 32
_SUM = (1 << 8 * KEY.itemsize - STATUS_FLAG_BITS) - 1  # the bits of a status word that hold a sum


def clean(
    edges: EdgeSource, rules: ArcRules, dropped: list[Edges] | None = None, ranges: int | None = None
) -> tuple[Array, Csr, int]:
    """As `kernels.layout.cleaning.clean`: ascending ids, clean arcs between positions, and the number of self-loops.

    An edge list that is not in memory is read once to number the vertices, once to divide them, and once for each of the `ranges`
    of tails. More of these need less memory. By default the peak, without the edge list, is 2.5 times the rows, or as much less
    as the free memory asks for, provided that ids are dense, few arcs are dropped and no tail has most of the arcs.
    """
    numbered = number(edges, rules, dropped)
    num_vertices, row, weight = len(numbered.ids), index_dtype(len(numbered.ids)), edges.weight
    parts = _ranges(numbered, num_vertices, row, ranges or _enough_ranges(numbered, row))
    most = sum(arcs for _, arcs in parts)
    offsets, indices = cupy.zeros(num_vertices + 1, OFFSET), cupy.empty(most, row)
    kept_weights = None if weight is None else cupy.empty(most, weight)
    kept = self_loops = 0
    add = add_arcs if free_bytes() > _SPACE * (indices.nbytes + (0 if weight is None else most * weight.itemsize)) else _add_apart
    for tails, arcs in parts:
        rest = Csr(offsets[tails.start + 1 :], indices[kept:], None if kept_weights is None else kept_weights[kept:])
        added, loops = add(numbered, tails, arcs, rest)
        kept, self_loops = kept + added, self_loops + loops
    return numbered.ids, _rows(offsets, indices, kept_weights, kept), self_loops


def _enough_ranges(edges: NumberedEdges, row: np.dtype[Any]) -> int:
    """The number of ranges that keeps the peak at 2.5 times the rows, and their keys within half of the memory beside the rows.

    A range's keys and weights exist twice. The memory of the offsets is left to the ids and their positions.
    """
    if edges.most_arcs <= _SMALL:
        return 1
    weight = 0 if edges.edges.weight is None else edges.edges.weight.itemsize
    sorted_by_weight = KEY.itemsize if weight and edges.rules.keep_parallel else 0
    of_row, of_key = row.itemsize + weight, 2 * (KEY.itemsize + weight + sorted_by_weight)
    spare = max((free_bytes() - of_row * edges.most_arcs) / 2, 1)
    ranges = max(of_key / (_RANGE_BYTES * of_row), of_key * edges.most_arcs / spare, edges.most_arcs / MOST_KEYS)
    return 1 + int(min(ranges, 1 << TAIL_BIN_BITS))


def _ranges(edges: NumberedEdges, num_vertices: int, row: np.dtype[Any], count: int) -> list[tuple[range, int]]:
    """Ranges of tails with about equal numbers of arcs, and the most arcs that each may have."""
    if count == 1:
        return [(range(num_vertices), edges.most_arcs)]
    shift = max(0, bits_of(num_vertices - 1) - TAIL_BIN_BITS)
    counts = cupy.zeros(-(-num_vertices >> shift) if num_vertices else 0, np.int64)
    edges.launch("count_tails", row, np.int32(shift), np.int32(len(counts)), counts)
    arcs = counts.get()
    return [
        (range(*(min(end << shift, num_vertices) for end in (bins.start, bins.stop))), int(arcs[bins.start : bins.stop].sum()))
        for bins in cut(arcs, count)
    ]


def _add_apart(edges: NumberedEdges, tails: range, most: int, rest: Csr) -> tuple[int, int]:
    """As `add_arcs`, with all temporary arrays in a pool of their own, where no part that stays in use keeps a large block."""
    pool, listed = cupy.cuda.MemoryPool(), list[Edges]()
    cupy.get_default_memory_pool().free_all_blocks()
    with cupy.cuda.using_allocator(pool.malloc):
        counts = add_arcs(replace(edges, dropped=None if edges.dropped is None else listed), tails, most, rest)
    if edges.dropped is not None:
        edges.dropped.extend(part.take(cupy.arange(part.count)) for part in listed)
    listed.clear()
    pool.free_all_blocks()
    return counts


def add_arcs(edges: NumberedEdges, tails: range, most: int, rest: Csr) -> tuple[int, int]:
    """Write the arcs of a range of tails to the beginning of `rest`; return their number and that of the self-loops.

    `most` arcs of these tails are in the edges. The degrees are added to `rest.offsets`, the first tail's to its first entry;
    indices are the positions of the heads.
    """
    bits = bits_of(len(edges.ids) - 1)
    if rest.weights is not None and not edges.rules.keep_parallel:
        rest.weights[:most].view(np.uint8).fill(0xFF)
    keys, counts = cupy.empty(most, KEY), cupy.zeros(2, np.int64)
    weights = None if edges.edges.weight is None else cupy.empty(most, edges.edges.weight)
    of_tails = pointer(edges.rows), np.int64(tails.start), np.int64(len(tails)), np.int32(bits)
    arguments = (*of_tails, keys, pointer(weights), counts)
    edges.launch("pack_edges", rest.indices.dtype, *arguments, of_thread=PACK_EDGES, weighted=True)
    length, self_loops = map(int, counts.get())
    keys, weights = keys[:length], None if weights is None else weights[:length]
    if weights is not None and edges.rules.keep_parallel:
        keys, weights = _lightest_first(keys, weights)
    keys, weights = sort(keys, weights, 0, bits + bits_of(len(tails) - 1))
    if edges.dropped is not None and not edges.rules.keep_parallel:
        _list_dropped(edges, tails.start, keys, weights, bits)
    return _unpack(keys, weights, bits, rest, distinct=not edges.rules.keep_parallel), self_loops


def _list_dropped(edges: NumberedEdges, first_tail: int, keys: Array, weights: Array | None, bits: int) -> None:
    """List all arcs of equal keys but the lightest; of both arcs of an edge, the one to the smaller position."""
    repeats = keys[1:] == keys[:-1]
    parallel = cupy.zeros(len(keys), np.bool_)
    parallel[1:] = repeats
    parallel[:-1] |= repeats
    places = cupy.flatnonzero(parallel)
    keys = keys[places]
    if weights is not None:
        keys, weights = sort(*_lightest_first(keys, weights[places]), 0, 8 * KEY.itemsize)
    tails = edges.positions_of((keys >> KEY.type(bits)).astype(OFFSET) + first_tail)
    heads = (keys & KEY.type((1 << bits) - 1)).astype(OFFSET)
    listed = keys[1:] == keys[:-1]
    if edges.rules.both:
        listed &= (heads <= tails)[1:]
    places = cupy.flatnonzero(listed) + 1
    assert edges.dropped is not None
    edges.dropped.append(Edges(edges.ids[tails[places]], edges.ids[heads[places]], None if weights is None else weights[places]))


def _lightest_first(keys: Array, weights: Array) -> tuple[Array, Array]:
    """Keys and weights by ascending weight; weights are never negative."""
    word = np.dtype(f"u{weights.itemsize}")
    words, sorted_keys = sort(weights.view(word).astype(KEY), keys, 0, 8 * word.itemsize)
    assert sorted_keys is not None
    return sorted_keys, words.astype(word).view(weights.dtype)


def transposed(csr: Csr) -> Csr:
    """The arcs reversed: their rows ascend by index, and parallel arcs keep their order."""
    num_rows, arcs = len(csr.offsets) - 1, len(csr.indices)
    bits, keys = bits_of(num_rows - 1), cupy.empty(arcs, KEY)
    arguments = (csr.offsets, csr.indices, np.int64(num_rows), np.int32(bits), keys)
    run("pack_rows", -(-arcs // _BLOCK_ARCS), *arguments, EDGE=ID, ROW=csr.indices.dtype)
    keys, weights = sort(keys, None if csr.weights is None else csr.weights.copy(), bits, 2 * bits)
    offsets, indices = cupy.zeros(num_rows + 1, OFFSET), cupy.empty_like(csr.indices)
    kept_weights = None if csr.weights is None else cupy.empty_like(csr.weights)
    _unpack(keys, weights, bits, Csr(offsets[1:], indices, kept_weights), distinct=False)
    return _rows(offsets, indices, kept_weights, arcs)


def equal(left: Csr, right: Csr) -> bool:
    """Whether two graphs have the same rows."""
    pairs = ((left.offsets, right.offsets), (left.indices, right.indices), (left.weights, right.weights))
    return all(one is other or bool(cupy.array_equal(one, other)) for one, other in pairs)


def by_degree_in_windows(degrees: Array, window: int, before: int = 0) -> Array:
    """As `kernels.layout.orders.by_degree_in_windows`."""
    num_vertices = len(degrees)
    positions: Array = cupy.arange(num_vertices, dtype=index_dtype(num_vertices))
    if not num_vertices:
        return positions
    most = max(int(degrees.max()), WARP_DEGREE - 1)
    keys = most - degrees  # within one window; rows of fewer than 32 arcs have the last 32 keys
    windows = -(-(before % window + num_vertices) // window)
    if windows > 1:
        places = cupy.arange(before % window, before % window + num_vertices, dtype=OFFSET)
        keys += cupy.where(degrees < WARP_DEGREE, WARP_DEGREE * (places // window), 0)
    _, order = sort(keys.view(KEY), positions, 0, bits_of(most + WARP_DEGREE * (windows - 1)))
    assert order is not None
    return order


def take_rows(by_position: Csr, order: Array, row_of_position: Array | None) -> Csr:
    """As `kernels.layout.laid_out.take_rows`."""
    begins = by_position.offsets[order]
    offsets = cupy.zeros(len(order) + 1, OFFSET)
    cupy.cumsum(by_position.offsets[1:][order] - begins, out=offsets[1:])
    arcs = int(offsets[-1])
    weights = None if by_position.weights is None else cupy.empty(arcs, by_position.weights.dtype)
    indices = by_position.indices if row_of_position is None else by_position.indices.astype(row_of_position.dtype, copy=False)
    rows = Csr(offsets, cupy.empty(arcs, indices.dtype), weights)
    begins -= offsets[:-1]
    source = (begins, indices, pointer(by_position.weights), bytes_of(weights), pointer(row_of_position))
    arguments = (offsets, np.int64(len(order)), *source, rows.indices, pointer(weights))
    run("take_rows", -(-arcs // _BLOCK_ARCS), *arguments, source=_ROWS, ROW=indices.dtype)
    return rows


def _unpack(keys: Array, weights: Array | None, bits: int, rest: Csr, distinct: bool) -> int:
    """Write the arcs of sorted keys to the beginning of `rest`, the tails' degrees to its offsets; return the number of arcs."""
    tiles = -(-len(keys) // _UNPACKED_TILE)
    if not tiles:
        return 0
    status = cupy.zeros(tiles + 1, KEY)
    given = (keys, pointer(weights), bytes_of(weights), np.int64(len(keys)), np.int32(bits), np.bool_(distinct))
    results = (status, status[tiles:], rest.indices, pointer(rest.weights), rest.offsets)
    run("unpack_arcs", tiles, *given, *results, EDGE=ID, ROW=rest.indices.dtype)
    return int(status[tiles - 1]) & _SUM


def _rows(offsets: Array, indices: Array, weights: Array | None, arcs: int) -> Csr:
    """Rows of `arcs` arcs. `offsets` has the degrees from entry 1 on; the other arrays may be longer."""
    cupy.cumsum(offsets, out=offsets)
    return Csr(offsets, _shortened(indices, arcs), None if weights is None else _shortened(weights, arcs))


def _shortened(array: Array, length: int) -> Array:
    """The first `length` elements; a copy if a view would keep much unused memory alive."""
    return array[:length].copy() if _MOST_DROPPED * (len(array) - length) > len(array) else array[:length]
