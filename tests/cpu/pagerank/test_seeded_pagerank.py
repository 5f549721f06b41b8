"""PageRank from seeds against NetworkX's personalization, over shards, and whatever is computed beside it."""

import random
from typing import Any

import networkx as nx
import numpy as np
import pytest

from kernels.graph import Array
from kernels.pagerank import pagerank
from kernels.pagerank.parameters import ANYWHERE, Personalization
from kernels.pagerank.seeded import rankings, sharded
from kernels.pagerank.seeded.constants import CHUNK
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import evenly

SOME = [edges for edges in NAMED_GRAPHS if edges.ids]
TOGETHER = np.array([0.5, 0.3, 0.2])


def networks_of(edges: EdgeList) -> nx.DiGraph:
    plain: nx.DiGraph[int] = nx.DiGraph()
    plain.add_nodes_from(edges.ids)
    plain.add_edges_from(edges.arcs())
    return plain


def personalizations(count: int) -> list[Personalization]:
    """Each of the first rows alone, three of them together, and none."""
    together = [Personalization(np.arange(3), TOGETHER)] if count > 2 else []
    return [*map(Personalization.to, range(count)), *together, ANYWHERE]


def by_networkx(edges: EdgeList, one: Personalization, damping: float) -> Array:
    asked = {edges.ids[row]: float(weight) for row, weight in zip(one.rows, one.weights, strict=True)} or None
    scores = nx.pagerank(networks_of(edges), alpha=damping, personalization=asked, tol=1e-13, max_iter=10_000)
    return np.array([scores[vertex] for vertex in edges.ids])


@pytest.mark.parametrize(("damping", "tolerance"), [(0.85, 1e-11), (0.3, 1e-9)])
@pytest.mark.parametrize("edges", SOME, ids=lambda edges: edges.name)
def test_networkx_gives_the_same_scores(edges: EdgeList, damping: float, tolerance: float) -> None:
    asked = personalizations(min(len(edges.ids), 4))
    for one, found in zip(asked, rankings(graph_of(edges), asked, damping, tolerance), strict=True):
        assert found.change < tolerance
        np.testing.assert_allclose(found.scores, by_networkx(edges, one, damping), rtol=0, atol=10 * tolerance)


def test_a_vertex_that_no_seed_reaches_has_score_0() -> None:
    (found,) = rankings(graph_of(EdgeList("two paths", ((0, 1), (1, 2), (3, 4), (4, 3)))), [Personalization.to(0)])
    assert found.scores[3:].tolist() == [0.0, 0.0] and (found.scores[:3] > 0).all()


def test_seeds_are_independent_of_each_other_and_of_the_number_of_shards() -> None:
    ends = (1500 * np.random.default_rng(1).random((9000, 2)) ** 3).astype(int)
    hub = [(source, 1499) for source in range(CHUNK + 300)]
    edges = EdgeList("random", tuple(map(tuple, [*ends.tolist(), *hub])), True, tuple(range(1500)))
    graph = graph_of(edges, random.Random(2).sample(edges.ids, len(edges.ids)))
    asked = [Personalization.to(row) for row in range(70)] + [ANYWHERE]
    together = [scores.scores.tobytes() for scores in rankings(graph, asked)]
    for number in (0, 40, 69, 70):
        assert rankings(graph, [asked[number]])[0].scores.tobytes() == together[number]
    for size in (1, 3):
        parts: Any = evenly(sharded.rankings, graph, size, asked)
        for number, whole in enumerate(together):
            assert b"".join(of_rank[number].answer.scores.tobytes() for of_rank in parts) == whole


def test_a_fixed_number_of_iterations() -> None:
    edges = next(one for one in SOME if one.name == "figure_1")
    graph = graph_of(edges)
    (begun, one, many) = (rankings(graph, [Personalization.to(2)], iterations=number)[0] for number in (0, 1, 10_000))
    assert begun.scores.tolist() == [0, 0, 1, 0, 0, 0, 0] and one.iterations == 1
    np.testing.assert_allclose(many.scores, by_networkx(edges, Personalization.to(2), 0.85), atol=1e-12)


def test_no_seed_is_pagerank() -> None:
    graph = graph_of(SOME[-1])
    np.testing.assert_allclose(rankings(graph, [ANYWHERE])[0].scores, pagerank(graph).scores, rtol=1e-14)


def test_an_empty_graph() -> None:
    (found,) = rankings(graph_of(EdgeList("empty", ())), [ANYWHERE])
    assert (len(found.scores), found.iterations, found.change) == (0, 0, 0.0)
