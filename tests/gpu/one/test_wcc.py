"""Weak components on the GPU: the CPU's labels to the byte, read from all arcs or by sampling."""
# ruff: noqa: E402  (the imports below need CuPy)

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.generators import grid_edges
from benchmarks.published import wcc as published
from kernels.answers import Components
from kernels.gpu.tiles.locality import is_local
from kernels.gpu.transfer import to_device
from kernels.graph import Array, Graph
from kernels.wcc import cuda, wcc
from kernels.wcc.certificate import certify_wcc
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

# Tiles of 64 and 992 rows: many, and arcs between them.
JOINING = (
    cuda.joining_sampled,
    cuda.joining_all,
    partial(cuda.joining_all, most_rows=64),
    partial(cuda.joining_all, most_rows=992),
)


def ways(graph: Graph) -> list[Callable[[], Array]]:
    return [*(joining(graph) for joining in JOINING), lambda: published.components(graph).labels]


def check(graph: Graph) -> None:
    expected = wcc(graph).labels
    on_device = to_device(graph)
    for join in ways(on_device):
        poison()
        found = join()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(cupy.asnumpy(found), expected)
    np.testing.assert_array_equal(cupy.asnumpy(wcc(on_device).labels), expected)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    for graph in (graph_of(edges), graph_of(edges, edges.ids[::-1])):
        check(graph)
        certificate = certify_wcc(graph, Components(cupy.asnumpy(wcc(to_device(graph)).labels)))
        assert certificate.holds, certificate.reason


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("num_edges", [300, 3000, 30000])
def test_random_graphs(num_edges: int, directed: bool) -> None:
    for seed in range(3):
        check(shuffled(random_edges(seed, 3000, num_edges, directed, 1 + seed)))


@pytest.mark.parametrize("directed", [False, True])
def test_rows_for_a_warp_and_for_a_block(directed: bool) -> None:
    hubs = [(hub, 10 * hub + i) for hub, degree in ((0, 40), (1000, 1500), (9000, 5000)) for i in range(1, degree)]
    flipped = tuple(edge[::-1] if edge[1] % 2 else edge for edge in hubs)
    check(shuffled(EdgeList("hubs", flipped, directed, (10**6, 10**7))))


def test_wide_rows() -> None:
    for directed in (False, True):
        check(with_wide_rows(shuffled(random_edges(5, 2000, 2500, directed))))


def test_twenty_repeats_give_one_answer() -> None:
    graph = shuffled(random_edges(7, 50_000, 45_000, True, 1.5))
    expected = wcc(graph).labels
    joins = ways(to_device(graph))
    for repeat in range(20):
        poison()
        np.testing.assert_array_equal(cupy.asnumpy(joins[repeat % len(joins)]()), expected)


def test_where_arcs_lead_decides_the_method() -> None:
    ends = np.stack(grid_edges(40), 1)
    for edges, local in ((ends, True), (np.random.default_rng(2).permutation(1600)[ends], False)):
        graph = graph_of(EdgeList("grid", tuple(map(tuple, edges.tolist())), directed=False))
        on_device = to_device(graph)
        assert is_local(on_device) == local
        np.testing.assert_array_equal(cupy.asnumpy(wcc(on_device).labels), wcc(graph).labels)


def test_graphs_without_arcs() -> None:
    on_device = to_device(graph_of(EdgeList("isolated", (), vertices=tuple(range(100, 0, -1)))))
    np.testing.assert_array_equal(cupy.asnumpy(wcc(on_device).labels), np.arange(100))
