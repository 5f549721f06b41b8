"""What the searches on pages are measured beside: rows that are sorted anew, the same method on a CSR, and cuGraph."""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks.dynamic.common import on_gpu, require_same
from kernels.answers import Paths
from kernels.bfs import bfs as static_bfs
from kernels.gpu.loader import to_host
from kernels.graph import Csr, Graph
from kernels.library.dynamic.arrays import HALF, keys_of, owners_of, sorted_keys
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.sssp import sssp as static_sssp

_STATIC: dict[str, Callable[..., Paths]] = {"BFS": static_bfs, "SSSP": static_sssp}


def sorted_graph(pages: SlottedPages) -> Graph:
    """The graph of undirected edges in slotted pages, in sorted rows."""
    csr = pages.csr()
    assert csr.weights is not None
    return _graph_of(owners_of(csr.offsets), csr.indices, csr.weights, pages.num_rows)


def _graph_of(src: Any, dst: Any, weights: Any, num_rows: int) -> Graph:
    keys, order = sorted_keys(keys_of(src, dst))
    ids = np.arange(num_rows, dtype=np.int64, like=keys)
    offsets = np.searchsorted(keys, np.arange(num_rows + 1, dtype=np.int64, like=keys) << HALF)
    csr = Csr(offsets, (keys & np.int64(2**32 - 1)).astype(np.int32), weights[order])
    return Graph(ids, ids.astype(np.int32), csr, csr, directed=False)


class Rebuilt:
    """Static structures that are made anew after an edge between two new vertices."""

    def __init__(self, graph: Graph) -> None:
        self.graph, counts = graph, np.diff(graph.out.offsets)
        assert graph.out.weights is not None
        self._columns = (
            np.repeat(np.arange(graph.num_vertices, dtype=np.int32), to_host(counts)),
            to_host(graph.out.indices),
            to_host(graph.out.weights),
        )

    def search(self, what: str) -> Paths:
        """Transfer the arcs, sort them to a CSR, and search that."""
        return _STATIC[what](self._sorted(), 0)

    def _sorted(self) -> Graph:
        rows = self.graph.num_vertices
        more = np.array([rows, rows + 1], np.int32), np.array([rows + 1, rows], np.int32), np.ones(2, np.int32)
        pairs = zip(self._columns, more, strict=True)
        src, dst, weights = (np.asarray(np.append(*pair), like=self.graph.ids) for pair in pairs)
        return _graph_of(src, dst, weights, rows + 2)


def other_searches(what: str, graph: Graph, expected: Paths) -> dict[str, Callable[[], Any]]:
    """Other searches of ours on a GPU from row 0, by name; their answers are compared with the expected one."""
    if not on_gpu():
        return {}
    ways: dict[str, Callable[[], Any]] = {}
    if what == "BFS":
        static = _static_search(graph.out)
        require_same(static(0), expected)
        ways["on a CSR by the method of the pages"] = partial(static, 0)
    return ways


class CuGraphSearches(NamedTuple):
    """What cuGraph does on a graph whose arcs are in the GPU's memory."""

    build: Callable[[], Any]
    searches: dict[tuple[str, str], Callable[[], Any]]  # by ours and by the name of the way


def cugraph_of(graph: Graph, expected: dict[str, Paths]) -> CuGraphSearches | None:
    """Its searches from row 0, after their answers were compared with the expected ones; None if it is not installed."""
    if not (on_gpu() and find_spec("pylibcugraph")):
        return None
    from benchmarks.one_gpu.peers import Pylibcugraph, exact_weight_type

    way = Pylibcugraph(graph, exact_weight_type(expected["SSSP"]))
    searches = dict[tuple[str, str], Callable[[], Any]]()
    for what, paths in expected.items():
        for peer in way.peers(what.lower()):
            if not peer.agrees(peer.solve(0), paths):
                raise AssertionError(f"cuGraph's {what} differs from ours")
            searches[what, f"cuGraph, {peer.note}" if peer.note else "cuGraph"] = partial(peer.solve, 0)
    return CuGraphSearches(way.build, searches)


def _static_search(csr: Csr) -> Callable[[int], Paths]:
    """BFS on a CSR by the method that searches pages: long paths, or levels that are pushed."""
    import cupy

    from kernels.bfs.cuda import quads_of
    from kernels.library.dynamic.pages.search.breadth_cuda import have_long_paths, search_rows

    num_rows = len(csr.offsets) - 1
    if have_long_paths(np.diff(csr.offsets)):
        return partial(search_rows, csr, quads_of(csr), existing=cupy.ones(num_rows, np.bool_))
    return partial(_push, csr)


def _push(csr: Csr, source: int) -> Paths:
    """BFS on a CSR by the kernel that searches pages."""
    import cupy

    from benchmarks.published import SOURCES
    from kernels.gpu.loader import launch
    from kernels.library.dynamic.pages.search.breadth_cuda import answer, none
    from kernels.library.dynamic.pages.search.constants import CONTROL_WORDS, SEARCH_THREADS, UNSEEN

    num_rows = len(csr.offsets) - 1
    levels, queue = cupy.empty(num_rows, np.int32), cupy.empty(num_rows, np.int32)
    levels.fill(UNSEEN)
    levels[source], queue[0], predecessor = 0, source, none(num_rows)
    parts = [cupy.empty(len(csr.indices) // 509 + 1, np.int32) for _ in range(2)]
    arguments = csr.offsets, csr.indices, levels, predecessor, queue, *parts, cupy.zeros(CONTROL_WORDS, np.uint64)
    launch(f"{SOURCES}search_rows.cu", "search_rows", SEARCH_THREADS, None, *arguments)
    return answer(source, levels, predecessor)
