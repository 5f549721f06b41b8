"""The document's three experiments: sizes of pages, searches alone, and searches after an update."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.dynamic.common import DynamicRow, milliseconds, require_same, wait, without_weights
from benchmarks.dynamic.others import Rebuilt, cugraph_of, other_searches, sorted_graph
from kernels.answers import Paths
from kernels.bfs import bfs as static_bfs
from kernels.graph import Array, Csr, Graph
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
_SEARCHES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {"BFS": (bfs, static_bfs), "SSSP": (sssp, static_sssp)}


def graph_sizes(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """Vertices, arcs and degrees."""
    degrees = np.diff(graph.out.offsets)
    yield DynamicRow("graph", name, "vertices", graph.num_vertices, "")
    yield DynamicRow("graph", name, "arcs, two for each edge", graph.num_arcs, "")
    yield DynamicRow("graph", name, "mean degree", graph.num_arcs / graph.num_vertices, "")
    yield DynamicRow("graph", name, "largest degree", int(degrees.max()), "")


def sizes(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """Building pages of each size: share of the slowest."""
    rows = np.arange(graph.num_vertices, dtype=np.int32, like=graph.ids)
    csr = without_weights(graph.out)
    times = {size: milliseconds(lambda size=size: PageStore.from_lists(rows, csr, size)) for size in SIZES}  # type: ignore[misc]
    for size, taken in times.items():
        yield DynamicRow("sizes", name, f"pages of {size} words", taken / max(times.values()) * 100, "% of the slowest")
    yield DynamicRow("sizes", name, "fastest: words of a page", min(times, key=lambda size: times[size]), "words")
    yield DynamicRow("sizes", name, "fastest", min(times.values()), "ms")


def searches(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """BFS and SSSP on pages, by the static kernels and by cuGraph, from row 0."""
    pages, answers = SlottedPages.from_csr(graph.out, BatchRules()), dict[str, Paths]()
    for what, (search, static) in _SEARCHES.items():
        answers[what] = static(graph, 0)
        require_same(search(pages, 0), answers[what])
        ways = {"on pages": partial(search, pages, 0), "static kernel": partial(static, graph, 0)}
        for way, call in (ways | other_searches(what, graph, answers[what])).items():
            yield DynamicRow("searches", name, f"{what}, {way}", milliseconds(call), "ms")
    taken = milliseconds(lambda: _sorted(pages))
    yield DynamicRow("searches", name, "SSSP, arcs of pages sorted and static kernel", taken, "ms")
    if peer := cugraph_of(graph, answers):
        build, best = milliseconds(peer.build, 1), dict[str, float]()
        yield DynamicRow("updates", name, "cuGraph: graph built from arcs on the GPU", build, "ms")
        for (what, way), call in peer.searches.items():
            taken = milliseconds(call, 1, 0)  # it was called before, and takes seconds on roads
            best[what] = min(taken, best.get(what, taken))
            yield DynamicRow("searches", name, f"{what}, {way}", taken, "ms")
        for what, taken in best.items():
            yield DynamicRow("updates", name, f"cuGraph: graph built, and {what}", build + taken, "ms")


def _sorted(pages: SlottedPages) -> Any:
    pages.changed()
    return static_sssp(sorted_graph(pages), 0)


def updates(name: str, graph: Graph) -> Iterator[DynamicRow]:
    """Two vertices joined by an edge are added on the host; then the searches; the mean of ten, beside rebuilt structures."""
    editor = Editor(PageStore(1024, np.int32), BatchRules(undirected=True))
    mirror = Mirror(editor, graph.ids)
    pages = SlottedPages.from_csr(graph.out, BatchRules(undirected=True))
    mirror.device = pages.store
    mirror.fetch()
    parts = {"update on the host": _add_edge, "transfer": _transfer, "BFS": _bfs, "SSSP": _sssp}
    spent, answers = np.zeros(len(parts)), dict[str, Any]()
    for turn in range(_REPEATS + 1):
        for number, (part, call) in enumerate(parts.items()):
            wait()
            start = time.perf_counter()
            answers[part] = call(mirror, pages)
            wait()
            spent[number] += (time.perf_counter() - start) if turn else 0  # the first compiles
    for what, (_, static) in _SEARCHES.items():
        require_same(answers[what], static(graph, 0))
    taken = dict(zip(parts, (1000 * spent / _REPEATS).tolist(), strict=True))
    for part, mean in taken.items():
        yield DynamicRow("updates", name, f"pages: {part}", mean, "ms")
    yield DynamicRow("updates", name, "pages: bytes of a transfer", answers["transfer"], "bytes")
    rebuilt = Rebuilt(graph)
    for what in _SEARCHES:
        yield DynamicRow("updates", name, f"pages: update, transfer and {what}", sum(taken.values()) - taken[_other(what)], "ms")
        taken_again = milliseconds(lambda what=what: rebuilt.search(what), 2)  # type: ignore[misc]
        yield DynamicRow("updates", name, f"CSR: transfer, sort and {what}", taken_again, "ms")
    yield from _removals(name, graph, mirror, pages)


def _other(what: str) -> str:
    return "SSSP" if what == "BFS" else "BFS"


def _add_edge(mirror: Mirror, _: SlottedPages) -> None:
    mirror.editor.add_edge(mirror.editor.add_vertex(), mirror.editor.add_vertex())


def _transfer(mirror: Mirror, pages: SlottedPages) -> int:
    pages.changed()
    return mirror.sync()


def _bfs(_: Mirror, pages: SlottedPages) -> Any:
    return bfs(pages, 0)


def _sssp(_: Mirror, pages: SlottedPages) -> Any:
    return sssp(pages, 0)


def _removals(name: str, graph: Graph, mirror: Mirror, pages: SlottedPages) -> Iterator[DynamicRow]:
    """Ten edges are removed one by one: by the host, which transfers the pages, and where the pages are."""
    edges = _edges(graph, 2 * (_REPEATS + 1))
    for way, chosen in (("on the host, and transfer", edges[::2]), ("where the pages are", edges[1::2])):
        spent = 0.0
        for turn, (src, dst) in enumerate(chosen):
            wait()
            start = time.perf_counter()
            if way == "where the pages are":
                removed = pages.remove_edge(src, dst)
            else:
                removed = mirror.editor.remove_edge(src, dst)
                _transfer(mirror, pages)
            wait()
            spent += (time.perf_counter() - start) if turn else 0
            if not removed:
                raise AssertionError(f"{name}: no edge from {src} to {dst}")
        yield DynamicRow("updates", name, f"pages: an edge is removed {way}", 1000 * spent / _REPEATS, "ms")


def _edges(graph: Graph, number: int) -> list[tuple[int, int]]:
    """Distinct edges, spread over the graph."""
    places = np.linspace(0, graph.num_arcs - 1, 4 * number).astype(np.int64)
    there = np.asarray(places, like=graph.ids)
    tails = np.searchsorted(graph.out.offsets, there, side="right") - 1
    ends = zip(tails.tolist(), graph.out.indices[there].tolist(), strict=True)
    return list({(min(edge), max(edge)): edge for edge in ends}.values())[:number]


def arcs_of(csr: Csr) -> Array:
    """Sorted keys of the arcs."""
    return sorted_keys(keys_of(owners_of(csr.offsets), csr.indices))[0]
