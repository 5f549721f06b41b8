"""Betweenness of edges, with the ends of paths, normalized and from given sources: as NetworkX defines them."""

from functools import partial
from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.betweenness import betweenness, edge_betweenness
from kernels.betweenness.certificate import certify_betweenness, certify_edge_betweenness
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.oracle import oracle
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if 0 < len(edges.ids) <= 60]
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.sampled_from((1, 1, 2, 3))), min_size=1, max_size=40)


def plain(edges: EdgeList) -> "nx.Graph[int]":
    found: nx.Graph[int] = nx.DiGraph() if edges.directed else nx.Graph()
    found.add_nodes_from(edges.ids)
    found.add_weighted_edges_from((*ends, weight) for ends, weight in edges.arcs().items() if ends[0] != ends[1])
    return found


def lengths_of(edges: EdgeList) -> tuple[bool, ...]:
    return (False,) if any(len(edge) == 3 and edge[2] == 0 for edge in edges.edges) else (True, False)


def by_edge(graph: Graph, answer: Any) -> dict[tuple[int, int], float]:
    ends = zip(graph.ids[answer.src].tolist(), graph.ids[answer.dst].tolist(), strict=True)
    return dict(zip(ends, answer.betweenness.tolist(), strict=True))


@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_networkx_gives_the_same_values(edges):
    graph, network = graph_of(edges), plain(edges)
    some, targets = sorted(network)[::3], list(network)
    for weights, normalized in product(lengths_of(edges), (True, False)):
        asked, weight = {"weights": weights, "normalized": normalized}, "weight" if weights else None
        of_networkx = {"normalized": normalized, "weight": weight}
        of_vertices = [
            ({"endpoints": ends}, nx.betweenness_centrality(network, endpoints=ends, **of_networkx)) for ends in (True, False)
        ]
        of_vertices.append(({"sources": some}, nx.betweenness_centrality_subset(network, some, targets, **of_networkx)))
        for more, expected in of_vertices:
            found = betweenness(graph, **asked, **more)
            values = [expected[vertex] for vertex in graph.ids.tolist()]
            np.testing.assert_allclose(found.betweenness, values, rtol=1e-12, atol=1e-9)
            require_all(graph, "betweenness", found, asked | more)
        of_edges = [
            ({}, nx.edge_betweenness_centrality(network, **of_networkx)),
            ({"sources": some}, nx.edge_betweenness_centrality_subset(network, some, targets, **of_networkx)),
        ]
        for more, expected in of_edges:
            answer = edge_betweenness(graph, **asked, **more)
            stated = by_edge(graph, answer)
            due = {ends if edges.directed else tuple(sorted(ends)): value for ends, value in expected.items()}
            assert list(stated) == sorted(due)
            np.testing.assert_allclose([*stated.values()], [due[ends] for ends in stated], rtol=1e-12, atol=1e-9)
            require_all(graph, "edge_betweenness", answer, asked | more)


def require_all(graph: Graph, stage: str, answer: Any, asked: dict[str, Any]) -> None:
    """Certificate and oracle accept the answer, and the oracle no other."""
    certify = certify_betweenness if stage == "betweenness" else certify_edge_betweenness
    for verdict in (certify(graph, answer, **asked), oracle(graph, stage, answer, **asked)):
        assert verdict.holds, verdict.reason
    if len(answer.betweenness):
        answer.betweenness[-1] += 0.25
        assert "is not SciPy's" in oracle(graph, stage, answer, **asked).reason


@settings(max_examples=examples(20))
@given(EDGES, st.booleans())
def test_edges_do_not_depend_on_the_order_of_rows_and_parallel_arcs(edges, directed):
    edges = EdgeList("random", tuple(edges), directed)
    expected = by_edge(first := graph_of(edges), edge_betweenness(first))
    for graph in (graph_of(edges, edges.ids[::-1]), uncleaned(edges), uncleaned(edges, edges.ids[::-1])):
        assert [*by_edge(graph, edge_betweenness(graph)).items()] == [*expected.items()]


