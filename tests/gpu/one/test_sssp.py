"""Shortest paths on the GPU equal the CPU's to the byte, for any graph, order of rows, type and previous memory contents."""

# ruff: noqa: E402  (the imports below need CuPy)
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks import generators
from benchmarks.published import sssp as published
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import UNREACHED, Graph, index_dtype
from kernels.paths import weights as of_arcs
from kernels.sssp import cuda, sssp
from kernels.sssp.certificate import certify_sssp
from kernels.sssp.cpu import search as search_on_cpu
from tests.gpu.inputs import poison, with_wide_rows
from tests.gpu.paths import assert_equal
from tests.graphs import NAMED_GRAPHS, Edge, EdgeList, graph_of

WEIGHTS = (np.int32, np.int64, np.float32, np.float64)
WEIGHTED = [edges for edges in NAMED_GRAPHS if edges.weighted]


def check(graph: Graph, sources: list[int]) -> None:
    """Check both methods and the published ones."""
    on_device = to_device(graph)
    for long_paths, method in ((True, None), (False, None), (False, "dijkstra"), (False, "bellman-ford")):
        on_device.derived.put(cuda.plan_of, cuda.make_plan(on_device, long_paths))
        if method == "dijkstra" and graph.num_vertices > 20_000:
            continue
        for source in sources:
            poison()
            found = on_host(published.search(on_device, source, method) if method else sssp(on_device, source))
            assert_equal(found, search_on_cpu(graph, source))
            if graph.rows_by_id.dtype == index_dtype(graph.num_vertices):
                certificate = certify_sssp(graph, found)
                assert certificate.holds, certificate.reason


def edges_of(
    random: np.random.Generator, num_vertices: int, num_edges: int, directed: bool, skew: float, weights: np.ndarray[Any, Any]
) -> EdgeList:
    ends = (num_vertices * random.random((num_edges, 2)) ** skew).astype(np.int64)
    chosen = random.choice(weights, num_edges).tolist()
    edges: tuple[Edge, ...] = tuple((a, b, weight) for (a, b), weight in zip(ends.tolist(), chosen, strict=True))
    return EdgeList("random", edges, directed, tuple(range(num_vertices)))


def grid_edges(side: int, random: np.random.Generator, heaviest: int = 999) -> EdgeList:
    ends = np.stack(generators.grid_edges(side), 1)
    kept = ends[random.random(len(ends)) >= 0.35].tolist()
    weights = random.integers(1, heaviest + 1, len(kept)).tolist()
    return EdgeList("grid", tuple((a, b, w) for (a, b), w in zip(kept, weights, strict=True)), False, tuple(range(side * side)))


def test_weights_below_the_least_normal_float() -> None:
    edges = EdgeList("small", ((0, 1, 1e-40), (1, 2, 3e-40), (0, 2, 5e-40), (2, 3, 1e-45)), True)
    check(graph_of(edges, edges.ids, np.float32), [0])


@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("edges", WEIGHTED, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, dtype: type) -> None:
    if dtype == np.int32 and max(edge[2:] for edge in edges.edges) > (2**31 - 1,):
        pytest.skip("its weights do not fit int32")
    graph = graph_of(edges, order=edges.ids[::-1], dtype=dtype)
    check(graph, list(range(min(graph.num_vertices, 6))))


def test_unweighted_graphs_count_hops() -> None:
    graph = graph_of(NAMED_GRAPHS[7])
    assert_equal(on_host(sssp(to_device(graph), 3)), sssp(graph, 3))


@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("num_vertices", "num_edges", "skew"), [(50, 40, 1), (300, 900, 1), (2000, 30_000, 4), (33, 500, 2)])
def test_random_graphs_in_random_orders(dtype: type, directed: bool, num_vertices: int, num_edges: int, skew: float) -> None:
    random = np.random.default_rng(num_edges)
    for choice in (np.arange(1, 1000), np.array([0, 0, 1, 2]), np.append(np.zeros(9, int), 10**6)):
        weights = (choice * random.random(len(choice))).astype(dtype) if np.dtype(dtype).kind == "f" else choice
        edges = edges_of(random, num_vertices, num_edges, directed, skew, weights)
        graph = graph_of(edges, random.permutation(num_vertices).tolist(), dtype)
        check(graph, random.integers(num_vertices, size=2).tolist())


