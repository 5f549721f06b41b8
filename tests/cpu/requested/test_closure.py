"""The transitive closure: all pairs, in order, within a limit."""

import networkx
import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs
from kernels.algorithm import AnswerTooLarge
from kernels.closure import closure
from kernels.closure.certificate import certify_closure
from kernels.cpu import parallel
from kernels.graph import Graph
from kernels.oracle.closure_by_scipy import closure as compare
from tests.answers import closed, closure_of, true_closure, uncleaned
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]


def require(graph: Graph) -> None:
    answer, truth = closure(graph), true_closure(graph)
    assert answer.vertex.dtype == answer.reached.dtype == graph.rows_by_id.dtype
    np.testing.assert_array_equal(np.stack([answer.vertex, answer.reached]), np.stack([truth.vertex, truth.reached]))
    for verdict in (certify_closure(graph, answer), compare(graph, answer)):
        assert verdict.holds, verdict.reason


@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_named_graphs(edges):
    for order in (edges.ids, np.random.default_rng(4).permutation(edges.ids).tolist()):
        require(graph_of(edges, order))
        require(uncleaned(edges, order))


def test_a_closure_is_that_of_networkx():
    arcs = np.random.default_rng(5).integers(0, 60, (90, 2))
    graph = graph_of(EdgeList("random", tuple(map(tuple, arcs.tolist())), vertices=tuple(range(60))))
    peer = networkx.transitive_closure(networkx.DiGraph(arcs[arcs[:, 0] != arcs[:, 1]].tolist()))
    answer = closure(graph)
    assert sorted(peer.edges) == list(zip(answer.vertex.tolist(), answer.reached.tolist(), strict=True))


def test_many_blocks_on_all_cores(monkeypatch):
    """A DAG, most of whose vertices reach few others; on a machine of one core, too."""
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    rng = np.random.default_rng(1)
    count = 200_000
    src = rng.integers(0, count - 1, 330_000)
    dst = np.minimum(src + rng.integers(1, 90_000, len(src)), count - 1)
    graph = graph_of_arcs(src, dst, None, count, False)
    answer = closure(graph)
    assert certify_closure(graph, answer).holds


CYCLE = EdgeList("cycle", tuple((i, (i + 1) % 10) for i in range(10)))
PATH = EdgeList("path", tuple((i, i + 1) for i in range(30)))


@pytest.mark.parametrize(("edges", "exact"), [(CYCLE, 100), (PATH, 465)], ids=["cycle", "path"])
def test_more_pairs_than_the_limit_are_refused(edges, exact):
    graph = graph_of(edges)
    assert len(closure(graph, exact).vertex) == exact
    with pytest.raises(
        AnswerTooLarge, match=rf"at least {exact} pairs .* the limit is {exact - 1}; the index of stage reachability"
    ):
        closure(graph, exact - 1)


def test_reasons_name_the_pair():
    graph = graph_of(EdgeList("path", ((10, 20), (20, 30), (40, 30))))
    pairs = np.zeros((4, 4), np.bool_)
    pairs[[0, 1, 3], [1, 2, 2]] = True
    assert certify_closure(graph, closure_of(graph, pairs)).reason == "arc 10 -> 20: 10 does not reach 30"
    wrong = closed(pairs)
    wrong[3, 0] = wrong[3, 1] = True
    assert certify_closure(graph, closure_of(graph, wrong)).reason == "pair 40, 10 does not follow from an arc"
    wrong[0, 3] = wrong[0, 0] = wrong[3, 3] = True
    assert "for vertices that reach each other" in certify_closure(graph, closure_of(graph, wrong)).reason
