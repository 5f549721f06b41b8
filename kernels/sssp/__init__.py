"""Single-source shortest paths: the smallest sum of weights from a source to every row, and the unique predecessors."""

from kernels.answers import Paths
from kernels.arrays import is_cupy, require_numpy, require_row
from kernels.bfs import bfs
from kernels.graph import Graph

METHODS = (None, "dijkstra", "bellman-ford")


def sssp(graph: Graph, source_row: int, method: str | None = None) -> Paths:
    """Find the smallest sum of weights from `source_row` to every row; without weights every arc weighs 1.

    Args:
        method ({"dijkstra", "bellman-ford"}, or None): Only on a GPU, and only if arcs have weights: find the distances by a
            published method (kernels/sssp/literal.cu) instead of the fastest one. "dijkstra" settles one row per step and accepts
            small graphs only.

    Returns:
        `distance` is int64 for integer weights and float64 for floats, rounded once per arc, from the source outwards.

    Raises:
        IndexError: If `source_row` is not a row of the graph.
        OverflowError: If a distance exceeds int64, or is not finite.
        TypeError: If there is no kernel for the graph's arrays.
        ValueError: If there is no such method for the graph's arrays, or the graph is too large for it.
    """
    on_gpu = is_cupy(graph)
    if not on_gpu:
        require_numpy(graph, "sssp")
    if method not in (METHODS if on_gpu else METHODS[:1]):
        raise ValueError(f"sssp: no method {method!r} for these arrays")
    require_row(graph, source_row)
    if graph.out.weights is None:
        return bfs(graph, source_row)
    if on_gpu:
        from kernels.sssp import cuda

        return cuda.search(graph, source_row, method)
    from kernels.sssp.cpu import search

    return search(graph, source_row)
