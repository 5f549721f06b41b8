"""Merging of changes on the GPU (merging.cu, pairs.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.cpu.parallel import inverse
from kernels.gpu.loader import launch, pointer
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.merging.changes import KIND, Changes
from kernels.layout.merging.constants import KIND_BITS, MERGE_ITEMS, MERGE_THREADS

_SOURCE, _PAIRS = "layout/merging/merging.cu", "layout/merging/pairs.cu"
_TILE = MERGE_THREADS * MERGE_ITEMS


def sort_by_arc(rows: Array, ranks: Array, kinds: Array) -> tuple[Array, Array, Array, Array]:
    """As `cpu.sort_by_arc`; (row, rank, kind) is packed to a key of 64 bits, and unpacked in order."""
    if not len(rows):
        return rows, ranks, kinds, cupy.empty(0, np.uint32)
    rank_bits, row_bits = (int(each.max()).bit_length() for each in (ranks, rows))
    keys, how = cupy.empty(len(rows), KEY), (np.int64(len(rows)), np.int32(rank_bits))
    columns = rows, ranks.astype(rows.dtype, copy=False), kinds
    launch(_SOURCE, "pack_changes", MERGE_THREADS, len(rows), *columns, *how, keys, ROW=rows.dtype)
    order = cupy.arange(len(rows), dtype=np.uint32 if len(rows) < 2**32 else np.uint64)
    keys, sorted_order = sort(keys, order, 0, KIND_BITS + rank_bits + row_bits)
    assert sorted_order is not None
    sorted_columns = tuple(cupy.empty_like(each) for each in columns)
    launch(_SOURCE, "unpack_changes", MERGE_THREADS, len(rows), keys, *how, *sorted_columns, ROW=rows.dtype)
    return sorted_columns[0], sorted_columns[1].astype(ranks.dtype, copy=False), sorted_columns[2], sorted_order


def search(csr: Csr, changes: Changes, positions: Array | None, places: Array, exist: Array) -> None:
    """As `cpu.search`."""
    rows = csr.offsets, np.int64(len(csr.offsets) - 1), csr.indices, pointer(positions)
    given = (
        *(each.astype(csr.indices.dtype, copy=False) for each in (changes.rows, changes.heads)),
        changes.kinds,
        np.int64(len(changes)),
    )
    launch(_SOURCE, "find_places", MERGE_THREADS, len(changes), *rows, *given, places, exist, ROW=csr.indices.dtype)


def newest(rows: Array, indices: Array, puts: Array, weights: Array | None, positions: Array) -> tuple[Any, ...]:
    """As `cpu.newest`; changes without weights are sorted without their places."""
    bits, length, width = np.int32((len(positions) - 1).bit_length()), len(rows), rows.dtype
    keys = cupy.empty(length, KEY)
    launch(_PAIRS, "pack_pairs", MERGE_THREADS, length, rows, indices, puts, positions, bits, np.int64(length), keys, ROW=width)
    order = None if weights is None else cupy.arange(length, dtype=np.uint32)
    keys, order = sort(keys, order, 1, 1 + 2 * int(bits))
    counts = cupy.zeros(_blocks(length) + 1, OFFSET)
    _by_blocks("count_newest", length, width, keys, np.int64(length), counts)
    cupy.cumsum(counts, out=counts)
    kept = int(counts[-1])
    outputs = cupy.empty(kept, width), cupy.empty(kept, width), cupy.empty(kept, np.bool_)
    of_weights = None if weights is None else cupy.empty(kept, weights.dtype)
    given = counts, bits, inverse(positions), pointer(order), pointer(weights), _bytes(weights), *outputs, pointer(of_weights)
    _by_blocks("take_newest", length, width, keys, np.int64(length), *given)
    return *outputs, of_weights


def effective(
    csr: Csr, rows: Array, indices: Array, puts: Array, weights: Array | None, positions: Array
) -> tuple[Changes, Array, Array]:
    """As `cpu.effective`."""
    width, length = csr.indices.dtype, np.int64(len(rows))
    rows, indices = (each.astype(width, copy=False) for each in (rows, indices))
    places, kinds = cupy.empty(len(rows), OFFSET), cupy.empty(len(rows), KIND)
    counts, sums = (cupy.zeros(_blocks(len(rows)) + 1, OFFSET) for _ in range(2))
    stored = csr.offsets, np.int64(len(csr.offsets) - 1), csr.indices, positions
    _by_blocks("resolve_pairs", len(rows), width, *stored, rows, indices, puts, length, places, kinds, counts, sums)
    for each in (counts, sums):
        cupy.cumsum(each, out=each)
    kept = int(counts[-1])
    taken, heads = cupy.empty(kept, width), cupy.empty(kept, width)
    of_weights = None if weights is None else cupy.empty(kept, weights.dtype)
    of_kinds, of_places, before = cupy.empty(kept, KIND), cupy.empty(kept, OFFSET), cupy.zeros(kept + 1, OFFSET)
    given = rows, indices, pointer(weights), _bytes(weights), places, kinds, length, counts, sums
    _by_blocks("take_effective", len(rows), width, *given, taken, heads, pointer(of_weights), of_kinds, of_places, before)
    return Changes(taken, heads, of_kinds, of_weights, taken), of_places, before


def _blocks(items: int) -> int:
    return -(-items // MERGE_THREADS)


def _by_blocks(kernel: str, items: int, width: Any, *arguments: Any) -> None:
    """Run a kernel of pairs.cu with a thread for each item."""
    launch(_PAIRS, kernel, MERGE_THREADS, None, *arguments, blocks=_blocks(items), plain=True, ROW=width)


def _bytes(weights: Array | None) -> np.int32:
    return np.int32(0 if weights is None else weights.itemsize)


def shift_offsets(old: Array, rows: Array, before: Array, offsets: Array) -> None:
    """As `cpu.shift_offsets`."""
    arguments = old, np.int64(len(old) - 1), rows, np.int64(len(rows)), before, np.int64(len(offsets)), offsets
    launch(_SOURCE, "shift_offsets", MERGE_THREADS, None, *arguments, blocks=_blocks(len(offsets)), plain=True, ROW=rows.dtype)


def move(csr: Csr, changes: Changes, places: Array, before: Array, made: Csr) -> None:
    """As `cpu.move`."""
    arcs, width = len(csr.indices), csr.indices.dtype
    weight_bytes = _bytes(csr.weights)
    results = made.indices, pointer(made.weights)
    if arcs:
        tiles = -(-arcs // _TILE)
        firsts = cupy.searchsorted(places, cupy.arange(tiles + 1, dtype=OFFSET) * _TILE)
        old: tuple[Any, ...] = csr.indices, pointer(csr.weights), weight_bytes, np.int64(arcs)
        arguments = *old, changes.kinds, places, before, firsts, *results
        launch(_SOURCE, "move_arcs", MERGE_THREADS, None, *arguments, blocks=tiles, plain=True, ROW=width)
    if len(changes):
        added = changes.heads, pointer(changes.weights), weight_bytes, changes.kinds, np.int64(len(changes)), places, before
        launch(_SOURCE, "put_arcs", MERGE_THREADS, len(changes), *added, *results, ROW=width)
