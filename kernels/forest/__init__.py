"""Minimum spanning forest: the lightest edges that join all that can be joined."""

from __future__ import annotations

from kernels.answers import Forest
from kernels.backend import is_cupy, require_numpy
from kernels.graph import Graph


def minimum_spanning_forest(graph: Graph) -> Forest:
    """Find the forest of least weight, with edges ordered by (weight, smaller external end, larger external end).

    A directed graph is read as undirected: the lightest arc between two rows stands for the pair. Self-loops never count.

    Returns
    -------
    Forest
        `weights` has the graph's weight type; int64 ones where it has none.

    Raises
    ------
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if is_cupy(graph):
        from kernels.forest import cuda

        return cuda.span(graph)
    require_numpy(graph, "minimum_spanning_forest")
    from kernels.forest.cpu import span

    return span(graph)
