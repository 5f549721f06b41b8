"""Minimum spanning forests on the GPU: the CPU's edges and labels to the byte, with and without the filter, in every width."""
# ruff: noqa: E402  (the imports below need CuPy)

from dataclasses import fields, replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.published import forest as published
from kernels.answers import Forest
from kernels.forest import cuda, minimum_spanning_forest
from kernels.forest.certificate import certify_forest
from kernels.forest.rooted import root_forest, wrong_vertex
from kernels.gpu.transfer import to_device
from kernels.graph import WEIGHTS, Graph
from tests.gpu.inputs import poison, shuffled, with_wide_rows
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

NO_FILTER = 1 << 40


def random_edges(seed: int, num_vertices: int, num_edges: int, directed: bool, top: int | None, skew: float = 1) -> EdgeList:
    """Random edges whose ends are smaller the larger `skew` is; weights from 0 to `top`."""
    random = np.random.default_rng(seed)
    ends = (num_vertices * random.random((num_edges, 2)) ** skew).astype(np.int64) * 3
    edges = ends.tolist()
    if top is not None:
        edges = [(*edge, weight) for edge, weight in zip(edges, random.integers(0, top + 1, num_edges).tolist(), strict=True)]
    return EdgeList("random", tuple(map(tuple, edges)), directed, tuple(range(0, 3 * num_vertices, 3)))


def assert_equal(found: Forest, expected: Forest) -> None:
    for name in ("src", "dst", "weights", "labels"):
        one, other = cupy.asnumpy(getattr(found, name)), getattr(expected, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, name)


def check(graph: Graph) -> None:
    expected = minimum_spanning_forest(graph)
    on_device = to_device(graph)
    for dense in (NO_FILTER, 0) if graph.num_arcs else ():
        plan = cuda.plan_of(on_device, dense)
        for capacity in (plan.capacity, plan.num_edges):  # 0 has to grow
            on_device.derived.put(cuda.plan_of, replace(plan, capacity=capacity))
            poison()
            assert_equal(cuda.span(on_device), expected)
    on_device.derived.discard(cuda.plan_of)
    for span in (minimum_spanning_forest, published.span):
        poison()
        assert_equal(span(on_device), expected)


def check_rooted(vertices: int = 2000) -> None:
    """Forests of paths, stars and random trees, rooted on both; a forest with one wrong depth is refused on both."""
    random = np.random.default_rng(vertices)
    for above in (lambda i: i - 1, lambda i: i // 40 * 40 if i % 40 else 0, lambda i: random.integers(0, i)):
        order = random.permutation(vertices).astype(np.int32)
        inner = [i for i in range(vertices) if i % 500]
        ends = np.sort([(order[i], order[i - i % 500 + above(i % 500)]) for i in inner], axis=1)
        smallest = np.repeat(order.reshape(-1, 500).min(axis=1), 500)
        edges = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]), smallest[inner]
        expected, on_device = root_forest(*edges, vertices), tuple(map(cupy.asarray, edges))
        poison()
        found = root_forest(*on_device, vertices)
        for field in fields(expected):
            one, other = cupy.asnumpy(getattr(found, field.name)), getattr(expected, field.name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other, field.name)
        assert wrong_vertex(found, *on_device) == wrong_vertex(expected, *edges) == -1
        expected.depth[7] += 1
        assert wrong_vertex(replace(found, depth=cupy.asarray(expected.depth)), *on_device) == wrong_vertex(expected, *edges) >= 0


def test_rooted_forests() -> None:
    check_rooted()
    check_rooted(100_000)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    for graph in (graph_of(edges), graph_of(edges, edges.ids[::-1])):
        check(graph)
        found = minimum_spanning_forest(to_device(graph))
        on_host = Forest(*(cupy.asnumpy(array) for array in (found.src, found.dst, found.weights, found.labels)))
        certificate = certify_forest(graph, on_host)
        assert certificate.holds, certificate.reason


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("num_edges", [300, 3000, 30000])
def test_random_graphs(num_edges: int, directed: bool) -> None:
    for seed, top in enumerate((None, 0, 5, 10**6)):
        check(shuffled(random_edges(seed, 2000, num_edges, directed, top, 1 + seed)))


