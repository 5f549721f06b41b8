"""CDLP: the labels of its definition, on one rank and on several; certificates and what they refuse."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import Certificate, Components
from kernels.cdlp import cdlp
from kernels.cdlp.certificate import certify_cdlp, rules_of
from kernels.cdlp.certificate.sharded import certify_cdlp as certify_over_ranks
from kernels.cdlp.sharded import cdlp as cdlp_over_ranks
from kernels.cpu import parallel
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.oracle import oracle
from tests.answers import uncleaned
from tests.counts import NIGHTLY, examples
from tests.cpu.requested.small_graphs import SMALL, edge_lists
from tests.graphs import EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SOME_SIZES, bounds_of, evenly, whole
from tests.sharded.shards import split

pytestmark = pytest.mark.sampled

MUTANTS = 100_000 if NIGHTLY else 1_000


def by_definition(edges: EdgeList, cleaned: bool, iterations: int) -> dict[int, int]:
    """The label of each vertex, by the definition of `kernels.cdlp`, with lists of edges."""
    pairs = list(edges.arcs()) if cleaned else [(edge[0], edge[1]) for edge in edges.edges if edge[0] != edge[1]]
    if edges.directed or not cleaned:
        pairs += [(dst, src) for src, dst in pairs]
    labels = {vertex: vertex for vertex in edges.ids}
    for _ in range(iterations):
        votes: dict[int, Counter[int]] = {vertex: Counter() for vertex in edges.ids}
        for one, other in pairs:
            votes[one][labels[other]] += 1
        labels = {
            vertex: min((-count, label) for label, count in of.items())[1] if of else labels[vertex]
            for vertex, of in votes.items()
        }
    return labels


def labels_of(graph: Graph, answer: Components) -> dict[int, int]:
    return dict(zip(graph.ids.tolist(), graph.ids[answer.labels].tolist(), strict=True))


def over_ranks(graph: Graph, answer: Components, cuts: list[int], iterations: int) -> Certificate:
    """The verdict of all ranks, each of which has the rows from one cut to the next."""
    shards = split(graph, bounds_of(cuts, graph.num_vertices))

    def run(ranks):
        rows = shards[ranks.rank].rows
        return certify_over_ranks(shards[ranks.rank], ranks, Components(answer.labels[rows.start : rows.stop]), iterations)

    verdicts = run_ranks(len(shards), run, DEADLINE)
    assert all(verdict == verdicts[0] for verdict in verdicts)
    return verdicts[0]


@pytest.mark.parametrize("directed", [False, True])
def test_rows_of_many_arcs_with_and_without_a_majority(directed):
    """Groups of different sizes and densities, whose labels are taken by more or less than half of a row's neighbours."""
    random = np.random.default_rng(3)
    near = random.integers(400, size=9000)
    far = np.where(
        random.random(9000) < near % 7 / 7, near // 40 * 40 + random.integers(40, size=9000), random.integers(400, size=9000)
    )
    edges = EdgeList("groups", tuple(zip(near.tolist(), far.tolist(), strict=True)), directed)
    for build in (graph_of, uncleaned):
        for iterations in range(1, 5):
            graph = build(edges)
            assert labels_of(graph, cdlp(graph, iterations)) == by_definition(edges, build is graph_of, iterations)


@pytest.mark.parametrize("iterations", [0, 1, 2, 10])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_named_graphs(edges, iterations):
    for build in (graph_of, uncleaned):
        graph = build(edges, edges.ids[::-1])
        answer = cdlp(graph, iterations)
        assert labels_of(graph, answer) == by_definition(edges, build is graph_of, iterations)
        assert certify_cdlp(graph, answer, iterations) == Certificate(True, "", rules_of(iterations))
        assert oracle(graph, "cdlp", answer, iterations=iterations).holds


