"""Minimum spanning forest: the edges of least weight that connect all rows that arcs connect."""

from kernels.answers import Forest
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Graph

METHODS = (None, "boruvka")


def minimum_spanning_forest(graph: Graph, method: str | None = None) -> Forest:
    """Find the forest of least weight, with edges ordered by (weight, smaller external id, larger external id).

    A directed graph is read as undirected: an edge is the lightest arc between two rows. Self-loops are ignored.

    Args:
        method ({"boruvka"}, or None): On a GPU: contract the whole graph in every round, as a source document does
            (kernels/forest/boruvka.py). None for the fastest.

    Returns:
        `weights` has the graph's weight type; int64 ones if the graph has no weights.

    Raises:
        TypeError: If the graph's arrays belong to a backend without this kernel.
        ValueError: If there is no such method for the graph's arrays.
    """
    on_gpu = is_cupy(graph)
    if not on_gpu:
        require_numpy(graph, "minimum_spanning_forest")
    if method not in (METHODS if on_gpu else METHODS[:1]):
        raise ValueError(f"minimum_spanning_forest: no method {method!r} for these arrays")
    if on_gpu:
        from kernels.forest import boruvka, cuda

        return cuda.span(graph) if method is None else boruvka.span(graph)
    from kernels.forest.cpu import span

    return span(graph)
