"""PageRank on the GPU: all iterations in one cooperative launch (pagerank.cu)."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Ranks
from kernels.cuda import cooperative
from kernels.graph import Graph

_THREADS = 1024  # as in pagerank.cu
_WARP_ROW = 512  # arcs, as in pagerank.cu
_BLOCK_ROW = 8192  # arcs
_STAGES = 32 * 512  # floats of a block's warps, as in pagerank.cu
_HOT = 1 << 14  # shares that a block holds; more would take too much from L1, which the others need
_CONTROL = 16  # words, as in pagerank.cu
_ITERATIONS, _CHANGE = 1, 2  # words of it


def ranks(graph: Graph, damping: float, tolerance: float, most_iterations: int) -> Ranks:
    """Answer `kernels.pagerank.pagerank` on CuPy arrays."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    found = cupy.empty(num_rows, np.float64)
    if num_rows == 0 or most_iterations < 1:
        found[...] = 1 / max(num_rows, 1)
        return Ranks(found, 0, np.inf if num_rows else 0.0)
    num_hot = min(num_rows, _HOT)
    shared = (num_hot + _STAGES) * np.dtype(np.float32).itemsize
    kernel, blocks = cooperative("pagerank/pagerank.cu", "iterate", _THREADS, cupy.cuda.Device().id, shared, ROW=row)
    degrees = cupy.diff(graph.into.offsets)
    block_rows = cupy.flatnonzero(degrees >= _BLOCK_ROW).astype(row)
    warp_rows = cupy.flatnonzero((degrees >= _WARP_ROW) & (degrees < _BLOCK_ROW)).astype(row)
    shares, next_shares = cupy.empty(num_rows, np.float32), cupy.empty(num_rows, np.float32)
    control = cupy.zeros(_CONTROL, np.uint64)
    sides = (graph.out.offsets, graph.into.offsets, graph.into.indices)
    wide_rows = (block_rows, np.int64(len(block_rows)), warp_rows, np.int64(len(warp_rows)))
    size = (np.int64(num_rows), np.int64(num_hot))
    rules = (np.float64(damping), np.float64(tolerance), np.int64(most_iterations))
    kernel((blocks,), (_THREADS,), (*sides, *wide_rows, *size, *rules, shares, next_shares, found, control), shared_mem=shared)
    words = cupy.asnumpy(control)
    return Ranks(found, int(words[_ITERATIONS]), float(words.view(np.float64)[_CHANGE]))
