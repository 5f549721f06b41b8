"""Single-source shortest paths: the smallest sum of weights from a source to every row, and the unique predecessors."""

from __future__ import annotations

from kernels.answers import Paths
from kernels.backend import is_cupy, require_numpy, require_row
from kernels.bfs import bfs
from kernels.graph import Graph


def sssp(graph: Graph, source_row: int) -> Paths:
    """Find the smallest sum of weights from `source_row` to every row; without weights every arc weighs 1.

    Returns
    -------
    Paths
        `distance` is int64 for integer weights, float64 for floats: rounded once an arc, from the source outwards.

    Raises
    ------
    IndexError
        If `source_row` is no row of the graph.
    OverflowError
        If a distance exceeds int64, or is not finite.
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if not is_cupy(graph):
        require_numpy(graph, "sssp")
    require_row(graph, source_row)
    if graph.out.weights is None:
        return bfs(graph, source_row)
    if is_cupy(graph):
        from kernels.sssp import cuda

        return cuda.search(graph, source_row)
    from kernels.sssp.cpu import search

    return search(graph, source_row)
