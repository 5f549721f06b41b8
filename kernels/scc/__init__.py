"""Strong components: classes of vertices that reach each other."""

from kernels.answers import Components
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Graph
from kernels.wcc import wcc


def scc(graph: Graph) -> Components:
    """Find the strong components, each named by its smallest external id.

    Raises:
        TypeError: If the graph's arrays belong to a backend without this kernel.
    """
    on_gpu = is_cupy(graph)
    if not on_gpu:
        require_numpy(graph, "scc")
    if graph.symmetric:
        return wcc(graph)
    if on_gpu:
        from kernels.scc import cuda

        return cuda.components(graph)
    from kernels.scc.cpu import components

    return components(graph)
