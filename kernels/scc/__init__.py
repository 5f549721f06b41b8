"""Strong components: classes of vertices that reach each other.

Read `cpu.py` first. On a GPU `scc.cu` has three phases: `search.cuh`, `listing.cuh`, `signatures.cuh`. `sharded/` has another
method, for arcs that lead to other ranks.
"""

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.graph import Graph
from kernels.wcc import wcc


def scc(graph: Graph) -> Components:
    """Find the strong components, each named by its smallest external id.

    Example, with the graph of `kernels.graph.Graph`:
        >>> scc(graph).labels.tolist()
        [0, 1, 2]
    """
    if on_gpu(graph, "scc"):
        from kernels.scc.cuda import components
    else:
        from kernels.scc.cpu import components
    return wcc(graph) if graph.symmetric else components(graph)