@settings(max_examples=examples(40))
@given(edge_lists(60), st.integers(0, 5), st.sampled_from(SOME_SIZES))
def test_random_graphs(edges, iterations, size):
    for graph, cleaned in ((graph_of(edges), True), (uncleaned(edges, edges.ids[::-1]), False)):
        answer = cdlp(graph, iterations)
        assert labels_of(graph, answer) == by_definition(edges, cleaned, iterations)
        assert certify_cdlp(graph, answer, iterations).holds
        parts = evenly(cdlp_over_ranks, graph, size, iterations)
        assert whole(parts, "labels").tolist() == answer.labels.tolist()
        assert parts[0].answer.labels.dtype == answer.labels.dtype


def test_a_neighbour_in_both_directions_counts_twice():
    edges = EdgeList("triangle", ((5, 1), (5, 9), (9, 5)), directed=True)
    assert labels_of(graph_of(edges), cdlp(graph_of(edges), 1)) == {5: 9, 1: 5, 9: 5}
    undirected = EdgeList("path", ((5, 1), (5, 9)), directed=False)
    assert labels_of(graph_of(undirected), cdlp(graph_of(undirected), 1)) == {5: 1, 1: 5, 9: 5}
    for iterations in (2, 3, 10):  # two neighbours swap their labels for ever
        pair = EdgeList("pair", ((1, 2),), directed=False)
        assert labels_of(graph_of(pair), cdlp(graph_of(pair), iterations)) == (
            {1: 1, 2: 2} if iterations % 2 == 0 else {1: 2, 2: 1}
        )


def test_several_threads_find_and_prove_the_same(monkeypatch):
    ends = (1_000 * np.random.default_rng(3).random((9_000, 2)) ** 2).astype(int)
    edges = EdgeList("random", tuple(map(tuple, ends.tolist())), True)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    graph = graph_of(edges)
    answer = cdlp(graph)
    assert labels_of(graph, answer) == by_definition(edges, True, 10)
    assert certify_cdlp(graph, answer).holds
    assert not certify_cdlp(graph, cdlp(graph, 2)).holds


def test_no_mutant_holds():
    rng = np.random.default_rng(8)
    refused = 0
    while refused < MUTANTS:
        vertices, iterations = int(rng.integers(2, 16)), int(rng.integers(0, 5))
        ends = rng.integers(vertices, size=(int(rng.integers(1, 4 * vertices)), 2)).tolist()
        graph = uncleaned(EdgeList("random", tuple(map(tuple, ends)), bool(rng.random() < 0.5), tuple(range(vertices))))
        truth = cdlp(graph, iterations).labels
        mutants = [cdlp(graph, other).labels for other in range(5)]
        for _ in range(30):
            mutant = truth.copy()
            for row in rng.integers(vertices, size=rng.integers(1, 4)).tolist():
                mutant[row] = rng.integers(-1, vertices + 1) if rng.random() < 0.2 else truth[rng.integers(vertices)]
            mutants.append(mutant)
        for mutant in mutants:
            verdict = certify_cdlp(graph, Components(mutant), iterations)
            assert verdict.holds == (mutant == truth).all(), mutant
            refused += not verdict.holds
        cuts = rng.integers(0, vertices + 1, 2).tolist()
        assert over_ranks(graph, Components(mutants[-1]), cuts, iterations) == certify_cdlp(
            graph, Components(mutants[-1]), iterations
        )


def test_the_reason_names_ids():
    graph = graph_of(EdgeList("path", ((15, 11), (15, 19)), directed=False))
    wrong = Components(cdlp(graph, 1).labels[[0, 0, 2]])
    reason = certify_cdlp(graph, wrong, 1).reason
    assert reason == "vertex 15: label 15 is not 11, which it has after all rounds"
    assert over_ranks(graph, wrong, [1], 1).reason == reason
    assert oracle(graph, "cdlp", wrong, iterations=1).reason == "vertex 15: label 15 is not SciPy's 11"


@pytest.mark.parametrize("wrong", [None, np.zeros(7), np.zeros(6, np.int32), np.full(7, 9, np.int32)])
def test_malformed_labels_do_not_hold(wrong):
    graph = graph_of(SMALL[-1])
    assert certify_cdlp(graph, Components(wrong)).reason.startswith("labels ")
    with pytest.raises(ValueError, match="iterations -1 is negative"):
        cdlp(graph, -1)
