"""Weak components on the GPU: one cooperative launch (wcc.cu), which reads all arcs, or a few of each row where there are many."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Components
from kernels.cuda import cooperative
from kernels.graph import Graph

_THREADS = 512  # as in wcc.cu
_BLOCK_ROW = 1024  # arcs, as in wcc.cu
_MANY_ARCS = 8  # arcs a row, from which one component tends to hold nearly all rows


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays."""
    return join(graph, sampled=graph.num_arcs >= _MANY_ARCS * graph.num_vertices)


def join(graph: Graph, sampled: bool) -> Components:
    """Find the components from all arcs, or by sampling."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    queue = cupy.empty(2 * graph.num_arcs // _BLOCK_ROW, row)
    control = cupy.zeros(2, np.int64)
    sides = [graph.out.offsets, graph.out.indices]
    if sampled:
        sides += [graph.into.offsets, graph.into.indices]
    name = "join_sampled" if sampled else "join_all"
    kernel, blocks = cooperative("wcc/wcc.cu", name, _THREADS, cupy.cuda.Device().id, ROW=row)
    blocks = min(blocks, -(-num_rows // _THREADS))
    if blocks:
        rest = (graph.ranks, graph.rows_by_id, np.int64(num_rows), labels, names, queue, control)
        kernel((blocks,), (_THREADS,), (*sides, np.bool_(graph.symmetric), *rest))
    return Components(labels)
