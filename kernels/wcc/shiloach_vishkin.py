"""Weak components in VGL's way, kept for comparison (shiloach_vishkin.cu): one cooperative launch."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Components
from kernels.gpu.loader import launch
from kernels.graph import Graph

_THREADS = 512  # as in shiloach_vishkin.cu
_CONTROL_BYTES = 16


def components(graph: Graph) -> Components:
    """Answer `kernels.wcc.wcc` on CuPy arrays."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    labels = cupy.empty(num_rows, row)
    if num_rows:
        launch(
            "wcc/shiloach_vishkin.cu", "hook_and_jump", _THREADS, num_rows, graph.out.offsets, graph.out.indices, graph.positions,
            graph.rows_by_id, np.int64(num_rows), labels, cupy.zeros(_CONTROL_BYTES, np.uint8), ROW=row,
        )  # fmt: skip
    return Components(labels)
