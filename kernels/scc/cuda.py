"""Strong components on the GPU: one cooperative launch (scc.cu), which searches both ways and then passes signatures."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import cooperative
from kernels.graph import Graph
from kernels.wcc import cuda as weak

_THREADS = 512  # as in scc.cu
_RANGE = 32  # arcs, as in scc.cu
_CONTROL = 4  # words before the blocks' pivots, of two words each, as in scc.cu
_BITMAPS = 5


def components(graph: Graph) -> Components:
    """Answer `kernels.scc.scc` on CuPy arrays."""
    if graph.symmetric:
        return weak.components(graph)
    num_rows, num_arcs, row = graph.num_vertices, graph.num_arcs, graph.rows_by_id.dtype
    kernel, blocks = cooperative("scc/scc.cu", "find_components", _THREADS, cupy.cuda.Device().id, ROW=row)
    blocks = min(blocks, -(-num_rows // _THREADS))
    num_words = -(-num_rows // 32)
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    bitmaps = [cupy.empty(num_words, np.uint32) for _ in range(_BITMAPS)]
    queue = cupy.empty(2 * num_rows + 2 * num_arcs // _RANGE, np.uint64)
    arcs, signatures = cupy.empty((num_arcs, 2), row), cupy.empty((num_rows, 2), row)
    control = cupy.zeros(_CONTROL + 2 * blocks, np.uint64)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    size = (np.int64(num_rows), np.int64(num_words))
    kernel(
        (blocks,),
        (_THREADS,),
        (*sides, graph.positions, graph.rows_by_id, *size, *bitmaps, queue, arcs, signatures, names, labels, control),
    )
    return Components(labels)
