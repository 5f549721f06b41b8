"""Merging of changes on the GPU (merging.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch, pointer
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.merging.changes import KIND, Changes
from kernels.layout.merging.constants import MERGE_ITEMS, MERGE_THREADS

_SOURCE = "layout/merging/merging.cu"
_TILE = MERGE_THREADS * MERGE_ITEMS
_KIND_BITS = 2


def sort_by_arc(rows: Array, ranks: Array, kinds: Array) -> tuple[Array, Array, Array, Array]:
    """As `cpu.sort_by_arc`; (row, rank, kind) is packed to a key of 64 bits, and unpacked in order."""
    if not len(rows):
        return rows, ranks, kinds, cupy.empty(0, np.uint32)
    rank_bits, row_bits = (int(each.max()).bit_length() for each in (ranks, rows))
    low, high = KEY.type(_KIND_BITS), KEY.type(_KIND_BITS + rank_bits)
    keys = rows.astype(KEY) << high | ranks.astype(KEY) << low | (kinds + KIND.type(1)).astype(KEY)
    order = cupy.arange(len(rows), dtype=np.uint32 if len(rows) < 2**32 else np.uint64)
    keys, sorted_order = sort(keys, order, 0, _KIND_BITS + rank_bits + row_bits)
    assert sorted_order is not None
    sorted_ranks = (keys >> low & KEY.type((1 << rank_bits) - 1)).astype(ranks.dtype)
    return (keys >> high).astype(rows.dtype), sorted_ranks, (keys & KEY.type(3)).astype(KIND) - KIND.type(1), sorted_order


def search(csr: Csr, changes: Changes, positions: Array | None, places: Array, found: Array) -> None:
    """As `cpu.search`."""
    rows = csr.offsets, np.int64(len(csr.offsets) - 1), csr.indices, pointer(positions)
    given = (
        *(each.astype(csr.indices.dtype, copy=False) for each in (changes.rows, changes.heads)),
        changes.kinds,
        np.int64(len(changes)),
    )
    launch(_SOURCE, "find_places", MERGE_THREADS, len(changes), *rows, *given, places, found, ROW=csr.indices.dtype)


def shift_offsets(old: Array, rows: Array, before: Array, offsets: Array) -> None:
    """As `cpu.shift_offsets`."""
    arguments = old, np.int64(len(old) - 1), rows, np.int64(len(rows)), before, np.int64(len(offsets)), offsets
    blocks = -(-len(offsets) // MERGE_THREADS)
    launch(_SOURCE, "shift_offsets", MERGE_THREADS, None, *arguments, blocks=blocks, plain=True, ROW=rows.dtype)


def move(csr: Csr, changes: Changes, places: Array, before: Array, made: Csr) -> None:
    """As `cpu.move`."""
    arcs, width = len(csr.indices), csr.indices.dtype
    weight_bytes = np.int32(0 if csr.weights is None else csr.weights.itemsize)
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
