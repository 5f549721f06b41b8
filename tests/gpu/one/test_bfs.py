"""BFS on the GPU equals the CPU's to the byte, for any graph, order of rows, index width and previous memory contents."""

# ruff: noqa: E402  (the imports below need CuPy)
from itertools import pairwise

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks import generators
from benchmarks.published import bfs as published
from kernels.bfs import bfs, cuda
from kernels.bfs.certificate import certify_bfs
from kernels.bfs.cpu import search as search_on_cpu
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph, index_dtype
from tests.gpu.inputs import poison, with_wide_rows
from tests.gpu.paths import assert_equal
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

TEAM_WORDS = cuda._team_words


def no_words(words: int, blocks: int) -> int:
    return 0


def check(monkeypatch: pytest.MonkeyPatch, graph: Graph, sources: list[int]) -> None:
    """Check both methods; top-down with the bitmap in shared memory and in device memory."""
    on_device = to_device(graph)
    top_down = cuda.plan_top_down(on_device)
    for plan, words in ((top_down, TEAM_WORDS), (top_down, no_words), (cuda.plan_both_ways(on_device), no_words)):
        on_device.derived.put(cuda.plan_of, plan)
        monkeypatch.setattr(cuda, "_team_words", words)
        for source in sources:
            poison()
            found = on_host(bfs(on_device, source))
            assert_equal(found, search_on_cpu(graph, source))
            if graph.rows_by_id.dtype == index_dtype(graph.num_vertices):
                certificate = certify_bfs(graph, found)
                assert certificate.holds, certificate.reason


def edges_of(random: np.random.Generator, num_vertices: int, num_edges: int, directed: bool, skew: float = 1) -> EdgeList:
    ends = (num_vertices * random.random((num_edges, 2)) ** skew).astype(np.int64)
    return EdgeList("random", tuple(map(tuple, ends.tolist())), directed, tuple(range(num_vertices)))


def grid_edges(side: int, random: np.random.Generator, dropped: float = 0.35) -> EdgeList:
    edges = np.stack(generators.grid_edges(side), 1)
    kept = edges[random.random(len(edges)) >= dropped]
    return EdgeList("grid", tuple(map(tuple, kept.tolist())), False, tuple(range(side * side)))


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if edges.ids], ids=lambda edges: edges.name)
def test_named_graphs(monkeypatch: pytest.MonkeyPatch, edges: EdgeList) -> None:
    graph = graph_of(edges, order=edges.ids[::-1])
    check(monkeypatch, graph, list(range(min(graph.num_vertices, 12))))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("num_vertices", "num_edges", "skew"), [(50, 40, 1), (300, 900, 1), (2000, 30_000, 4), (33, 500, 2)])
def test_random_graphs_in_random_orders(
    monkeypatch: pytest.MonkeyPatch, directed: bool, num_vertices: int, num_edges: int, skew: float
) -> None:
    random = np.random.default_rng(num_edges)
    for _ in range(4):
        edges = edges_of(random, num_vertices, num_edges, directed, skew)
        graph = graph_of(edges, order=random.permutation(num_vertices).tolist())
        check(monkeypatch, graph, random.integers(num_vertices, size=3).tolist())


def test_rows_of_every_small_degree_and_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    arcs = [(hub, 1000 + leaf) for hub in range(40) for leaf in range(hub)]
    arcs += [(hub, hub + 1) for hub in range(45)] + [(41, leaf) for leaf in range(2000, 12_000)]
    check(monkeypatch, graph_of(EdgeList("stars", tuple(arcs), directed=False)), [0, 3, 41, 50])


def test_frontiers_too_large_for_a_team(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three levels of a tree with rows of 10 arcs: 1, 400, 4000, 40,000 rows; and back."""
    levels = [np.arange(1), np.arange(1, 401), np.arange(401, 4401), np.arange(4401, 44_401)]
    edges = [
        (parent, child)
        for above, below in pairwise(levels)
        for parent, children in zip(above, below.reshape(len(above), -1), strict=True)
        for child in children
    ]
    edges += [(child, 50_000 + child // 7) for child in levels[3]]
    check(monkeypatch, graph_of(EdgeList("tree", tuple((int(a), int(b)) for a, b in edges), directed=False)), [0, 17, 44_400])


def test_rows_large_enough_to_wait_for_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bottom-up, hub 1 finds the frontier late in its row, and hub 2 never, because it is in another component."""
    crowd = tuple((i, 10_000 + (i * j) % 6000) for i in range(3000, 6000) for j in range(1, 12))
    edges = crowd + tuple((1, 30_000 + i) for i in range(5000)) + ((1, 36_000), (36_000, 10_000))
    edges += tuple((2, 50_000 + i) for i in range(4000))
    check(monkeypatch, graph_of(EdgeList("hubs", edges, directed=False)), [0, 1, 2, 2500])


@pytest.mark.parametrize("wide", [False, True])
def test_grid_and_wide_rows(monkeypatch: pytest.MonkeyPatch, wide: bool) -> None:
    random = np.random.default_rng(7)
    graph = graph_of(grid_edges(60, random), order=random.permutation(3600).tolist())
    check(monkeypatch, with_wide_rows(graph) if wide else graph, [0, 1000, 3599])


def test_degrees_decide_the_method() -> None:
    random = np.random.default_rng(3)
    road = to_device(graph_of(grid_edges(20, random)))
    social = to_device(graph_of(edges_of(random, 100, 2000, False)))
    assert cuda.plan_of(road).quads is not None
    assert cuda.plan_of(social).quads is None
    assert cuda.plan_of(road) is cuda.plan_of(road)


def test_twenty_searches_give_one_answer() -> None:
    random = np.random.default_rng(11)
    for graph in (graph_of(grid_edges(50, random)), graph_of(edges_of(random, 3000, 60_000, False, 4))):
        on_device = to_device(graph)
        expected = search_on_cpu(graph, 0)
        for _ in range(20):
            poison()
            assert_equal(on_host(bfs(on_device, 0)), expected)


@pytest.mark.parametrize("row", [-1, 3])
def test_a_source_that_is_not_a_row_is_refused(row: int) -> None:
    with pytest.raises(IndexError):
        bfs(to_device(graph_of(EdgeList("path", ((0, 1), (1, 2))))), row)


@pytest.mark.parametrize("method", published.METHODS)
@pytest.mark.parametrize("directed", [False, True])
def test_published_methods(method: str, directed: bool) -> None:
    random = np.random.default_rng(5)
    edges = [edges for edges in NAMED_GRAPHS if edges.ids] + [edges_of(random, 2000, 9000, directed, 4), grid_edges(25, random)]
    for graph in (graph_of(one, order=one.ids[::-1]) for one in edges):
        on_device = to_device(graph)
        for source in random.integers(graph.num_vertices, size=2).tolist():
            poison()
            assert_equal(on_host(published.search(on_device, source, method)), search_on_cpu(graph, source))
