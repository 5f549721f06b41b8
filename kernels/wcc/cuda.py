"""Weak components on the GPU: one cooperative launch (wcc.cu), which reads all arcs, or first a sample of them."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import cooperative, launch
from kernels.graph import Array, Graph
from kernels.wcc.constants import SAMPLED_THREADS, TILE_THREADS, WARP_ROW

_SOURCE = "wcc/wcc.cu"
TILE = 3 << 14  # rows in a tile, at most; below 2^16. Takes 96 KiB of shared memory, twice per multiprocessor
MANY_ARCS = 8  # arcs per row from which on one component tends to hold nearly all rows


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays."""
    if graph.num_arcs >= MANY_ARCS * graph.num_vertices:
        return join_sampled(graph)
    return join_all(graph)


def join_all(graph: Graph, most_rows: int = TILE) -> Components:
    """Find the components from all arcs, in tiles of at most `most_rows` rows, a multiple of 32."""
    row, num_rows, shared = graph.rows_by_id.dtype, graph.num_vertices, 2 * most_rows
    _, resident = cooperative(_SOURCE, "join_all", TILE_THREADS, cupy.cuda.Device().id, shared, ROW=row)
    tile = tile_rows(num_rows, resident, most_rows)
    labels, rest = _arguments(graph)
    open_rows = cupy.empty(-(-num_rows // 32), np.uint32)
    arguments = (graph.out.offsets, graph.out.indices, np.bool_(graph.symmetric), np.int32(tile), *rest, open_rows)
    blocks = min(resident, -(-num_rows // tile))
    launch(_SOURCE, "join_all", TILE_THREADS, None, *arguments, blocks=blocks, shared=shared, ROW=row)
    return Components(labels)


def tile_rows(num_rows: int, blocks: int, most: int) -> int:
    """Rows per tile, at most `most`, such that all blocks have about equally many."""
    rounds = max(1, -(-num_rows // (blocks * most)))
    return min(most, max(TILE_THREADS, -(-num_rows // (32 * blocks * rounds)) * 32))


def join_sampled(graph: Graph) -> Components:
    """Find the components from a few arcs of each row, then from all arcs of rows that are not in the giant component."""
    labels, rest = _arguments(graph)
    arcs = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices, np.bool_(graph.symmetric))
    if graph.num_vertices:
        launch(_SOURCE, "join_sampled", SAMPLED_THREADS, graph.num_vertices, *arcs, *rest, ROW=graph.rows_by_id.dtype)
    return Components(labels)


def _arguments(graph: Graph) -> tuple[Array, tuple[Any, ...]]:
    """The labels, and the last arguments of both kernels."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    queue = cupy.empty(2 * (1 if graph.symmetric else 2) * (graph.num_arcs // WARP_ROW), np.int64)  # pairs
    control = cupy.zeros(3, np.int64)
    return labels, (graph.positions, graph.rows_by_id, np.int64(num_rows), labels, names, queue, control)
