"""Weak components by hooking and jumping, as a source document has it (shiloach_vishkin.cu); kept for comparison."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import launch
from kernels.graph import Graph
from kernels.wcc.constants import SAMPLED_THREADS

_SOURCE = "wcc/shiloach_vishkin.cu"
_CONTROL_BYTES = 16


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels = cupy.empty(num_rows, row)
    if num_rows:
        arcs = (graph.out.offsets, graph.out.indices, graph.positions, graph.rows_by_id)
        state = (np.int64(num_rows), labels, cupy.zeros(_CONTROL_BYTES, np.uint8))
        launch(_SOURCE, "hook_and_jump", SAMPLED_THREADS, num_rows, *arcs, *state, ROW=row)
    return Components(labels)
