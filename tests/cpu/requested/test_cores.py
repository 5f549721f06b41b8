"""Core numbers: NetworkX's, on one rank and on several; certificates and what they refuse."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import Certificate
from kernels.cores import Cores, cores
from kernels.cores.certificate import RULES, certify_cores
from kernels.cores.certificate.sharded import certify_cores as certify_over_ranks
from kernels.cores.sharded import cores as cores_over_ranks
from kernels.cpu import parallel
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.oracle import oracle
from tests.answers import uncleaned
from tests.counts import NIGHTLY, examples
from tests.cpu.requested.small_graphs import SMALL, edge_lists
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SOME_SIZES, bounds_of, evenly, whole
from tests.sharded.shards import split

pytestmark = pytest.mark.sampled

MUTANTS = 100_000 if NIGHTLY else 1_000


def by_networkx(edges: EdgeList) -> dict[int, int]:
    """Core numbers of the undirected graph without self-loops and parallel edges, by external id."""
    plain: nx.Graph[int] = nx.Graph()
    plain.add_nodes_from(edges.ids)
    plain.add_edges_from(edge[:2] for edge in edges.edges if edge[0] != edge[1])
    return nx.core_number(plain)


def over_ranks(graph: Graph, answer: Cores, cuts: list[int]) -> Certificate:
    """The verdict of all ranks, each of which has the rows from one cut to the next."""
    shards = split(graph, bounds_of(cuts, graph.num_vertices))

    def run(ranks):
        rows = shards[ranks.rank].rows
        return certify_over_ranks(shards[ranks.rank], ranks, Cores(answer.core[rows.start : rows.stop]))

    verdicts = run_ranks(len(shards), run, DEADLINE)
    assert all(verdict == verdicts[0] for verdict in verdicts)
    return verdicts[0]


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges, build):
    graph = build(edges, edges.ids[::-1])
    answer = cores(graph)
    assert answer.core.dtype == np.int64
    assert dict(zip(graph.ids.tolist(), answer.core.tolist(), strict=True)) == by_networkx(edges)
    assert certify_cores(graph, answer) == Certificate(True, "", RULES)
    assert oracle(graph, "cores", answer).holds


@settings(max_examples=examples(40))
@given(edge_lists(60), st.sampled_from(SOME_SIZES))
def test_random_graphs(edges, size):
    for graph in (graph_of(edges), uncleaned(edges, edges.ids[::-1])):
        answer = cores(graph)
        assert dict(zip(graph.ids.tolist(), answer.core.tolist(), strict=True)) == by_networkx(edges)
        assert certify_cores(graph, answer).holds
        assert whole(evenly(cores_over_ranks, graph, size), "core").tolist() == answer.core.tolist()


@pytest.mark.parametrize("directed", [False, True])
def test_several_threads_find_and_prove_the_same(directed, monkeypatch):
    ends = (1_000 * np.random.default_rng(3).random((9_000, 2)) ** 2).astype(int)
    path = [(1_000 + i, 1_001 + i) for i in range(500)]
    edges = EdgeList("random", (*map(tuple, ends.tolist()), *path), directed)
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    for graph in (graph_of(edges), uncleaned(edges)):
        answer = cores(graph)
        assert dict(zip(graph.ids.tolist(), answer.core.tolist(), strict=True)) == by_networkx(edges)
        assert certify_cores(graph, answer).holds
        assert not certify_cores(graph, Cores(answer.core - (answer.core == answer.core.max()))).holds


def test_no_mutant_holds():
    rng = np.random.default_rng(8)
    refused = 0
    while refused < MUTANTS:
        vertices = int(rng.integers(2, 16))
        ends = rng.integers(vertices, size=(int(rng.integers(1, 4 * vertices)), 2)).tolist()
        graph = uncleaned(EdgeList("random", tuple(map(tuple, ends)), bool(rng.random() < 0.5), tuple(range(vertices))))
        truth = cores(graph).core
        for _ in range(30):
            mutant = truth.copy()
            if rng.random() < 0.5:  # a whole core, which changes together
                mutant[truth == rng.choice(truth)] += rng.integers(-1, 2)
            else:
                mutant[rng.integers(vertices, size=rng.integers(1, 4))] += rng.integers(-2, 3)
            verdict = certify_cores(graph, Cores(mutant))
            assert verdict.holds == (mutant == truth).all(), mutant
            refused += not verdict.holds
            if refused % 30 == 1:
                cuts = rng.integers(0, vertices + 1, 2).tolist()
                assert over_ranks(graph, Cores(mutant), cuts) == verdict


def test_reasons_name_the_first_vertex():
    graph = graph_of(EdgeList("square", ((11, 12), (12, 13), (13, 14), (14, 11), (14, 15)), directed=False))
    assert cores(graph).core.tolist() == [2, 2, 2, 2, 1]
    large, small = Cores(np.array([3, 2, 2, 2, 1])), Cores(np.array([1, 1, 1, 1, 1]))
    for answer, reason in (
        (large, "vertex 11: core 3, but 0 neighbours have that core or more"),
        (small, "vertex 11: core 1, but it has more neighbours left when those of this core are removed"),
    ):
        assert certify_cores(graph, answer).reason == over_ranks(graph, answer, [2]).reason == reason
    assert oracle(graph, "cores", small).reason == "vertex 11: core 1 is not 2, found with SciPy"


@pytest.mark.parametrize("wrong", [None, np.zeros(7), np.zeros(7, np.int32), np.zeros(6, np.int64)])
def test_malformed_cores_do_not_hold(wrong):
    graph = graph_of(SMALL[-1])
    assert certify_cores(graph, Cores(wrong)).reason.startswith("core ")
    assert certify_cores(graph, Cores(cores(graph).core - 2**62)).reason.startswith("vertex 0: core ")
