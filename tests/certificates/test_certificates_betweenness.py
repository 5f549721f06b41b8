"""The certificate of betweenness accepts the answer, and no other but for rounding."""

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest

from kernels.answers import Betweenness
from kernels.betweenness import betweenness
from kernels.betweenness.certificate import certify_betweenness
from kernels.graph import Array
from tests.certificates.test_certificates_mutants import random_graph
from tests.graphs import NAMED_GRAPHS, graph_of

MUTANTS = [500, pytest.param(100_000, marks=pytest.mark.nightly)]
SMALL = [edges for edges in NAMED_GRAPHS if 0 < len(edges.ids) <= 500]


@pytest.mark.parametrize("asked", [{"weights": False}, {"weights": False, "exact_below": 3, "epsilon": 0.4, "seed": 7}])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_the_kernels_answer_holds(edges, asked):
    graph = graph_of(edges)
    verdict = certify_betweenness(graph, betweenness(graph, **asked), **asked)
    assert verdict.holds, verdict.reason
    assert (
        verdict.rules[-1].endswith("exact" if len(edges.ids) < asked.get("exact_below", 1000) else "no direction")
        or len(edges.ids) < 20
    )


@pytest.mark.parametrize("number", MUTANTS)
def test_mutants_do_not_hold(number):
    rng = np.random.default_rng(12)
    refused = 0
    for _ in count():
        edges, graph = random_graph(rng)
        asked = {"weights": bool(rng.random() < 0.5), "exact_below": int(rng.choice((0, 1000))), "seed": int(rng.integers(9))}
        try:
            truth = betweenness(graph, **asked).betweenness
        except ArithmeticError:
            continue
        for mutant in mutants(truth, rng):
            if np.abs(mutant - truth).max() <= 1e-9 * truth.max():
                continue
            verdict = certify_betweenness(graph, Betweenness(mutant), **asked)
            assert not verdict.holds and verdict.reason, (mutant, truth, edges)
            refused += 1
        if refused >= number:
            return


def mutants(truth: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Values of which some are changed, swapped or invalid, or all are scaled."""
    for row, other in rng.integers(len(truth), size=(3, 2)).tolist():
        for by in (1.0, 0.5, -1.0, 1e-3, np.nan, np.inf):
            mutant = truth.copy()
            mutant[row] += by
            yield mutant
        mutant = truth.copy()
        mutant[[row, other]] = mutant[[other, row]]
        if not np.array_equal(mutant, truth):
            yield mutant
    if truth.any():
        yield truth * 2
        yield truth[::-1].copy() if not np.array_equal(truth, truth[::-1]) else truth / 2


def test_malformed_answers_do_not_hold():
    graph = graph_of(SMALL[-1])
    values = betweenness(graph).betweenness
    for wrong in (values[:-1], values.astype(np.float32), None, values.reshape(1, -1)):
        assert certify_betweenness(graph, Betweenness(wrong)).reason.startswith("betweenness ")
    assert not certify_betweenness(graph, Betweenness(values), exact_below=2, epsilon=0.9, delta=0.9).holds
