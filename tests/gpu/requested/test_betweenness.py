"""Betweenness on the GPU: the CPU's bits."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.betweenness import betweenness, cuda, edge_betweenness
from kernels.betweenness.certificate import certify_betweenness, certify_edge_betweenness
from kernels.betweenness.certificate import cuda as certificate
from kernels.gpu import loader
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from tests.answers import uncleaned
from tests.gpu.inputs import poison
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of


def check(graph: Graph, **asked: object) -> None:
    check_one(graph, betweenness, certify_betweenness, asked)


def check_ends_and_edges(graph: Graph, **asked: object) -> None:
    """Vertices with the ends of paths from given sources, and edges."""
    some = {"sources": graph.ids[:: 1 + len(graph.ids) // 5].tolist(), "weights": asked.get("weights", True)}
    check_one(graph, betweenness, certify_betweenness, {**some, "endpoints": True, "normalized": True})
    check_one(graph, edge_betweenness, certify_edge_betweenness, asked)


def check_one(graph: Graph, solve: Any, certify: Any, asked: dict[str, Any]) -> None:
    expected = solve(graph, **asked)
    poison()
    on_device = to_device(graph)
    found = solve(on_device, **asked)
    assert found.sources == expected.sources
    for name, array in vars(expected).items():
        assert not isinstance(array, np.ndarray) or getattr(found, name).get().tolist() == array.tolist()
    verdict = certify(on_device, found, **asked)
    assert verdict.holds, verdict.reason
    one = cupy.arange(len(found.betweenness)) == 0
    wrong = replace(found, betweenness=found.betweenness + one)
    assert certify(on_device, wrong, **asked).holds == (not len(one))


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    for graph in (graph_of(edges, edges.ids[::-1]), uncleaned(edges)):
        try:
            check(graph)
        except ArithmeticError:
            with pytest.raises(ArithmeticError, match="no length"):
                betweenness(to_device(graph))
        check(graph, weights=False, exact_below=3, epsilon=0.3)
    check_ends_and_edges(graph, weights=False)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_weights(dtype):
    rng = np.random.default_rng(4)
    ends, weights = rng.integers(60, size=(200, 2)).tolist(), rng.choice([1, 1, 2, 3], 200).tolist()
    for directed in (True, False):
        edges = EdgeList("weights", tuple((*pair, weight) for pair, weight in zip(ends, weights, strict=True)), directed)
        check(graph_of(edges, dtype=dtype))
    check_ends_and_edges(graph_of(edges, dtype=dtype))


def test_rows_of_several_parts_and_several_batches(monkeypatch):
    edges = EdgeList("hubs", tuple((hub, 2 + i) for i in range(1100) for hub in (0, 1)), directed=False)
    check(graph_of(edges), exact_below=0, epsilon=0.4)
    check_ends_and_edges(graph_of(edges), exact_below=0, epsilon=0.8)
    weighted = tuple((hub, 2 + i, 1 + i % 2) for i in range(1100) for hub in (0, 1))
    check(graph_of(EdgeList("hubs", weighted)), exact_below=0, epsilon=0.4)
    monkeypatch.setattr(cuda, "_MOST_BYTES", 1)
    monkeypatch.setattr(certificate, "_MOST_BYTES", 1)
    path = EdgeList("path", tuple((i, i + 1) for i in range(40)), directed=False)
    check(graph_of(path))


@pytest.mark.parametrize("directed", [True, False])
def test_a_block_for_each_source(directed, monkeypatch):
    """Many levels, rows that a warp takes, and weighted sources in several batches of several sources."""
    arcs = [(i, i + 1, 1 + i % 3) for i in range(80)] + [(80, 100 + i, 2 - i % 2) for i in range(200)]
    arcs += [(i, 2000 + i, 1) for i in range(0, 80, 2)] + [(2000 + i, i + 2, 1) for i in range(0, 80, 2)]
    arcs += [(0, 3000 + i, 1) for i in range(40)] + [(3000 + i, 1, 1) for i in range(40)]
    graph = graph_of(EdgeList("hubs at a path", tuple(arcs), directed))
    monkeypatch.setattr(loader, "free_bytes", lambda: 3 * 100 * graph.num_vertices)
    for weights in (True, False):
        check(graph, exact_below=0, epsilon=0.4, weights=weights)
        check_ends_and_edges(graph, exact_below=0, epsilon=0.8, weights=weights)


def test_more_rounds_than_the_tried_sources_need():
    """The first sources reach one row each; the path of others is longer than groups of sources can follow."""
    check(graph_of(EdgeList("arcs and a path", tuple((i, i + 1) for i in (0, 2, 4, 6, *range(8, 90))))))


def test_more_paths_than_a_double_counts():
    triple = [(4 * i + a, 4 * i + b) for i in range(330) for a, b in ((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4))]
    check(graph_of(EdgeList("triples", tuple(triple))), exact_below=0, epsilon=0.4)
    check_ends_and_edges(graph_of(EdgeList("triples", tuple(triple))), exact_below=0, epsilon=0.9)
