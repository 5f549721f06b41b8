"""The certificate of PageRank accepts scores within its stated tolerance, and none beyond it."""

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs
from kernels.answers import Certificate, Scores
from kernels.graph import Array, Graph
from kernels.pagerank import pagerank
from kernels.pagerank.certificate import DAMPING, FARTHEST, FARTHEST_RELATIVE, MOST_CHANGE, RULES, certify_pagerank
from tests.answers import true_ranks, uncleaned
from tests.certificates.test_certificates_mutants import MUTANTS, random_graph
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]
SURELY_WRONG = 2.01 * FARTHEST  # from scores that are themselves accepted


def certify(graph: Graph, scores: Array) -> Certificate:
    return certify_pagerank(graph, Scores(scores))


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_true_scores_of_named_graphs_hold(edges, build):
    for order in (edges.ids, edges.ids[::-1]):
        graph = build(edges, order)
        verdict = certify(graph, true_ranks(graph))
        assert (verdict.holds, verdict.reason) == (True, "")
        assert verdict.rules


@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_the_kernels_answer_holds(edges):
    graph = graph_of(edges)
    assert certify(graph, pagerank(graph).scores).holds


def test_a_graph_of_200_000_arcs():
    ends = (20_000 * np.random.default_rng(3).random((200_000, 2)) ** 2).astype(int)
    graph = graph_of(EdgeList("random", tuple(map(tuple, ends.tolist()))))
    scores = pagerank(graph).scores
    assert certify(graph, scores).holds
    assert not certify(graph, pagerank(graph, iterations=8).scores).holds
    assert not certify(graph, pagerank(graph, damping=0.849).scores).holds


@pytest.mark.parametrize("number", MUTANTS)
def test_mutants_do_not_hold_and_true_scores_do(number):
    rng = np.random.default_rng(12)
    refused = 0
    for _ in count():
        edges, graph = random_graph(rng)
        truth = true_ranks(graph)
        verdict = certify(graph, truth)
        assert verdict.holds, (verdict.reason, edges)
        for mutant in mutants(graph, truth, rng):
            if np.abs(mutant - truth).sum() <= SURELY_WRONG:
                continue  # two equal scores were swapped
            verdict = certify(graph, mutant)
            assert not verdict.holds, (mutant, truth, edges)
            assert verdict.reason
            refused += 1
        if refused >= number:
            return


def mutants(graph: Graph, truth: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Scores of which some are changed, swapped, invalid or noisy, or all are scaled, reversed or computed by another rule."""
    n = graph.num_vertices
    for _ in range(30):
        row, other = rng.integers(n, size=2)
        amount = SURELY_WRONG * 10 ** rng.uniform(0, 4)
        for change in ({row: amount}, {row: -amount}, {row: amount / 2, other: -amount / 2}):
            mutant = truth.copy()
            for changed, by in change.items():
                mutant[changed] += by
            yield mutant
        swapped = truth.copy()
        swapped[[row, other]] = swapped[[other, row]]
        yield swapped
        for invalid in (np.nan, np.inf, -np.inf, 0.0, -truth[row]):
            mutant = truth.copy()
            mutant[row] = invalid
            yield mutant
        noise = rng.normal(size=n)
        yield truth + noise * amount / np.abs(noise).sum()
    yield truth * (1 + SURELY_WRONG)
    yield truth * 2
    yield np.full(n, 1 / n)
    yield truth[::-1]
    yield true_ranks(graph, damping=0.84)


def test_the_tolerance_is_the_stated_one():
    graph = graph_of(FIGURE_1)
    truth = true_ranks(graph)
    shift = np.zeros(7)
    shift[0], shift[1] = 0.5, -0.5
    # a step changes a vector with an error of e by (1 - damping) to (1 + damping) times e
    assert certify(graph, truth + shift * 0.99 * MOST_CHANGE / (1 + DAMPING)).holds
    assert not certify(graph, truth + shift * 1.01 * FARTHEST).holds
    assert pytest.approx(1.33e-5, rel=0.01) == FARTHEST


def stated(verdict: Certificate) -> float:
    """The bound that the last rule states, relative to each score."""
    assert verdict.holds, verdict.reason
    return float(verdict.rules[len(RULES)].split()[4])


def test_the_stated_relative_bound_is_true():
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(60):
        _, graph = random_graph(rng)
        truth = true_ranks(graph)
        if not graph.num_vertices:
            continue
        for amount in 10 ** rng.uniform(-9, -3, 5):
            scores = truth * (1 + amount * rng.uniform(-1, 1, len(truth)))
            verdict = certify(graph, scores)
            refused += not verdict.holds
            if verdict.holds:
                assert (np.abs(scores - truth) / truth).max() <= stated(verdict) <= FARTHEST_RELATIVE
        assert stated(certify(graph, truth)) < 1e-9
    assert 50 < refused < 250


def test_a_small_score_that_is_wrong_by_a_hundredth_is_refused():
    """Arcs lead to vertices near 0, so that most scores are so small that the bound on the sum permits several times them."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 200_000, 800_000), (200_000 * rng.random(800_000) ** 3).astype(np.int64)
    graph = graph_of_arcs(src, dst, None, 200_000, symmetric=False)
    scores = pagerank(graph).scores
    assert stated(certify(graph, scores)) < 0.001
    row, highest = int(np.argsort(scores)[len(scores) // 2]), int(np.argmax(scores))
    assert scores[row] < FARTHEST / 5
    for factor in (0.99, 1.01, 1.2):
        mutant = scores.copy()
        mutant[[row, highest]] += (factor - 1) * scores[row] * np.array([1, -1])
        verdict = certify(graph, mutant)
        assert not verdict.holds
        assert "of itself" in verdict.reason


def test_slow_parts_of_a_graph_that_converges_fast_are_within_the_bound():
    """Paths of three vertices keep a third of their first error times 0.85^iterations, which the sum of changes hides."""
    rng = np.random.default_rng(2)
    src, dst = rng.integers(0, 50_000, (2, 400_000))
    paths = [(50_000, 50_001), (50_001, 50_000), (50_001, 50_002), (50_002, 50_001)]
    src, dst = np.append(src, [arc[0] for arc in paths]), np.append(dst, [arc[1] for arc in paths])
    graph = graph_of_arcs(src, dst, None, 50_003, symmetric=False)
    assert stated(certify(graph, pagerank(graph).scores)) <= 0.02


@pytest.mark.parametrize(
    "scores",
    [None, 7, "scores", [1 / 7] * 7, np.float64(1), np.full(6, 1 / 6), np.full((7, 1), 1 / 7), np.full(7, 1 / 7, np.float32),
     np.ones(7, np.int64), np.full(7, 1 / 7, object), np.full(7, 1 / 7, complex)],
    ids=repr,
)  # fmt: skip
def test_malformed_scores_do_not_hold(scores):
    verdict = certify(graph_of(FIGURE_1), scores)
    assert not verdict.holds
    assert verdict.reason.startswith("pagerank ")


def test_reasons_name_the_broken_rule():
    graph = graph_of(FIGURE_1, FIGURE_1.ids[::-1])
    scores = true_ranks(graph)
    scores[0] = -scores[0]
    assert certify(graph, scores).reason == f"vertex 6: score {scores[0]} is not a positive finite number"
    assert certify(graph, np.full(7, 0.1)).reason == "the scores sum to 0.7, not 1"
    assert "a step changes the scores by" in certify(graph, np.full(7, 1 / 7)).reason


def test_an_empty_graph_holds():
    assert certify(graph_of(EdgeList("empty", ())), np.empty(0)).holds
