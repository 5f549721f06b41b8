"""Breadth-first search: the least number of arcs from a source to every row, and the unique predecessors.

Read `cpu.py` first; `kernels.paths.predecessors_cpu` says which predecessor is the unique one. On a GPU `cuda.py` selects
`top_down.cu` (many levels) or `direction_optimising.cu`; encoded lengths, long paths and the proof are in `kernels/paths`,
shared with `kernels.sssp`.
"""

from kernels.answers import Paths
from kernels.arrays import on_gpu, require_row
from kernels.graph import Graph


def bfs(graph: Graph, source_row: int) -> Paths:
    """Count the hops from `source_row` to every row, int64; weights are not read.

    Raises IndexError if `source_row` is not a row of the graph, and TypeError if it is not an integer.

    Example, with the graph of `kernels.graph.Graph`:
        >>> bfs(graph, 0).distance.tolist()
        [0, 1, 1]
    """
    if on_gpu(graph, "bfs"):
        from kernels.bfs.cuda import search
    else:
        from kernels.bfs.cpu import search
    source_row = require_row(graph, source_row)
    return search(graph, source_row)
