"""Searches that read slotted pages where they are: no arc is copied, except by breadth-first search of long paths on a GPU."""

from kernels.answers import Paths
from kernels.arrays import is_cupy_array
from kernels.library.dynamic.structures.pages import SlottedPages


def bfs(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.bfs`; the source is a vertex."""
    if is_cupy_array(graph.store.words):
        from kernels.library.dynamic.pages.search.breadth_cuda import search
    else:
        from kernels.library.dynamic.pages.search.breadth_cpu import search
    return search(graph, source)


def sssp(graph: SlottedPages, source: int) -> Paths:
    """Answer `kernels.library.dynamic.searches.sssp` on pages with weights; the source is a vertex."""
    if is_cupy_array(graph.store.words):
        from kernels.library.dynamic.pages.search.shortest_cuda import search
    else:
        from kernels.library.dynamic.pages.search.shortest_cpu import search
    return search(graph, source)
