"""The certificate of betweenness accepts the answer, and no other but for rounding."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from kernels.answers import Betweenness, EdgeBetweenness
from kernels.betweenness import betweenness, edge_betweenness
from kernels.betweenness.certificate import certify_betweenness, certify_edge_betweenness
from kernels.graph import Array, Graph
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


@pytest.mark.parametrize("number", [1000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_mutants_with_options_and_of_edges_do_not_hold(number):
    rng = np.random.default_rng(14)
    refused = 0
    for _ in count():
        edges, graph = random_graph(rng)
        of_edges = bool(rng.random() < 0.6)
        solve, certify = (edge_betweenness, certify_edge_betweenness) if of_edges else (betweenness, certify_betweenness)
        asked = options(graph, of_edges, rng)
        try:
            truth = solve(graph, **asked)
        except ArithmeticError:
            continue
        assert certify(graph, truth, **asked).holds, (edges, asked)
        for mutant in answers_mutants(graph, truth, asked, rng):
            verdict = certify(graph, mutant, **asked)
            assert not verdict.holds and verdict.reason, (mutant, truth, edges, asked)
            refused += 1
        if refused >= number:
            return


def options(graph: Graph, of_edges: bool, rng: np.random.Generator) -> dict[str, Any]:
    """Random options, of which some ask for a sample or name sources."""
    asked: dict[str, Any] = {"weights": bool(rng.random() < 0.5), "normalized": bool(rng.random() < 0.5)}
    if not of_edges:
        asked["endpoints"] = bool(rng.random() < 0.7)
    if rng.random() < 0.4:
        asked["sources"] = rng.choice(graph.ids, rng.integers(1, graph.num_vertices + 1), replace=False).tolist()
    elif rng.random() < 0.3:
        asked |= {"exact_below": 0, "epsilon": 0.9, "seed": int(rng.integers(9))}
    return asked


def answers_mutants(graph: Graph, truth: Any, asked: dict[str, Any], rng: np.random.Generator) -> Iterator[Any]:
    """Answers to other options, other values, and other edges."""
    values = truth.betweenness
    others = [{name: not asked[name]} for name in ("weights", "normalized", "endpoints") if name in asked]
    others += [
        {"sources": asked["sources"][:-1] or graph.ids.tolist()} if "sources" in asked else {"sources": [int(graph.ids[0])]}
    ]
    for other in others:
        try:
            found = (edge_betweenness if isinstance(truth, EdgeBetweenness) else betweenness)(graph, **asked | other)
        except ArithmeticError:
            continue
        if not np.allclose(found.betweenness, values, rtol=1e-9, atol=0):
            yield found
    if not len(values):
        return
    for mutant in mutants(values, rng):
        if not np.abs(mutant - values).max() <= 1e-9 * values.max():
            yield replace(truth, betweenness=mutant)
    if isinstance(truth, EdgeBetweenness):
        yield from edges_mutants(graph, truth, rng)


def edges_mutants(graph: Graph, truth: EdgeBetweenness, rng: np.random.Generator) -> Iterator[EdgeBetweenness]:
    """Edges that are turned, moved, left out, added, swapped, or no rows."""
    count = len(truth.src)
    edge, row = int(rng.integers(count)), int(rng.integers(graph.num_vertices))
    for src, dst in ((truth.dst[edge], truth.src[edge]), (truth.src[edge], row), (row, truth.dst[edge]), (-1, 0), (0, 1 << 20)):
        if (src, dst) != (truth.src[edge], truth.dst[edge]):
            moved = truth.src.copy(), truth.dst.copy()
            moved[0][edge], moved[1][edge] = src, dst
            yield replace(truth, src=moved[0], dst=moved[1])
    for places in (np.delete(np.arange(count), edge), np.insert(np.arange(count), edge, edge), np.arange(count)[::-1]):
        if count > 1 or len(places) != count:
            yield EdgeBetweenness(truth.src[places], truth.dst[places], truth.betweenness[places])
    yield replace(truth, dst=truth.dst[:-1])
    yield replace(truth, src=truth.src.astype(np.int16))


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
