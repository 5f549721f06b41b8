"""Weak components on the GPU: one cooperative launch (wcc.cu), which reads all arcs, or first a sample of them.

On a road network of a city the kernel takes 40 us, and so would preparing a call; what does not change is prepared once.
"""

from collections.abc import Callable
from threading import get_ident
from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import cooperative, launcher, spare_shared
from kernels.gpu.tiles.locality import is_local
from kernels.graph import Array, Graph
from kernels.wcc.constants import CONTROL_WORDS, SAMPLED_THREADS, TILE_THREADS, WARP_ROW

_SOURCE = "wcc/wcc.cu"
_TILE = 3 << 14  # rows in a tile, at most; below 2^16. Takes 96 KiB of shared memory, twice per multiprocessor of an H100
_WINDOW = 4096  # rows in a window of the layout (pipeline/config/run.py), whose arcs lead to each other most of all
MANY_ARCS = 8  # over shards, arcs per row from which on one component tends to hold nearly all rows


_Join = Callable[[], Array]  # returns the labels


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays.

    Arcs to rows near by are united in tiles in shared memory, while sampled ones leave many trees.
    """
    # Calls of one thread in one stream follow each other, and each leaves the words that the blocks share as they were.
    key = components, get_ident(), cupy.cuda.get_current_stream().ptr
    join: _Join = graph.derived.get(key, lambda: joining_all(graph) if is_local(graph) else joining_sampled(graph))
    return Components(join())


def joining_all(graph: Graph, most_rows: int = _TILE) -> _Join:
    """A function that finds the components from all arcs, in tiles of at most `most_rows` rows, a multiple of 32."""
    row, num_rows = graph.rows_by_id.dtype, graph.num_vertices
    tile, sizes = tiles(_SOURCE, row, num_rows, most_rows)
    run = launcher(_SOURCE, "join_all", TILE_THREADS, None, **sizes, ROW=row)
    arcs = (graph.out.offsets, graph.out.indices, np.bool_(graph.symmetric), np.int32(tile))
    return _joining(graph, run, arcs, num_rows // 64 + 1)  # a bit for each row


def joining_sampled(graph: Graph) -> _Join:
    """One that finds them from a few arcs of each row, then from all arcs of rows that are not in the giant component."""
    run = launcher(_SOURCE, "join_sampled", SAMPLED_THREADS, graph.num_vertices, ROW=graph.rows_by_id.dtype)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    return _joining(graph, run, (*sides, np.bool_(graph.symmetric), np.int64(num_used(graph))), 0)


def _joining(graph: Graph, run: Callable[..., None], arcs: tuple[Any, ...], more_words: int) -> _Join:
    """What launches a kernel with new arrays for the labels and for its scratch memory. It does not hold the graph."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    most_chunks = (1 if graph.symmetric else 2) * (graph.num_arcs // WARP_ROW)
    rows = graph.positions, graph.rows_by_id, np.int64(num_rows)
    fixed = (*arcs, *rows, np.int64(most_chunks), cupy.zeros(CONTROL_WORDS, np.int64))

    def join() -> Array:
        labels: Array = cupy.empty(num_rows, row)
        if num_rows:
            run(*fixed, labels, cupy.empty(num_rows, row), cupy.empty(2 * most_chunks + more_words, np.int64))
        return labels

    return join


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


def num_used(graph: Graph) -> int:
    """How many rows there are without those behind the last one that has an arc."""
    return max(int(cupy.searchsorted(side.offsets, graph.num_arcs)) for side in (graph.out, graph.into))
