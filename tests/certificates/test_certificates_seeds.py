"""The certificate of rankings from seeds, and that of a fixed number of iterations, accept nothing beyond what they state."""

from collections.abc import Iterator

import numpy as np
import pytest

from kernels.answers import Scores
from kernels.graph import Array, Graph
from kernels.pagerank.certificate import certify_pagerank
from kernels.pagerank.certificate.bounds import FARTHEST_RECOUNTED, Bounds
from kernels.pagerank.certificate.seeded import certify_rankings
from kernels.pagerank.parameters import ANYWHERE, Personalization
from tests.certificates.test_certificates_mutants import random_graph
from tests.graphs import FIGURE_1, graph_of

MUTANTS = [1000, pytest.param(100_000, marks=pytest.mark.nightly)]
_LARGEST = 10.0  # times the bound, of a mutant's least change


def truth_of(graph: Graph, one: Personalization, damping: float, iterations: int) -> Array:
    """PageRank by a dense matrix."""
    count = graph.num_vertices
    jumps = np.full(count, 1 / count)
    if len(one.rows):
        jumps = np.zeros(count)
        jumps[one.rows] = one.weights
    walk, degrees = np.zeros((count, count)), np.diff(graph.out.offsets)
    for row in range(count):
        for head in graph.out.indices[graph.out.offsets[row] : graph.out.offsets[row + 1]]:
            walk[head, row] += 1 / degrees[row]
        if not degrees[row]:
            walk[:, row] = jumps
    current = jumps
    for _ in range(iterations):
        current = (1 - damping) * jumps + damping * walk @ current
    return current


def mutants(truth: Array, amount: float, rng: np.random.Generator) -> Iterator[Array]:
    """Scores of which one is changed, two are swapped, one is invalid, all are noisy, scaled or those of another seed."""
    count = len(truth)
    row, other = rng.integers(count, size=2)
    for by in (amount, -amount):
        mutant = truth.copy()
        mutant[row] += by
        yield mutant
        mutant = truth.copy()
        mutant[row] += by / 2
        mutant[other] -= by / 2
        yield mutant
    swapped = truth.copy()
    swapped[[row, other]] = swapped[[other, row]]
    yield swapped
    for invalid in (np.nan, np.inf, -1e-300):
        mutant = truth.copy()
        mutant[row] = invalid
        yield mutant
    noise = rng.normal(size=count)
    yield truth + noise * amount / np.abs(noise).sum()
    yield truth * (1 + amount)
    yield truth[::-1].copy()


@pytest.mark.parametrize("number", MUTANTS)
def test_no_mutant_beyond_the_bound_holds(number: int) -> None:
    rng, refused = np.random.default_rng(14), 0
    while refused < number:
        edges, graph = random_graph(rng)
        count = graph.num_vertices
        if not count:
            continue
        damping, tolerance = float(rng.choice([0.5, 0.85, 0.95])), float(10.0 ** rng.integers(-9, -3))
        rows, weights = rng.permutation(count)[:3], rng.random(3) + 0.1
        shares = weights[: len(rows)] / weights[: len(rows)].sum()
        one = [Personalization.to(int(rows[0])), Personalization(rows, shares), ANYWHERE][rng.integers(3)]
        truth, farthest = truth_of(graph, one, damping, 900), Bounds(damping, tolerance).farthest
        some = [truth, *mutants(truth, 1.01 * farthest * _LARGEST ** rng.random(), rng)]
        verdicts = certify_rankings(graph, [Scores(scores) for scores in some], [one] * len(some), damping, tolerance)
        assert verdicts[0].holds, (verdicts[0].reason, edges)
        for scores, verdict in zip(some[1:], verdicts[1:], strict=True):
            beyond = not (np.abs(scores - truth).sum() <= farthest and (scores >= 0).all())
            assert not (verdict.holds and beyond), (scores, truth, edges)
            assert verdict.holds or verdict.reason
            refused += not verdict.holds


@pytest.mark.parametrize("number", MUTANTS)
def test_no_score_beyond_the_bound_of_a_fixed_number_of_iterations_holds(number: int) -> None:
    rng, refused = np.random.default_rng(15), 0
    while refused < number:
        edges, graph = random_graph(rng)
        if not graph.num_vertices:
            continue
        damping, iterations = float(rng.choice([0.5, 0.85, 1.0])), int(rng.integers(0, 12))
        one = [Personalization.to(int(rng.integers(graph.num_vertices))), ANYWHERE][rng.integers(2)]
        truth = truth_of(graph, one, damping, iterations)
        amount = 1.01 * FARTHEST_RECOUNTED * _LARGEST ** rng.random() * truth.max()
        some = [truth, *mutants(truth, amount, rng), truth_of(graph, one, damping, iterations + 1)]
        verdicts = certify_rankings(graph, [Scores(scores) for scores in some], [one] * len(some), damping, iterations=iterations)
        assert verdicts[0].holds, (verdicts[0].reason, edges)
        for scores, verdict in zip(some[1:], verdicts[1:], strict=True):
            near = bool((np.abs(scores - truth) <= 1.0001 * FARTHEST_RECOUNTED * truth + 1e-300).all() and (scores >= 0).all())
            assert near or not verdict.holds, (scores, truth, edges)
            assert verdict.holds or verdict.reason
            refused += not verdict.holds
            if one is ANYWHERE:
                alone = certify_pagerank(graph, Scores(scores), damping, iterations=iterations)
                assert alone.holds == verdict.holds, (alone.reason, verdict.reason)


def test_reasons_name_the_seed_and_the_rule() -> None:
    graph, one = graph_of(FIGURE_1, FIGURE_1.ids[::-1]), Personalization.to(4)
    truth = truth_of(graph, one, 0.85, 900)

    def reason(scores: Array, **options: int) -> str:
        return certify_rankings(graph, [Scores(scores)], [one], **options)[0].reason

    assert reason(-truth).startswith("seed 2: vertex ") and reason(-truth).endswith("is not a finite number of 0 or more")
    assert reason(truth * 0.7) == "seed 2: the scores sum to 0.7, not 1"
    assert reason(np.eye(7)[0]).startswith("seed 2: a step changes the scores by ")
    assert "is not that after 3 iterations" in reason(truth, iterations=3)
    assert reason(truth[:5]) == "pagerank has 5 entries, not 7"
    assert "unique below 1 only" in certify_rankings(graph, [Scores(truth)], [one], 1.0)[0].reason
