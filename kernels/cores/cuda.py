"""Core numbers on the GPU: one cooperative launch (cores.cu)."""

import cupy
import numpy as np

from kernels.cores.constants import CONTROL_WORDS, THREADS
from kernels.gpu.deep import most_rounds, require_shallow, unless_deep
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Graph
from kernels.neighbours import neighbours

_DEEP = 1  # 32-bit word of the control


def solve(graph: Graph) -> Array:
    """Answer `kernels.cores.cores` on CuPy arrays: int64 [V]."""
    return unless_deep(_solve, "kernels.cores.cpu:solve", graph)


def _solve(graph: Graph) -> Array:
    """The same; raises Deep."""
    around, num_rows, row = neighbours(graph), graph.num_vertices, graph.rows_by_id.dtype
    left: Array = cupy.diff(around.offsets).astype(row)
    lists = (cupy.empty(num_rows, row) for _ in range(3))
    control = cupy.zeros(CONTROL_WORDS, OFFSET)
    arrays = (around.offsets, around.indices, np.int64(num_rows), left, *lists, np.int64(most_rounds(graph.out)), control)
    launch("cores/cores.cu", "remove_by_levels", THREADS, None, *arrays, ROW=row)
    require_shallow(control.view(np.uint32)[_DEEP])
    return left.astype(OFFSET)
