"""PageRank on the GPU: all iterations in one cooperative launch (pagerank.cu)."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Scores
from kernels.gpu.loader import cooperative
from kernels.graph import Graph
from kernels.pagerank.tiles import TILE_BITS, plan_of

THREADS = 1024  # as in step.cuh
_ROUND = 256  # floats that a warp stages, as in step.cuh
SHARED = ((1 << TILE_BITS) + THREADS // 32 * _ROUND) * np.dtype(np.float32).itemsize  # bytes of a block
_CONTROL = 16  # words, as in pagerank.cu
_ITERATIONS, _CHANGE = 1, 2  # words of it


def scores(graph: Graph, damping: float, tolerance: float, most_iterations: int) -> Scores:
    """Answer `kernels.pagerank.pagerank` on CuPy arrays."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    found = cupy.empty(num_rows, np.float64)
    if num_rows == 0 or most_iterations < 1:
        found[...] = 1 / max(num_rows, 1)
        return Scores(found, 0, np.inf if num_rows else 0.0)
    kernel, blocks = cooperative("pagerank/pagerank.cu", "iterate", THREADS, cupy.cuda.Device().id, SHARED, ROW=row)
    plan = plan_of(graph)
    shares, partials = cupy.empty(num_rows, np.float32), cupy.empty(plan.num_partials, np.float32)
    partials[plan.bands] = 0
    control = cupy.zeros(_CONTROL, np.uint64)
    kernel((blocks,), (THREADS,), (
        plan.tasks, plan.jobs, np.int64(len(plan.jobs) - 1), plan.arcs, plan.slices, np.int64(len(plan.slices)), plan.items,
        plan.rows, plan.degrees, graph.out.offsets, graph.into.offsets, np.int64(num_rows), np.int64(plan.num_without_arcs),
        np.float64(damping), np.float64(tolerance), np.int64(most_iterations), shares, partials, found, control,
    ), shared_mem=SHARED)  # fmt: skip
    words = cupy.asnumpy(control)
    return Scores(found, int(words[_ITERATIONS]), float(words.view(np.float64)[_CHANGE]))