def test_sums_over_the_edges_of_a_vertex_are_its_own():
    """In a sample, too: the paths that leave a vertex pass through it or begin there."""
    ends = np.random.default_rng(5).integers(300, size=(1200, 2)).tolist()
    graph = graph_of(EdgeList("random", tuple(map(tuple, ends))))
    sources = graph.ids[::7].tolist()
    answer, within = edge_betweenness(graph, sources=sources), betweenness(graph, sources=sources)
    entering = np.bincount(answer.dst, answer.betweenness, graph.num_vertices)
    ending = betweenness(graph, sources=sources, endpoints=True).betweenness - within.betweenness
    begun = np.bincount(answer.src, answer.betweenness, graph.num_vertices) - within.betweenness
    np.testing.assert_allclose(entering + begun, within.betweenness + ending, rtol=1e-9, atol=1e-6)


def test_samples_state_their_errors():
    ends = tuple(map(tuple, np.random.default_rng(5).integers(300, size=(1500, 2)).tolist()))
    graph, asked = graph_of(EdgeList("random", ends, directed=False)), {"exact_below": 0, "epsilon": 0.25}
    count, exact = graph.num_vertices, edge_betweenness(graph)
    found = edge_betweenness(graph, **asked)
    assert found.sources == np.ceil(np.log(2 * len(exact.src) / 0.1) * 8)
    assert 0 < np.abs(found.betweenness - exact.betweenness).max() <= 0.25 * count * (count - 1) / 2
    said = "with probability 0.9 no value is wrong by more than 0.25 V (V - 1), half of that if edges have no direction"
    assert certify_edge_betweenness(graph, found, **asked).rules[-1].endswith(said)
    shares = betweenness(graph, **asked, normalized=True)
    assert np.abs(shares.betweenness - betweenness(graph, normalized=True).betweenness).max() <= 0.25 * count / (count - 1)
    said = "no value is wrong by more than 0.25 V / (V - 1)"
    assert certify_betweenness(graph, shares, **asked, normalized=True).rules[-1].endswith(said)


def test_given_sources_are_vertices():
    graph = graph_of(SMALL[-1])
    for wrong, reason in (([graph.ids.max() + 1], "source .* is not in the graph"), ([graph.ids[0]] * 2, "given twice")):
        with pytest.raises(ValueError, match=reason):
            betweenness(graph, sources=wrong)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("edges", SMALL[::3], ids=lambda edges: edges.name)
def test_ranks_share_the_sources(edges, ranks):
    graph, asked = graph_of(edges), {"weights": lengths_of(edges)[0]}
    for solve, certify in ((betweenness, certify_betweenness), (edge_betweenness, certify_edge_betweenness)):
        expected = solve(graph, **asked)
        found = run_ranks(ranks, partial(with_communicator, solve, graph, **asked))
        assert all(answer.betweenness.tolist() == expected.betweenness.tolist() for answer in found)
        checked = run_ranks(ranks, partial(with_communicator, certify, graph, expected, **asked))
        assert all(verdict.holds and verdict == checked[0] for verdict in checked)
        expected.betweenness[:1] += 1
        checked = run_ranks(ranks, partial(with_communicator, certify, graph, expected, **asked))
        assert all(verdict.holds == (not len(expected.betweenness)) and verdict == checked[0] for verdict in checked)


def with_communicator(function: Any, *arguments: Any, **asked: Any) -> Any:
    """The function over ranks; the communicator is the last argument."""
    *given, communicator = arguments
    return function(*given, communicator=communicator, **asked)


def test_all_ranks_refuse_what_one_cannot_count():
    """Only paths from the first vertices use the arc without length."""
    graph = graph_of(EdgeList("no length", ((0, 1, 1), (1, 2, 0), (3, 4, 1))))
    with pytest.raises(ArithmeticError, match="vertex 2 is reached"):
        run_ranks(5, lambda rank: betweenness(graph, communicator=rank))
