"""The transitive closure: all pairs, in order, within a limit."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import graph_of_arcs
from kernels.algorithm import AnswerTooLarge
from kernels.answers import Certificate, Closure
from kernels.closure import closure
from kernels.closure.certificate import certify_closure
from kernels.closure.limit import LIMIT
from kernels.cpu import parallel
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.oracle.closure_by_scipy import closure as compare
from tests.answers import closed, closure_of, true_closure, uncleaned
from tests.counts import examples
from tests.cpu.requested.small_graphs import SHAPES, SMALL, edge_lists
from tests.graphs import EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SOME_SIZES


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


def parts_of(graph: Graph, answer: Closure, size: int) -> list[Closure]:
    """The pairs of each rank: those whose second vertices are in its part of the positions."""
    cuts = [graph.num_vertices * rank // size for rank in range(size + 1)]
    places = np.searchsorted(cuts, graph.positions[answer.reached], side="right") - 1
    return [Closure(answer.vertex[places == rank], answer.reached[places == rank]) for rank in range(size)]


def verdict_of_ranks(graph: Graph, parts: list[Closure], limit: int = LIMIT) -> Certificate:
    verdicts = run_ranks(len(parts), lambda ranks: certify_closure(graph, parts[ranks.rank], limit, ranks), DEADLINE)
    assert all(verdict == verdicts[0] for verdict in verdicts)
    return verdicts[0]


def require_over_ranks(graph: Graph, size: int) -> None:
    """Ranks list their parts of the closure, and prove them together."""
    expected = closure(graph)
    found = run_ranks(size, lambda ranks: closure(graph, communicator=ranks), DEADLINE)
    for part, due in zip(found, parts_of(graph, expected, size), strict=True):
        for ours, theirs in ((part.vertex, due.vertex), (part.reached, due.reached)):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)
    assert verdict_of_ranks(graph, found) == certify_closure(graph, expected)


@pytest.mark.parametrize("edges", [*SMALL, *SHAPES], ids=lambda edges: edges.name)
def test_ranks_list_and_prove_their_parts(edges):
    for size in SOME_SIZES:
        require_over_ranks(graph_of(edges), size)
        require_over_ranks(uncleaned(edges), size)


@settings(max_examples=examples(40))
@given(edge_lists(40), st.integers(2, 4), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=3))
def test_ranks_refuse_what_one_refuses(edges, size, changes):
    graph = graph_of(edges)
    require_over_ranks(graph, size)
    truth = closure(graph)
    pairs = np.zeros((graph.num_vertices, graph.num_vertices), np.bool_)
    pairs[graph.positions[truth.vertex], graph.positions[truth.reached]] = True
    for one, other in changes:
        pairs[one % len(pairs), other % len(pairs)] ^= True
    changed = Closure(*(graph.rows_by_id[places] for places in np.nonzero(pairs)))
    assert verdict_of_ranks(graph, parts_of(graph, changed, size)).holds == certify_closure(graph, changed).holds


def test_ranks_refuse_parts_that_are_not_theirs_or_too_many_pairs():
    graph = graph_of(PATH)
    parts = parts_of(graph, closure(graph), 3)
    assert "is on a rank that has other vertices" in verdict_of_ranks(graph, [parts[1], parts[0], parts[2]]).reason
    assert verdict_of_ranks(graph, parts, 464).reason == "465 pairs, more than the limit of 464"
    backwards = [Closure(part.vertex[::-1], part.reached[::-1]) for part in parts]
    assert "does not come after the previous pair" in verdict_of_ranks(graph, backwards).reason
    assert "vertex has row 31" in verdict_of_ranks(graph, [*parts[:2], Closure(parts[2].vertex + 2, parts[2].reached)]).reason
    with pytest.raises(AnswerTooLarge, match=r"at least 465 pairs .* the limit is 464"):
        run_ranks(3, lambda ranks: closure(graph, 464 + ranks.rank, ranks), DEADLINE)
