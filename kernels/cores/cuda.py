"""Core numbers on the GPU: one cooperative launch (cores.cu)."""

import cupy
import numpy as np

from kernels.cores.constants import CONTROL_WORDS, THREADS
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Graph
from kernels.neighbours import neighbours


def solve(graph: Graph) -> Array:
    """Answer `kernels.cores.cores` on CuPy arrays: int64 [V]."""
    around, num_rows, row = neighbours(graph), graph.num_vertices, graph.rows_by_id.dtype
    left: Array = cupy.diff(around.offsets).astype(row)
    lists = (cupy.empty(num_rows, row) for _ in range(3))
    arrays = (around.offsets, around.indices, np.int64(num_rows), left, *lists, cupy.zeros(CONTROL_WORDS, OFFSET))
    launch("cores/cores.cu", "remove_by_levels", THREADS, None, *arrays, ROW=row)
    return left.astype(OFFSET)