@pytest.mark.parametrize("dtype", WEIGHTS, ids=str)
def test_every_type_of_weight(dtype: np.dtype) -> None:
    for directed in (False, True):
        check(shuffled(random_edges(3, 1000, 9000, directed, 40), dtype.type))


def test_weights_of_more_than_32_bits() -> None:
    wide = random_edges(4, 1000, 9000, False, 2**40)
    check(shuffled(wide))
    close = EdgeList("close", tuple((src, dst, 1 + weight / 2**60) for src, dst, weight in wide.edges), False)
    check(shuffled(close, np.float64))
    check(shuffled(EdgeList("limit", tuple((src, dst, 2**63 - 1 - weight) for src, dst, weight in wide.edges), False)))
    check(shuffled(EdgeList("edge of 32 bits", tuple((s, d, 2**32 - 3 + w % 4) for s, d, w in wide.edges), False)))


def test_negative_zero_and_infinity_are_weights() -> None:
    values = (-0.0, 0.0, np.inf, 1e-45, 3e38)
    edges = random_edges(6, 200, 900, False, 4).edges
    for dtype in (np.float32, np.float64):
        check(shuffled(EdgeList("special", tuple((src, dst, values[weight]) for src, dst, weight in edges), False), dtype))


@pytest.mark.parametrize("top", [None, 3, 1000])
def test_rows_for_a_warp_and_in_chunks(top: int | None) -> None:
    random = np.random.default_rng(2)
    hubs = [
        (hub, 7 * int(i)) for hub, degree in ((1, 40), (2, 1500), (3, 5000), (4, 1024)) for i in random.permutation(6000)[:degree]
    ]
    edges = hubs if top is None else [(*edge, int(random.integers(0, top))) for edge in hubs]
    check(shuffled(EdgeList("hubs", tuple(edges), False, (10**6, 10**7))))
    check(with_wide_rows(shuffled(EdgeList("hubs", tuple(edges), True))))


def test_long_chains_of_lightest_edges() -> None:
    for weights in (range(20_000), range(20_000, 0, -1)):
        check(graph_of(EdgeList("chain", tuple((i, i + 1, weight) for i, weight in enumerate(weights)), False)))


def test_wide_rows() -> None:
    for directed in (False, True):
        check(with_wide_rows(shuffled(random_edges(5, 1000, 2500, directed, 9))))


def test_twenty_repeats_give_one_answer() -> None:
    graph = shuffled(random_edges(7, 20_000, 90_000, False, 50, 1.5), np.int32)
    expected = minimum_spanning_forest(graph)
    on_device = to_device(graph)
    for repeat in range(20):
        on_device.derived.put(cuda.plan_of, cuda.plan_of(on_device, NO_FILTER if repeat % 2 else 0))
        poison()
        assert_equal(cuda.span(on_device), expected)


def test_the_source_documents_example() -> None:
    """Figure 1: two rounds, from 7 vertices and 24 arcs over 3 and 14 to a single vertex."""
    graph = to_device(graph_of(FIGURE_1))
    vertices = published._vertices(graph, cuda.plan_of(graph))
    in_forest = cupy.zeros(12, np.uint8)
    sizes = [(int(vertices.num_vertices), len(vertices.destination))]
    while (color := published._colors(vertices, in_forest)) is not None:
        vertices, _ = published._contract(vertices, color)
        sizes.append((int(vertices.num_vertices), len(vertices.destination)))
    assert sizes == [(7, 24), (3, 14), (1, 0)]
    assert int(published.span(graph).weights.sum()) == 22


@pytest.mark.parametrize("top", [None, 5])
def test_a_directed_graph_in_blocks_of_rows(monkeypatch: pytest.MonkeyPatch, top: int | None) -> None:
    monkeypatch.setattr(cuda, "_BLOCK_ARCS", 50)
    check(shuffled(random_edges(8, 600, 3000, True, top, 3)))
