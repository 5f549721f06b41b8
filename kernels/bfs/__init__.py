"""Breadth-first search: the hops from a source to every row, and the unique predecessors."""

from __future__ import annotations

from kernels.answers import Paths
from kernels.backend import is_cupy, require_numpy, require_row
from kernels.graph import Graph


def bfs(graph: Graph, source_row: int) -> Paths:
    """Count the hops from `source_row` to every row; weights are not read.

    Returns
    -------
    Paths
        `distance` is int64.

    Raises
    ------
    IndexError
        If `source_row` is no row of the graph.
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if is_cupy(graph):
        require_row(graph, source_row)
        from kernels.bfs import cuda

        return cuda.search(graph, source_row)
    require_numpy(graph, "bfs")
    require_row(graph, source_row)
    from kernels.bfs.cpu import search

    return search(graph, source_row)
