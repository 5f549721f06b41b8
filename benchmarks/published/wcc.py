"""Weak components by hooking and jumping (wcc.cu)."""

import cupy
import numpy as np

from benchmarks.published import SOURCES
from kernels.answers import Components
from kernels.gpu.loader import launch
from kernels.graph import Graph

METHODS = ("shiloach-vishkin",)
_THREADS, _WARP_ROW = 512, 32  # threads of a block; arcs from which on a warp reads a row


def components(graph: Graph, method: str = METHODS[0]) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays, by the one method that there is."""
    num_rows, labels, control = graph.num_vertices, cupy.empty_like(graph.rows_by_id), cupy.zeros(4, np.uint32)
    arguments = graph.out.offsets, graph.out.indices, graph.positions, graph.rows_by_id, np.int64(num_rows), labels, control
    if num_rows:
        sizes = {"THREADS": _THREADS, "WARP_ROW": _WARP_ROW}
        launch(f"{SOURCES}wcc.cu", "hook_and_jump", _THREADS, num_rows, *arguments, **sizes, ROW=labels.dtype)
    return Components(labels)
