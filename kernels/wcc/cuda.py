"""Weak components on the GPU: one cooperative launch (wcc.cu), which reads all arcs, or first a sample of them."""

from threading import get_ident
from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import cooperative, launch, spare_shared
from kernels.gpu.locality import is_local
from kernels.graph import Array, Graph
from kernels.wcc.constants import CONTROL_WORDS, SAMPLED_THREADS, TILE_THREADS, WARP_ROW

_SOURCE = "wcc/wcc.cu"
_TILE = 3 << 14  # rows in a tile, at most; below 2^16. Takes 96 KiB of shared memory, twice per multiprocessor of an H100
_WINDOW = 4096  # rows in a window of the layout (pipeline/config/run.py), whose arcs lead to each other most of all
MANY_ARCS = 8  # over shards, arcs per row from which on one component tends to hold nearly all rows


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays.

    Arcs to rows near by are united in tiles in shared memory, while sampled ones leave many trees.
    """
    return join_all(graph) if is_local(graph) else join_sampled(graph)


def join_all(graph: Graph, most_rows: int = _TILE) -> Components:
    """Find the components from all arcs, in tiles of at most `most_rows` rows, a multiple of 32."""
    row, num_rows = graph.rows_by_id.dtype, graph.num_vertices
    tile, sizes = graph.derived.get((tiles, most_rows), lambda: tiles(_SOURCE, row, num_rows, most_rows))
    labels, rest = _arguments(graph)
    open_rows = cupy.empty(-(-num_rows // 32), np.uint32)
    arguments = (graph.out.offsets, graph.out.indices, np.bool_(graph.symmetric), np.int32(tile), *rest, open_rows)
    if num_rows:
        launch(_SOURCE, "join_all", TILE_THREADS, None, *arguments, **sizes, ROW=row)
    return Components(labels)


def tiles(source: str, row: np.dtype[Any], num_rows: int, most: int = _TILE) -> tuple[int, dict[str, int]]:
    """Rows per tile, such that all blocks have about equally many, and the sizes of a launch of the source's `join_all`.

    A tile has at most `most` rows, and takes at most the shared memory that a block can have. Few rows more than these make it
    one of whole windows. Later the same memory has 64 pairs of rows for each warp.
    """
    device, of_pairs = cupy.cuda.Device().id, 4 * TILE_THREADS * row.itemsize
    most = min(most, spare_shared(source, "join_all", device, ROW=row) // 64 * 32)
    _, resident = cooperative(source, "join_all", TILE_THREADS, device, max(2 * most, of_pairs), ROW=row)
    rounds = max(1, -(-num_rows // (resident * most)))
    tile = min(most, max(TILE_THREADS, -(-num_rows // (32 * resident * rounds)) * 32))
    windows = -(-tile // _WINDOW) * _WINDOW
    if rounds == 1 and 8 * windows <= 9 * tile:
        tile = min(most, windows)
    return tile, {"blocks": max(1, min(resident, -(-num_rows // TILE_THREADS))), "shared": max(2 * tile, of_pairs)}


def join_sampled(graph: Graph) -> Components:
    """Find the components from a few arcs of each row, then from all arcs of rows that are not in the giant component."""
    labels, rest = _arguments(graph)
    arcs = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices, np.bool_(graph.symmetric))
    used = np.int64(graph.derived.get(num_used, lambda: num_used(graph)))
    if graph.num_vertices:
        launch(_SOURCE, "join_sampled", SAMPLED_THREADS, graph.num_vertices, *arcs, used, *rest, ROW=graph.rows_by_id.dtype)
    return Components(labels)


def num_used(graph: Graph) -> int:
    """How many rows there are without those behind the last one that has an arc."""
    return max(int(cupy.searchsorted(side.offsets, graph.num_arcs)) for side in (graph.out, graph.into))


def _arguments(graph: Graph) -> tuple[Array, tuple[Any, ...]]:
    """The labels, and the last arguments of both kernels."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    queue = cupy.empty(2 * (1 if graph.symmetric else 2) * (graph.num_arcs // WARP_ROW), np.int64)  # pairs
    # Launches in one stream follow each other, and each leaves it as it was.
    key = _arguments, get_ident(), cupy.cuda.get_current_stream().ptr
    control = graph.derived.get(key, lambda: cupy.zeros(CONTROL_WORDS, np.int64))
    return labels, (graph.positions, graph.rows_by_id, np.int64(num_rows), labels, names, queue, control)
