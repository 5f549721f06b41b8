"""Published breadth-first searches: four (bfs.cu), with several kernels per level and a flag read back, and the three queues'."""

import cupy
import numpy as np

from benchmarks.published import SOURCES
from benchmarks.published.grail import three_queues
from kernels.answers import Paths
from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.paths.predecessors_cuda import of_levels

METHODS = ("solution1", "solution2", "solution3", "solution4", "three-queues")
_THREADS = 256  # of a block
_VISIT = {"solution1": "visit_in_memory", "solution2": "visit_in_registers", "solution3": "visit_from_tiles"}


def search(graph: Graph, source: int, method: str) -> Paths:
    """Answer `kernels.bfs.bfs` on CuPy arrays by one of METHODS; predecessors are found as by the other methods."""
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    if method == "three-queues":
        return Paths(source, *of_levels(graph.into, three_queues.levels(graph.out, source), num_rows))
    size, arcs = np.int64(num_rows), (graph.out.offsets, graph.out.indices)
    frontier, visited, marked = (cupy.empty(num_rows, np.uint8) for _ in range(3))
    levels, more = cupy.empty(num_rows, row), cupy.empty(1, np.uint32)

    def run(name: str, *arguments: Array | np.int64) -> None:
        launch(f"{SOURCES}bfs.cu", name, _THREADS, num_rows, *arguments, ROW=row, THREADS=_THREADS)

    run("start", size, np.int64(source), frontier, visited, marked, levels)
    level = 0
    while True:
        level += 1
        if method == "solution4":
            run("mark_heads", *arcs, size, frontier, marked)
            run("visit_own_row", size, np.int64(level), visited, marked, levels)
        else:
            run(_VISIT[method], *arcs, size, frontier, visited, marked, levels)
        more.fill(0)
        run("update", size, frontier, visited, marked, more)
        if not int(more[0]):
            return Paths(source, *of_levels(graph.into, levels, num_rows))
