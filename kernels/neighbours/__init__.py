"""Neighbours of rows when directions are ignored: each once, and never the row itself.

Read `cpu.py` first.
"""

from kernels.arrays import on_gpu
from kernels.graph import Csr, Graph


def neighbours(graph: Graph) -> Csr:
    """The neighbours of each row, kept with the graph.

    Returns:
        Csr: Without weights. Each head of an out-arc and each tail of an in-arc, in no particular order; self-loops, parallel
            arcs and the second arc of a pair add none. The arrays are `graph.out`'s own if the graph is symmetric and clean.

    Example, with the graph of `kernels.graph.Graph`:
        >>> neighbours(graph).indices.tolist()
        [1, 2, 2, 0, 0, 1]
    """
    if on_gpu(graph, "neighbours"):
        from kernels.neighbours.cuda import collect
    else:
        from kernels.neighbours.cpu import collect
    return graph.derived.get(neighbours, lambda: collect(graph))
