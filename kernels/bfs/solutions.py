"""The four searches of a source document, kept for comparison (solutions.cu): kernels a level, and one flag read back."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.cuda import launch, paths_of
from kernels.graph import Graph

METHODS = ("solution1", "solution2", "solution3", "solution4")
_VISIT = {"solution1": "visit_in_memory", "solution2": "visit_in_registers", "solution3": "visit_from_tiles"}


def search(graph: Graph, source: int, method: str) -> Paths:
    """Answer `kernels.bfs.bfs` on CuPy arrays by one of METHODS; the predecessors are found as everywhere."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    size = np.int64(num_rows)
    offsets, indices = graph.out.offsets, graph.out.indices
    frontier, visited, marked = (cupy.empty(num_rows, np.uint8) for _ in range(3))
    levels, more = cupy.empty(num_rows, row), cupy.empty(1, np.uint32)
    launch("solutions", "start", row, num_rows, size, np.int64(source), frontier, visited, marked, levels)
    level = 0
    while True:
        level += 1
        if method == "solution4":
            launch("solutions", "mark_ends", row, num_rows, offsets, indices, size, frontier, marked)
            launch("solutions", "visit_own_row", row, num_rows, size, np.int64(level), visited, marked, levels)
        else:
            launch("solutions", _VISIT[method], row, num_rows, offsets, indices, size, frontier, visited, marked, levels)
        more.fill(0)
        launch("solutions", "update", row, num_rows, size, frontier, visited, marked, more)
        if not int(more[0]):
            return paths_of(graph, source, levels)
