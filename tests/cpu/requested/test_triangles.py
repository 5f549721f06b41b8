"""Triangles and clustering coefficients: NetworkX's, on every way of the kernel; certificates and what they refuse."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from benchmarks.graphs import facebook, wiki_vote
from kernels.answers import Clustering, TriangleCounts
from kernels.cpu import parallel
from kernels.graph import Graph
from kernels.oracle import oracle, triangles_by_scipy
from kernels.triangles import cpu, lcc, triangles
from kernels.triangles.certificate import certify_lcc, certify_triangles, recount
from kernels.triangles.quotients import rounded_quotients
from tests.answers import uncleaned
from tests.certificates.test_certificates_mutants import random_graph
from tests.counts import NIGHTLY, examples
from tests.cpu.requested.small_graphs import SMALL, edge_lists
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

MUTANTS = 100_000 if NIGHTLY else 400
CERTIFIED = {"triangles": (triangles, certify_triangles), "lcc": (lcc, certify_lcc)}


def skewed(directed: bool, vertices: int = 300, count: int = 2500, seed: int = 1) -> EdgeList:
    """A random graph of few hubs, in which a list is up to a hundred times longer than another."""
    ends = (vertices * np.random.default_rng(seed).random((count, 2)) ** 3).astype(int).tolist()
    return EdgeList("skewed", tuple(map(tuple, ends)), directed)


def unlike() -> EdgeList:
    """Two rows of many common neighbours, and rows of two arcs beside them."""
    hubs = [(hub, i) for hub in range(40) for i in range(40, 400)] + [(a, b) for a in range(40) for b in range(a)]
    return EdgeList("unlike", tuple(hubs), directed=False)


GRAPHS = {
    "crowd": lambda: graph_of(skewed(directed=False)),
    "arcs": lambda: uncleaned(skewed(directed=True)),
    "unlike": lambda: graph_of(unlike()),
    "named": lambda: uncleaned(next(edges for edges in NAMED_GRAPHS if edges.name == "zero_weight_clique")),
    "empty": lambda: graph_of(NAMED_GRAPHS[0]),
}


def by_networkx(graph: Graph) -> tuple[list[int], list[int], list[int]]:
    """TriangleCounts, arcs between neighbours, and pairs of neighbours of each row."""
    arcs = nx.DiGraph()
    arcs.add_nodes_from(range(graph.num_vertices))
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    arcs.add_edges_from((a, b) for a, b in zip(tails.tolist(), graph.out.indices.tolist(), strict=True) if a != b)
    edges = arcs.to_undirected()
    counts = nx.triangles(edges)
    within = [arcs.subgraph(edges[row]).number_of_edges() for row in arcs]
    return [counts[row] for row in arcs], within, [len(edges[row]) * (len(edges[row]) - 1) for row in arcs]


def check(graph: Graph) -> None:
    counts, within, pairs = by_networkx(graph)
    answer, coefficients = triangles(graph), lcc(graph)
    assert answer.triangles.tolist() == counts
    assert (coefficients.numerator.tolist(), coefficients.denominator.tolist()) == (within, pairs)
    assert coefficients.lcc.tolist() == [a / b if b else 0.0 for a, b in zip(within, pairs, strict=True)]
    proof = certify_triangles(graph, answer)
    assert proof.holds, proof.reason
    assert proof.rules[-1] == f"the graph has {sum(counts) // 3} triangles"
    assert certify_lcc(graph, coefficients).holds
    assert oracle(graph, "triangles", answer).holds
    assert oracle(graph, "lcc", coefficients).holds


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_named_graphs(edges, build):
    check(build(edges, edges.ids[::-1]))


@settings(max_examples=examples(60))
@given(edge_lists(90))
def test_random_graphs(edges):
    check(graph_of(edges))
    check(uncleaned(edges, edges.ids[::-1]))


@pytest.mark.parametrize("labels", [0, 1, 70, 1 << 15])
@pytest.mark.parametrize("name", GRAPHS)
def test_lists_with_and_without_bits(monkeypatch, name, labels):
    monkeypatch.setattr(cpu, "BIT_ROWS", labels)
    check(GRAPHS[name]())


@pytest.mark.parametrize("hubs", [0, 1, 70])
@pytest.mark.parametrize("name", GRAPHS)
def test_proofs_with_few_hubs(monkeypatch, name, hubs):
    monkeypatch.setattr(recount, "MOST_HUBS", hubs)
    check(GRAPHS[name]())


@pytest.mark.parametrize("make", [facebook, wiki_vote])
def test_real_graphs_in_several_threads_and_blocks(monkeypatch, make):
    graph = make()
    one = triangles(graph), lcc(graph)
    assert triangles(graph).triangles.sum() == 3 * {facebook: 1_612_010, wiki_vote: 608_389}[make]  # as SNAP states
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(cpu, "cores", lambda: 3)
    monkeypatch.setattr(recount, "MOST_HUBS", 300)
    monkeypatch.setattr(triangles_by_scipy, "_PRODUCTS", 5000)
    for (solve, certify), expected in zip(CERTIFIED.values(), one, strict=True):
        found = solve(graph)
        assert all(array.tobytes() == getattr(expected, field).tobytes() for field, array in vars(found).items())
        assert certify(graph, found).holds
    assert oracle(graph, "triangles", one[0]).holds


def test_the_mean_coefficient_is_the_published_one():
    """https://snap.stanford.edu/data/ego-Facebook.html: 0.6055."""
    assert round(float(lcc(facebook()).lcc.mean()), 4) == 0.6055


