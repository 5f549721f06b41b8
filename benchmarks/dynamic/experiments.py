"""The document's three experiments: sizes of pages, searches alone, and searches after an update."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.dynamic.common import DynamicRow, milliseconds, on_gpu, require_same, wait, without_weights
from kernels.answers import Paths
from kernels.bfs import bfs as static_bfs
from kernels.gpu.loader import to_host
from kernels.graph import Csr, Graph
from kernels.library.dynamic import BatchRules
from kernels.library.dynamic.arrays import keys_of, owners_of, sorted_keys
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.mirror import Mirror
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.searches import bfs, sssp
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.sssp import sssp as static_sssp

SIZES = range(256, 2049, 256)
_REPEATS = 10  # of an update, as in the document


def sizes(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """Building pages of each size: share of the slowest."""
    rows = np.arange(graph.num_vertices, dtype=np.int32, like=graph.ids)
    csr = without_weights(graph.out)
    times = {size: milliseconds(lambda size=size: PageStore.from_lists(rows, csr, size)) for size in SIZES}  # type: ignore[misc]
    for size, taken in times.items():
        yield DynamicRow("sizes", name, f"pages of {size} words", 100 * taken / max(times.values()), "% of the slowest")
    yield DynamicRow("sizes", name, "fastest: words of a page", min(times, key=lambda size: times[size]), "words")
    yield DynamicRow("sizes", name, "fastest", min(times.values()), "ms")


def searches(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """BFS and SSSP on pages, and the static kernels, from row 0."""
    pages = SlottedPages.from_csr(without_weights(graph.out), BatchRules())
    expected = static_bfs(graph, 0)
    require_same(bfs(pages, 0), expected)
    yield DynamicRow("searches", name, "BFS on pages", milliseconds(lambda: bfs(pages, 0)), "ms")
    yield DynamicRow("searches", name, "BFS, static kernel", milliseconds(lambda: static_bfs(graph, 0)), "ms")
    if on_gpu():
        static = _static_search(graph.out)
        require_same(static(0), expected)
        yield DynamicRow("searches", name, "BFS on a CSR by the method of the pages", milliseconds(lambda: static(0)), "ms")
    if graph.out.weights is not None:
        weighted = SlottedPages.from_csr(graph.out, BatchRules())
        require_same(sssp(weighted, 0), static_sssp(graph, 0))
        yield DynamicRow("searches", name, "SSSP on pages", milliseconds(lambda: sssp(weighted, 0), 1, 0), "ms")
        yield DynamicRow("searches", name, "SSSP, static kernel", milliseconds(lambda: static_sssp(graph, 0)), "ms")


def updates(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """Two vertices joined by an edge are added on the host; then the search; the mean of ten, beside a rebuild of the CSR."""
    host = Csr(to_host(graph.out.offsets), to_host(graph.out.indices), None)
    editor = Editor(PageStore(1024), BatchRules(undirected=True))
    mirror = Mirror(editor, graph.ids)
    pages = SlottedPages.from_csr(without_weights(graph.out), BatchRules())
    mirror.device = pages.store
    mirror.fetch()
    expected = static_bfs(graph, 0)
    spent, transferred = np.zeros(3), 0
    for turn in range(_REPEATS + 1):
        wait()
        marks = [time.perf_counter()]
        editor.add_edge(editor.add_vertex(), editor.add_vertex())
        marks.append(time.perf_counter())
        transferred = mirror.sync()
        pages.changed()
        wait()
        marks.append(time.perf_counter())
        answer = bfs(pages, 0)
        wait()
        marks.append(time.perf_counter())
        spent += np.diff(marks) if turn else 0  # the first compiles
    require_same(answer, expected)
    for what, seconds in zip(("update on the host", "transfer", "BFS"), spent, strict=True):
        yield DynamicRow("updates", name, f"pages: {what}", 1000 * seconds / _REPEATS, "ms")
    yield DynamicRow("updates", name, "pages: all", 1000 * float(spent.sum()) / _REPEATS, "ms")
    yield DynamicRow("updates", name, "pages: bytes of a transfer", transferred, "bytes")
    src = np.repeat(np.arange(graph.num_vertices, dtype=np.int32), np.diff(host.offsets))
    yield DynamicRow("updates", name, "rebuild, transfer and BFS", milliseconds(lambda: _rebuilt(src, host.indices, graph)), "ms")


def _rebuilt(src: Any, dst: Any, graph: Graph) -> Paths:
    """Transfer the arcs with two more, sort them to a CSR, and search."""
    more = np.array([graph.num_vertices, graph.num_vertices + 1], np.int32)
    columns = [np.asarray(np.append(column, ends), like=graph.ids) for column, ends in ((src, more), (dst, more[::-1]))]
    keys, _ = sorted_keys(keys_of(*columns))
    rows = np.arange(graph.num_vertices + 3, dtype=np.int64, like=keys) << 32
    heads = (keys & np.int64(2**32 - 1)).astype(np.int32)
    csr = Csr(np.searchsorted(keys, rows).astype(np.int64), heads, None)
    ids = np.arange(graph.num_vertices + 2, dtype=np.int64, like=keys)
    return static_bfs(Graph(ids, ids.astype(np.int32), csr, csr, directed=False), 0)


def _static_search(csr: Csr) -> Callable[[int], Paths]:
    """BFS on a CSR by the method that searches pages: long paths, or levels that are pushed."""
    import cupy

    from kernels.bfs.cuda import quads_of
    from kernels.library.dynamic.searches_cuda import have_long_paths, search_rows

    num_rows = len(csr.offsets) - 1
    if have_long_paths(np.diff(csr.offsets)):
        return partial(search_rows, csr, quads_of(csr), existing=cupy.ones(num_rows, np.bool_))
    return partial(_push, csr)


def _push(csr: Csr, source: int) -> Paths:
    """BFS on a CSR by the kernel that searches pages."""
    import cupy

    from benchmarks.published import SOURCES
    from kernels.gpu.loader import launch
    from kernels.library.dynamic.constants import CONTROL_WORDS, SEARCH_THREADS, UNSEEN
    from kernels.library.dynamic.searches_cuda import NONE, answer

    num_rows = len(csr.offsets) - 1
    levels, predecessor, queue = (cupy.empty(num_rows, np.int32) for _ in range(3))
    levels.fill(UNSEEN)
    predecessor.fill(NONE)
    levels[source], queue[0] = 0, source
    parts = [cupy.empty(len(csr.indices) // 509 + 1, np.int32) for _ in range(2)]
    arguments = csr.offsets, csr.indices, levels, predecessor, queue, *parts, cupy.zeros(CONTROL_WORDS, np.uint64)
    launch(f"{SOURCES}search_rows.cu", "search_rows", SEARCH_THREADS, None, *arguments)
    return answer(source, levels, predecessor)


def arcs_of(csr: Csr) -> Any:
    """Sorted keys of the arcs."""
    return sorted_keys(keys_of(owners_of(csr.offsets), csr.indices))[0]