@pytest.mark.parametrize("dtype", WEIGHTS)
def test_hubs(dtype: type) -> None:
    """Rows of every small degree, and rows for a warp and for a block."""
    arcs = [(hub, 1000 + leaf, 1 + hub * leaf % 97) for hub in range(40) for leaf in range(hub)]
    arcs += [(hub, hub + 1, 50) for hub in range(45)] + [(41, leaf, 5 + leaf % 7) for leaf in range(2000, 12_000)]
    arcs += [(42, leaf, 3 + leaf % 11) for leaf in range(2000, 12_000, 3)]
    check(graph_of(EdgeList("stars", tuple(arcs), directed=False), dtype=dtype), [0, 41, 50])


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_frontiers_too_large_for_a_team(dtype: type) -> None:
    """400 times 400 rows are found in one step: more than the shared memory of a cluster holds."""
    edges = [(0, child, 5) for child in range(1, 401)]
    edges += [(1 + leaf // 400, 401 + leaf, 5 + leaf % 3) for leaf in range(160_000)]
    edges += [(401 + leaf, 200_000 + leaf // 7, 1 + leaf % 5) for leaf in range(160_000)]
    check(graph_of(EdgeList("tree", tuple(edges), directed=False), dtype=dtype), [0, 160_400])


@pytest.mark.parametrize("most", [0, 3, 10])
@pytest.mark.parametrize("dtype", WEIGHTS)
def test_rows_that_become_too_many_for_a_team(monkeypatch: pytest.MonkeyPatch, dtype: type, most: int) -> None:
    """The search goes on with all blocks, and the plan notes it."""
    monkeypatch.setattr(cuda, "MOST_ROWS", most)
    random = np.random.default_rng(8)
    for edges in (grid_edges(12, random), edges_of(random, 200, 500, True, 1, np.array([0, 1, 5, 9]))):
        graph = graph_of(edges, random.permutation(edges.ids).tolist(), dtype)
        on_device = to_device(graph)
        on_device.derived.put(cuda.plan_of, cuda.make_plan(on_device, True))
        for source in (0, 100, 0):
            poison()
            assert_equal(on_host(sssp(on_device, source)), search_on_cpu(graph, source))
            assert cuda.plan_of(on_device).crowded


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", WEIGHTS)
def test_grids(dtype: type, wide: bool) -> None:
    random = np.random.default_rng(7)
    graph = graph_of(grid_edges(60, random), random.permutation(3600).tolist(), dtype)
    check(with_wide_rows(graph) if wide else graph, [0, 1000, 3599])


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_paths_that_are_longer_than_their_degrees_show(dtype: type) -> None:
    """The buckets of a search with all blocks become wider, and narrower again where the path ends in a crowd."""
    path = [(i, i + 1, 1 + 7 * i % 99) for i in range(70)]
    crowd = [(70 + i // 3, 71 + i, 1 + i % 5) for i in range(300)]
    on_device = to_device(graph := graph_of(EdgeList("path", tuple(path + crowd), directed=False), dtype=dtype))
    on_device.derived.put(cuda.plan_of, cuda.make_plan(on_device, False))
    assert_equal(on_host(sssp(on_device, 0)), search_on_cpu(graph, 0))


def test_sums_beyond_32_bits() -> None:
    heavy = tuple((i, i + 1, 2**31 - 1 - i) for i in range(20))
    for dtype in (np.int32, np.int64):
        check(graph_of(EdgeList("heavy_path", heavy, directed=False), dtype=dtype), [0, 10, 20])


@pytest.mark.parametrize("directed", [False, True])
def test_sums_beyond_64_bits_are_refused(directed: bool) -> None:
    graph = to_device(graph_of(EdgeList("heaviest", ((0, 1, 2**62), (1, 2, 2**62), (2, 3, 1)), directed)))
    for long_paths in (True, False):
        graph.derived.put(cuda.plan_of, cuda.make_plan(graph, long_paths))
        with pytest.raises(OverflowError):
            sssp(graph, 0)


def test_infinite_sums_are_refused() -> None:
    graph = to_device(graph_of(EdgeList("heaviest", ((0, 1, 1.7e308), (1, 2, 1.7e308))), dtype=np.float64))
    with pytest.raises(OverflowError):
        sssp(graph, 0)


def test_largest_sum() -> None:
    check(graph_of(EdgeList("largest", ((0, 1, 2**62), (1, 2, 2**62 - 1), (2, 3, 0), (3, 4, 0)))), [0, 1])


def test_weights_that_a_sum_absorbs() -> None:
    steps = (1e17, 1.0, 1e-300, 3e16)
    edges = (*((i, i + 1, steps[i % 4]) for i in range(200)), (0, 7, 1e17), (3, 0, 0.0), (9, 4, 1.0))
    check(graph_of(EdgeList("absorbing", edges, directed=False), range(200, -1, -1), np.float64), [0, 100])


def test_long_paths_of_length_zero() -> None:
    edges = tuple((i, i + 1, 0) for i in range(3000)) + tuple((i, i + 17, 0) for i in range(0, 2900, 5)) + ((3000, 3001, 4),)
    check(graph_of(EdgeList("zeros", edges, directed=False)), [0, 1500, 3001])


def test_degrees_decide_the_method() -> None:
    random = np.random.default_rng(3)
    road = to_device(graph_of(grid_edges(20, random)))
    social = to_device(graph_of(edges_of(random, 100, 2000, False, 1, np.arange(1, 99))))
    assert cuda.plan_of(road).quads is not None
    assert cuda.plan_of(social).quads is None
    assert cuda.plan_of(road) is cuda.plan_of(road)


def test_twenty_searches_give_one_answer() -> None:
    random = np.random.default_rng(11)
    social = edges_of(random, 3000, 60_000, False, 4, np.arange(1, 999))
    for graph in (graph_of(grid_edges(80, random)), graph_of(social)):
        on_device = to_device(graph)
        expected = search_on_cpu(graph, 0)
        for _ in range(20):
            poison()
            assert_equal(on_host(sssp(on_device, 0)), expected)


def test_dijkstra_refuses_large_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = to_device(graph_of(EdgeList("path", tuple((i, i + 1, 1) for i in range(50)))))
    monkeypatch.setattr(published, "DIJKSTRA_ROWS", 50)
    with pytest.raises(ValueError, match="at most 50 rows: this graph has 51"):
        published.search(graph, 0, "dijkstra")


def test_dijkstra_stops_at_the_target() -> None:
    for dtype in WEIGHTS:
        graph = graph_of(edges_of(np.random.default_rng(2), 25, 50, True, 1, np.arange(1, 9)), dtype=dtype)
        on_device, expected = to_device(graph), search_on_cpu(graph, 0).distance
        poison()
        assert [published.length_to(on_device, 0, target) for target in range(graph.num_vertices)] == expected.tolist()
        assert UNREACHED in expected
    path = to_device(graph_of(EdgeList("path", tuple((i, i + 1, 1) for i in range(50)))))
    assert published.length_to(path, 10, 10) == 0
    assert published.length_to(path, 10, 9) == UNREACHED


@pytest.mark.parametrize("row", [-1, 3])
def test_a_source_that_is_not_a_row_is_refused(row: int) -> None:
    with pytest.raises(IndexError):
        sssp(to_device(graph_of(EdgeList("path", ((0, 1, 2), (1, 2, 2))))), row)


@pytest.mark.parametrize("piece", [1, 3, 10, 11])
def test_weights_are_reduced_in_pieces(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2^31 and more, CuPy would make one block reduce them all."""
    lengths = []

    class Noting(np.ndarray[Any, Any]):
        def max(self, *args: Any, **options: Any) -> Any:
            lengths.append(len(self))
            return super().max(*args, **options)

    monkeypatch.setattr(of_arcs, "_PIECE", piece)
    for array in (np.arange(10, dtype=np.int32).view(Noting), cupy.arange(10, dtype=np.int32)):
        assert of_arcs.heaviest_and_sum(array) == (9.0, 45.0)
        assert of_arcs.heaviest_and_sum(array[:0]) == (0.0, 0.0)
    assert sum(lengths) == 10
    assert max(lengths) <= piece