def test_a_quotient_is_rounded_once():
    numerator = np.array([2**53 + 1, 2**62 - 1, 0, 1, 3, 7], np.int64)
    denominator = np.array([2**54 + 7, 2**62 + 2**9 + 1, 2**60, 3, 0, 7], np.int64)
    found = rounded_quotients(numerator, denominator)
    exact = [Fraction(int(a), int(b)) if b else Fraction(0) for a, b in zip(numerator, denominator, strict=True)]
    assert found.tolist() == [float(quotient) for quotient in exact]
    assert (numerator[:2] / denominator[:2] != found[:2]).any()  # which doubles round twice


def mutants(answer: Any, random: np.random.Generator) -> Iterator[Any]:
    """One value changed a little, two exchanged, one moved to another row, and columns that fit each other."""
    for name, array in vars(answer).items():
        rows = random.integers(len(array), size=2)
        for change in (-1, 1, 2, 3):
            one, moved = array.copy(), array.copy()
            one[rows[0]] += change
            moved[rows[0]] += change
            moved[rows[1]] -= change
            yield replace(answer, **{name: one})
            yield replace(answer, **{name: moved})
        exchanged = array.copy()
        exchanged[rows] = array[rows[::-1]]
        yield replace(answer, **{name: exchanged})
    if isinstance(answer, Clustering):
        row, denominator = random.integers(len(answer.lcc)), answer.denominator
        for step in (1, 2):
            numerator = answer.numerator.copy()
            numerator[row] += step
            yield Clustering(numerator, denominator, rounded_quotients(numerator, denominator))
        less = denominator.copy()
        less[row] = max(less[row] - 2, 0)
        yield Clustering(answer.numerator, less, rounded_quotients(answer.numerator, less))
        near = answer.lcc.copy()
        near[row] = np.nextafter(near[row], 2)
        yield replace(answer, lcc=near)
        yield replace(answer, lcc=-answer.lcc)


@pytest.mark.parametrize("name", CERTIFIED)
def test_no_mutant_holds(name):
    solve, certify = CERTIFIED[name]
    random, refused = np.random.default_rng(3), 0
    while refused < MUTANTS:
        _, graph = random_graph(random)
        truth = solve(graph)
        assert certify(graph, truth).holds
        for mutant in mutants(truth, random) if graph.num_vertices else ():
            if any(mine.tobytes() != vars(truth)[field].tobytes() for field, mine in vars(mutant).items()):
                assert not certify(graph, mutant).holds, (graph, mutant)
                refused += 1


@pytest.mark.parametrize("wrong", [None, np.zeros(7), np.zeros(6, np.int64)])
def test_malformed_answers_do_not_hold(wrong):
    graph = graph_of(SMALL[-1])
    assert certify_triangles(graph, TriangleCounts(wrong)).reason.startswith("triangles ")
    assert certify_lcc(graph, replace(lcc(graph), denominator=wrong)).reason.startswith("denominator ")
