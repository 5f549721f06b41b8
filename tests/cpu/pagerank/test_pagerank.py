"""PageRank against NetworkX, and against consequences of its definition."""

import networkx as nx
import numpy as np
import pytest

from kernels.pagerank import pagerank
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of


def by_networkx(edges: EdgeList, damping: float) -> list[float]:
    plain: nx.DiGraph[int] = nx.DiGraph()
    plain.add_nodes_from(edges.ids)
    plain.add_edges_from(edges.arcs())
    scores = nx.pagerank(plain, alpha=damping, tol=1e-13, max_iter=10_000)
    return [scores[vertex] for vertex in edges.ids]


@pytest.mark.parametrize("damping", [0.85, 0.5])
@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if edges.ids], ids=lambda edges: edges.name)
def test_networkx_gives_the_same_scores(edges: EdgeList, damping: float) -> None:
    answer = pagerank(graph_of(edges), damping, tolerance=1e-12)
    assert answer.change < 1e-12
    np.testing.assert_allclose(answer.scores, by_networkx(edges, damping), rtol=0, atol=1e-10)


def test_the_order_of_rows_does_not_change_scores() -> None:
    edges = EdgeList("random", tuple(map(tuple, np.random.default_rng(0).integers(200, size=(900, 2)).tolist())))
    forward, backward = pagerank(graph_of(edges)), pagerank(graph_of(edges, edges.ids[::-1]))
    np.testing.assert_allclose(forward.scores, backward.scores[::-1], rtol=1e-12)


def test_a_graph_large_enough_for_threads_gives_the_same_bits_every_time() -> None:
    edges = EdgeList("random", tuple(map(tuple, np.random.default_rng(1).integers(20_000, size=(80_000, 2)).tolist())))
    graph = graph_of(edges)
    first, second = pagerank(graph), pagerank(graph)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_allclose(first.scores, by_networkx(edges, 0.85), rtol=0, atol=1e-8)
    assert first.scores.sum() == pytest.approx(1, abs=1e-12)


def test_iteration_stops_at_its_limits() -> None:
    graph = graph_of(NAMED_GRAPHS[-1])
    assert pagerank(graph, iterations=3).iterations == 3
    assert pagerank(graph, tolerance=1e-3).iterations < pagerank(graph, tolerance=1e-9).iterations
    np.testing.assert_array_equal(pagerank(graph, iterations=0).scores, np.full(7, 1 / 7))


def test_an_empty_graph() -> None:
    answer = pagerank(graph_of(EdgeList("empty", ())))
    assert (len(answer.scores), answer.iterations, answer.change) == (0, 0, 0.0)


@pytest.mark.parametrize(("damping", "tolerance"), [(-0.1, 1e-6), (1.1, 1e-6), (float("nan"), 1e-6), (0.85, -1.0)])
def test_invalid_parameters_are_refused(damping: float, tolerance: float) -> None:
    with pytest.raises(ValueError, match="is n"):
        pagerank(graph_of(NAMED_GRAPHS[-1]), damping, tolerance)
