"""Strong components on the GPU: the CPU's labels to the byte, found by the searches, by signatures, or by both."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu.graphs import graph_of_arcs
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from kernels.scc import scc
from kernels.scc.certificate import certify_scc
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of


def check(graph: Graph) -> None:
    expected = scc(graph).labels
    poison()
    found = cupy.asnumpy(scc(to_device(graph)).labels)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def check_and_certify(graph: Graph) -> None:
    check(graph)
    certificate = certify_scc(graph, scc(graph))
    assert certificate.holds, certificate.reason


def chain_of_cycles(num_cycles: int, length: int) -> tuple[tuple[int, int], ...]:
    """Cycles, each with an arc to the next: a deep graph whose components cannot be trimmed."""
    within = [(c * length + i, c * length + (i + 1) % length) for c in range(num_cycles) for i in range(length)]
    return (*within, *((c * length, (c + 1) * length) for c in range(num_cycles - 1)))


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    check_and_certify(graph_of(edges))
    check_and_certify(graph_of(edges, edges.ids[::-1]))


@pytest.mark.parametrize("num_edges", [2000, 3000, 5000, 30000])
def test_random_graphs(num_edges: int) -> None:
    for seed in range(4):
        check_and_certify(shuffled(random_edges(seed, 3000, num_edges, True, 1 + seed)))


@pytest.mark.parametrize(("num_cycles", "length"), [(1, 3000), (1000, 2), (300, 7), (3, 900)])
def test_deep_graphs(num_cycles: int, length: int) -> None:
    edges = EdgeList("chain", chain_of_cycles(num_cycles, length))
    check_and_certify(graph_of(edges))
    check_and_certify(graph_of(edges, edges.ids[::-1]))
    check_and_certify(shuffled(edges))


def test_long_rows() -> None:
    hubs = [(hub, 10 * hub + i) for hub, degree in ((0, 40), (1000, 1500), (9000, 5000)) for i in range(1, degree)]
    back = [(dst, src) for src, dst in hubs if dst % 3 == 0]
    check_and_certify(shuffled(EdgeList("hubs", (*hubs, *back, (0, 1000), (9000, 0), (10003, 90003)))))


@pytest.mark.parametrize("num_edges", [400_000, 3_000_000])
def test_a_search_long_enough_to_pull(num_edges: int) -> None:
    random = cupy.random.default_rng(num_edges)
    ends = (300_000 * random.random((2, num_edges)) ** 2).astype(cupy.int64)
    on_device = graph_of_arcs(ends[0], ends[1], None, 300_000, False, "degree")
    expected = scc(on_host(on_device)).labels
    np.testing.assert_array_equal(cupy.asnumpy(scc(on_device).labels), expected)


def test_wide_rows() -> None:
    check(with_wide_rows(shuffled(random_edges(5, 2000, 4500, True))))
    check(with_wide_rows(graph_of(EdgeList("chain", chain_of_cycles(200, 5)))))


def test_twenty_repeats_give_one_answer() -> None:
    graph = shuffled(random_edges(7, 50_000, 75_000, True, 1.5))
    expected = scc(graph).labels
    on_device = to_device(graph)
    for _ in range(20):
        poison()
        np.testing.assert_array_equal(cupy.asnumpy(scc(on_device).labels), expected)


def test_a_graph_with_one_arc() -> None:
    edges = EdgeList("isolated but two", ((7, 8),), vertices=tuple(range(100, 0, -1)))
    np.testing.assert_array_equal(cupy.asnumpy(scc(to_device(graph_of(edges))).labels), np.arange(100))
