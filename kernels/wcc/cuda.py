"""Weak components on the GPU: one cooperative launch (wcc.cu), which reads all arcs, or a few of each row of many."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import cooperative
from kernels.graph import Array, Graph

TILE_THREADS = 1024  # as in tiles.cuh
SAMPLED_THREADS = 512  # as in sampling.cuh
WARP_ROW = 32  # arcs
TILE = 3 << 14  # rows of a tile at most, less than 2^16: 96 KiB of shared memory, which a multiprocessor holds twice
MANY_ARCS = 8  # arcs a row, from which one component tends to hold nearly all rows


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays."""
    if graph.num_arcs >= MANY_ARCS * graph.num_vertices:
        return join_sampled(graph)
    return join_all(graph)


def join_all(graph: Graph, tile: int = TILE) -> Components:
    """Find the components from all arcs, with tiles of `tile` rows at most, a multiple of 32."""
    row, num_rows, shared = graph.rows_by_id.dtype, graph.num_vertices, 2 * tile
    kernel, blocks = cooperative("wcc/wcc.cu", "join_all", TILE_THREADS, cupy.cuda.Device().id, shared, ROW=row)
    tile = tile_rows(num_rows, blocks, tile)
    labels, rest = _arguments(graph)
    if num_rows:
        blocks = min(blocks, -(-num_rows // tile))
        open_rows = cupy.empty(-(-num_rows // 32), np.uint32)
        out = (graph.out.offsets, graph.out.indices, np.bool_(graph.symmetric), np.int32(tile))
        kernel((blocks,), (TILE_THREADS,), (*out, *rest, open_rows), shared_mem=shared)
    return Components(labels)


def tile_rows(num_rows: int, blocks: int, most: int) -> int:
    """How many rows a tile has, `most` at most, so that all blocks have about equally many."""
    rounds = max(1, -(-num_rows // (blocks * most)))
    return min(most, max(TILE_THREADS, -(-num_rows // (32 * blocks * rounds)) * 32))


def join_sampled(graph: Graph) -> Components:
    """Find the components from a few arcs of each row, and all arcs of the rows that are not in the giant component then."""
    kernel, blocks = cooperative("wcc/wcc.cu", "join_sampled", SAMPLED_THREADS, cupy.cuda.Device().id, ROW=graph.rows_by_id.dtype)
    labels, rest = _arguments(graph)
    if graph.num_vertices:
        blocks = min(blocks, -(-graph.num_vertices // SAMPLED_THREADS))
        arcs = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices, np.bool_(graph.symmetric))
        kernel((blocks,), (SAMPLED_THREADS,), arcs + rest)
    return Components(labels)


def _arguments(graph: Graph) -> tuple[Array, tuple[Any, ...]]:
    """The labels, and what both kernels take last."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    queue = cupy.empty(2 * (1 if graph.symmetric else 2) * (graph.num_arcs // WARP_ROW), np.int64)  # pairs
    control = cupy.zeros(3, np.int64)
    return labels, (graph.positions, graph.rows_by_id, np.int64(num_rows), labels, names, queue, control)
