"""Weak components: classes of vertices that arcs connect, whatever the arcs' direction."""

from kernels.answers import Components
from kernels.arrays import is_cupy, require_numpy
from kernels.graph import Graph

METHODS = (None, "shiloach-vishkin")


def wcc(graph: Graph, method: str | None = None) -> Components:
    """Find the weak components, each named by its smallest external id.

    Args:
        method ({"shiloach-vishkin"}, or None): On a GPU: hook and jump as a source document does
            (kernels/wcc/shiloach_vishkin.cu). None for the fastest.

    Raises:
        TypeError: If the graph's arrays belong to a backend without this kernel.
        ValueError: If there is no such method for the graph's arrays.
    """
    on_gpu = is_cupy(graph)
    if not on_gpu:
        require_numpy(graph, "wcc")
    if method not in (METHODS if on_gpu else METHODS[:1]):
        raise ValueError(f"wcc: no method {method!r} for these arrays")
    if on_gpu:
        from kernels.wcc import cuda

        return cuda.components(graph) if method is None else cuda.hook_and_jump(graph)
    from kernels.wcc.cpu import components

    return components(graph)
