"""Weak components: classes of vertices that arcs connect, whatever the arcs' direction.

Read `cpu.py` first. On a GPU `wcc.cu` uses `tiles.cuh` or `sampling.cuh`. `kernels/components` has union-find and the names of
components, which other algorithms share.
"""

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.graph import Graph


def wcc(graph: Graph) -> Components:
    """Find the weak components, each named by its smallest external id.

    Example, with the graph of `kernels.graph.Graph`:
        >>> wcc(graph).labels.tolist()
        [0, 0, 0]
    """
    if on_gpu(graph, "wcc"):
        from kernels.wcc.cuda import components
    else:
        from kernels.wcc.cpu import components
    return components(graph)
