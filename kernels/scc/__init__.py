"""Strong components: rows that reach each other."""

from __future__ import annotations

from kernels.answers import Components
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Graph


def scc(graph: Graph) -> Components:
    """Find the strong components, each named by its smallest external id.

    Raises
    ------
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if is_cupy(graph):
        from kernels.scc import cuda

        return cuda.components(graph)
    require_numpy(graph, "scc")
    from kernels.scc.cpu import components

    return components(graph)
