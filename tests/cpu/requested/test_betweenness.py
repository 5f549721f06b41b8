"""Betweenness against NetworkX, and what makes its digits unique."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.betweenness import betweenness
from kernels.betweenness.parameters import checked, rows_of
from kernels.graph import Array, Graph
from kernels.oracle import oracle
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100]


def by_networkx(edges: EdgeList, graph: Graph, weights: bool = True) -> list[float]:
    plain: nx.Graph[int] = nx.DiGraph() if edges.directed else nx.Graph()
    plain.add_nodes_from(edges.ids)
    plain.add_weighted_edges_from((*ends, weight) for ends, weight in edges.arcs().items())
    found = nx.betweenness_centrality(plain, normalized=False, weight="weight" if weights else None)
    return [found[int(vertex)] for vertex in graph.ids]


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_networkx_gives_the_same_values(edges, weights):
    graph = graph_of(edges)
    if weights and any(len(edge) == 3 and edge[2] == 0 for edge in edges.edges):
        with pytest.raises(ArithmeticError, match="no length"):
            betweenness(graph, weights)
        return
    answer = betweenness(graph, weights)
    np.testing.assert_allclose(answer.betweenness, by_networkx(edges, graph, weights), rtol=1e-12, atol=1e-9)
    assert answer.sources == graph.num_vertices
    verdict = oracle(graph, "betweenness", answer, weights=weights)
    assert verdict.holds, verdict.reason
    if len(answer.betweenness):
        answer.betweenness[0] += 0.25
        assert "is not SciPy's" in oracle(graph, "betweenness", answer, weights=weights).reason


def test_the_oracle_does_not_compare_distances_that_a_double_rounds():
    edges = EdgeList("long", ((0, 1, 2**54), (1, 3, 1), (0, 2, 2**54), (2, 3, 2)))
    graph = graph_of(edges, dtype=np.int64)  # as doubles, both paths to 3 are equally long
    answer = betweenness(graph)
    assert answer.betweenness.tolist() == [0, 1, 0, 0]
    assert oracle(graph, "betweenness", answer).holds


@settings(max_examples=examples(25))
@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from((1, 1, 2, 3))), min_size=1, max_size=40),
    st.booleans(),
)
def test_the_order_of_rows_and_parallel_arcs_do_not_change_a_bit(edges, directed):
    edges = EdgeList("random", tuple(edges), directed)
    expected = betweenness(graph_of(edges)).betweenness
    for graph in (graph_of(edges, edges.ids[::-1]), uncleaned(edges), uncleaned(edges, edges.ids[::-1])):
        found = betweenness(graph).betweenness
        assert found[graph.rows_by_id].tolist() == expected.tolist()


def test_more_paths_than_a_double_counts():
    triple = [(4 * i + a, 4 * i + b) for i in range(700) for a, b in ((0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4))]
    longer = betweenness(graph_of(EdgeList("triples", tuple(triple)))).betweenness  # 3^700 paths
    middle = np.arange(1, 2800, 4)
    np.testing.assert_allclose(longer[middle], middle * (2798 - middle) / 3, rtol=1e-9)


def test_a_row_of_several_parts():
    spokes = 3000
    edges = EdgeList("double star", tuple((hub, 2 + i) for i in range(spokes) for hub in (0, 1)), directed=False)
    answer = betweenness(graph_of(edges)).betweenness
    assert answer[:2] == pytest.approx(spokes * (spokes - 1) / 4, rel=1e-12)
    assert answer[2:] == pytest.approx(1 / spokes, abs=1e-6)


def test_sources_are_drawn_by_seed_and_external_id():
    edges = EdgeList("random", tuple(map(tuple, np.random.default_rng(5).integers(400, size=(2000, 2)).tolist())), directed=False)
    graph, turned = graph_of(edges), graph_of(edges, edges.ids[::-1])
    asked = {"exact_below": 100, "epsilon": 0.2, "delta": 0.1}
    first, again = betweenness(graph, **asked), betweenness(turned, **asked)
    assert first.betweenness.tolist() == again.betweenness[::-1].tolist()
    assert betweenness(graph, **asked, seed=1).betweenness.tolist() != first.betweenness.tolist()
    count = graph.num_vertices
    assert first.sources == math.ceil(math.log(2 * count / 0.1) / 0.08)
    apart = first.betweenness - betweenness(graph).betweenness
    assert 0 < np.abs(apart).max() <= 0.2 * count * (count - 2) / 2


def test_other_seeds_draw_other_sources():
    ids: Array = np.arange(10_000)
    drawn = [set(rows_of(checked(True, 0, 0.1, 0.1, seed), ids).tolist()) for seed in (0, 1, 2**64 - 1)]
    assert all(len(rows) == 611 and 0 < len(rows & drawn[0]) < 120 for rows in drawn[1:])
    for epsilon, delta in ((1e-200, 0.1), (0.1, 5e-324), (1e-200, 5e-324)):  # more sources than a float can count: all vertices
        assert checked(True, 0, epsilon, delta).sources(10_000, 10_000) == 10_000


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"delta": 1.0}, {"epsilon": math.nan}])
def test_parameters_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"not in 0\.\.1"):
        betweenness(graph_of(SMALL[0]), **wrong)
