"""Strong components on the GPU: one cooperative launch (scc.cu), which searches both ways, then passes signatures."""

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.deep import most_rounds, require_shallow, unless_deep
from kernels.gpu.loader import cooperative, launch
from kernels.graph import Graph
from kernels.scc.constants import CONTROL_WORDS, RANGE, THREADS

_SOURCE, _KERNEL = "scc/scc.cu", "find_components"
_BITMAPS = 5
_DEEP = 1  # 32-bit word of the control


def components(graph: Graph) -> Components:
    """Answer `kernels.scc.scc` on CuPy arrays of a directed graph."""
    return unless_deep(_components, "kernels.scc.cpu:components", graph)


def _components(graph: Graph) -> Components:
    """The same; raises Deep."""
    num_rows, num_arcs, row = graph.num_vertices, graph.num_arcs, graph.rows_by_id.dtype
    _, resident = cooperative(_SOURCE, _KERNEL, THREADS, cupy.cuda.Device().id, ROW=row)
    blocks = min(resident, -(-num_rows // THREADS))
    num_words = -(-num_rows // 32)
    labels, names = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    bitmaps = [cupy.empty(num_words, np.uint32) for _ in range(_BITMAPS)]
    queue = cupy.empty(2 * num_rows + 2 * num_arcs // RANGE, np.uint64)
    arcs, signatures = cupy.empty((num_arcs, 2), row), cupy.empty((num_rows, 2), row)
    control = cupy.zeros(CONTROL_WORDS + 2 * blocks, np.uint64)
    sides = (graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices)
    size = (np.int64(num_rows), np.int64(num_words))
    arrays = (*bitmaps, queue, arcs, signatures, names, labels)
    arguments = (*sides, graph.positions, graph.rows_by_id, *size, *arrays, np.int64(most_rounds(graph.out)), control)
    launch(_SOURCE, _KERNEL, THREADS, None, *arguments, blocks=blocks, ROW=row)
    require_shallow(control.view(np.uint32)[_DEEP])
    return Components(labels)
