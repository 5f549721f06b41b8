"""Weak components: what arcs join, whatever their direction."""

from __future__ import annotations

from kernels.answers import Components
from kernels.backend import is_cupy, require_numpy
from kernels.graph import Graph


def wcc(graph: Graph) -> Components:
    """Find the weak components, each named by its smallest external id.

    Raises
    ------
    TypeError
        If the graph's arrays belong to a backend without this kernel.
    """
    if is_cupy(graph):
        from kernels.wcc import cuda

        return cuda.components(graph)
    require_numpy(graph, "wcc")
    from kernels.wcc.cpu import components

    return components(graph)
