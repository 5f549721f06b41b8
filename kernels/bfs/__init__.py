"""Breadth-first search: the hops from a source to every row, and the unique predecessors."""

from kernels.answers import Paths
from kernels.arrays import is_cupy, require_numpy, require_row
from kernels.graph import Graph


def bfs(graph: Graph, source_row: int, method: str | None = None) -> Paths:
    """Count the hops from `source_row` to every row; weights are not read.

    Args:
        method ({"solution1", "solution2", "solution3", "solution4"}, or None): Only on a GPU: one of the published searches in
            kernels/bfs/solutions.py instead of the fastest one.

    Returns:
        `distance` is int64.

    Raises:
        IndexError: If `source_row` is not a row of the graph.
        TypeError: If there is no kernel for the graph's arrays.
        ValueError: If there is no such method for the graph's arrays.
    """
    if is_cupy(graph):
        require_row(graph, source_row)
        from kernels.bfs import cuda, solutions

        if method is None:
            return cuda.search(graph, source_row)
        if method in solutions.METHODS:
            return solutions.search(graph, source_row, method)
    else:
        require_numpy(graph, "bfs")
        require_row(graph, source_row)
    if method is not None:
        raise ValueError(f"bfs: no method {method!r} for these arrays")
    from kernels.bfs.cpu import search

    return search(graph, source_row)
