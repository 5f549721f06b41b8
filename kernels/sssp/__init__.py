"""Single-source shortest paths: the smallest sum of weights from a source to every row, and the unique predecessors.

Read `cpu.py` first, then `kernels.paths.predecessors_cpu` for the unique predecessors. On a GPU `cuda.py` selects
`short_paths.cu` or `kernels/paths/long_paths.cu`; encoded lengths and the proof are in `kernels/paths`, shared with
`kernels.bfs`.
"""

from kernels.answers import Paths
from kernels.arrays import on_gpu, require_row
from kernels.bfs import bfs
from kernels.graph import Graph


def sssp(graph: Graph, source_row: int) -> Paths:
    """Find the smallest sum of weights from `source_row` to every row; without weights every arc weighs 1.

    Returns:
        `distance` is int64 for integer weights and float64 for floats, rounded once per arc, from the source outwards.

    Raises:
        IndexError, TypeError: If `source_row` is not a row of the graph, or not an integer.
        OverflowError: If a distance exceeds int64, or is not finite.

    Example, with the graph of `kernels.graph.Graph`:
        >>> paths = sssp(graph, 0)
        >>> paths.distance.tolist(), paths.predecessor.tolist()
        ([0, 4, 7], [-1, 0, 1])
    """
    if on_gpu(graph, "sssp"):
        from kernels.sssp.cuda import search
    else:
        from kernels.sssp.cpu import search
    source_row = require_row(graph, source_row)
    return bfs(graph, source_row) if graph.out.weights is None else search(graph, source_row)
