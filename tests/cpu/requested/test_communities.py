"""Communities: the result of the stated rounds, certificates and what they refuse."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import Certificate, Components
from kernels.communities import communities
from kernels.communities.certificate import RULES, certify_communities
from kernels.communities.certificate.sharded import certify_communities as certify_over_ranks
from kernels.communities.constants import FREE_ROUNDS
from kernels.communities.sharded import communities as communities_over_ranks
from kernels.cpu import parallel
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.oracle import oracle
from tests.answers import uncleaned
from tests.counts import NIGHTLY, examples
from tests.cpu.requested.small_graphs import SHAPES, SMALL, edge_lists
from tests.graphs import EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SOME_SIZES, bounds_of, evenly, whole
from tests.sharded.shards import split

MUTANTS = 100_000 if NIGHTLY else 3_000


def key(position: int, number: int) -> int:
    key, most = position + number * 0x9E3779B97F4A7C15, 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        key %= most
        key = (key ^ (key >> shift)) * factor % most
    return key


def by_definition(graph: Graph) -> list[int]:
    """External id of each row's label, by the definition of `kernels.communities`, with dictionaries."""
    position = {int(row): place for place, row in enumerate(graph.rows_by_id)}
    neighbours: list[list[int]] = [[] for _ in position]
    for side in (graph.out,) if graph.symmetric else (graph.out, graph.into):
        for row in position:
            found = side.indices[side.offsets[row] : side.offsets[row + 1]].tolist()
            neighbours[row] += [other for other in found if other != row]
    labels, number, quiet = dict(position), 0, 0
    while quiet < 2:
        number += 1
        wanted = {}
        for row, place in position.items():
            votes: dict[int, int] = {}
            for other in neighbours[row]:
                votes[labels[other]] = votes.get(labels[other], 0) + 1
            most = max(votes.values(), default=0)
            if votes.get(labels[row], 0) < most and (number > FREE_ROUNDS or key(place, 0) >> 63 == number % 2):
                wanted[row] = min(label for label, count in votes.items() if count == most)
        quiet = 0 if wanted else 2 if number > FREE_ROUNDS else quiet + 1
        for row, label in wanted.items():
            rivals = [key(position[other], number) for other in neighbours[row] if other in wanted]
            if number <= FREE_ROUNDS or all(key(position[row], number) < rival for rival in rivals):
                labels[row] = label
    members: dict[int, list[int]] = {}
    for row, label in labels.items():
        members.setdefault(label, []).append(int(graph.ids[row]))
    return [min(members[labels[row]]) for row in range(graph.num_vertices)]


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_named_graphs(edges, build):
    graph = build(edges, edges.ids[::-1])
    answer = communities(graph)
    assert graph.ids[answer.labels].tolist() == by_definition(graph)
    assert certify_communities(graph, answer).holds
    assert oracle(graph, "communities", answer).holds


def test_the_oracle_only_reads_a_graph_with_parallel_self_loops():
    graph = uncleaned(EdgeList("parallel", ((0, 1), (1, 1), (1, 1), (1, 2)), directed=True))
    for array in (graph.out.offsets, graph.out.indices):
        array.flags.writeable = False  # as those of a stored graph
    before = graph.out.indices.tolist()
    assert oracle(graph, "communities", communities(graph)).holds
    assert graph.out.indices.tolist() == before


@settings(max_examples=examples(40))
@given(edge_lists(50))
def test_random_graphs(edges):
    for graph in (graph_of(edges), uncleaned(edges, edges.ids[::-1])):
        answer = communities(graph)
        assert graph.ids[answer.labels].tolist() == by_definition(graph)
        verdict = certify_communities(graph, answer)
        assert verdict.holds, verdict.reason
        plain = (nx.MultiGraph if graph.symmetric else nx.MultiDiGraph)()
        plain.add_nodes_from(range(graph.num_vertices))
        tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
        ends = [(a, b) for a, b in zip(tails.tolist(), graph.out.indices.tolist(), strict=True) if not graph.symmetric or a < b]
        plain.add_edges_from(ends)
        sets = [set(np.flatnonzero(answer.labels == label).tolist()) for label in set(answer.labels.tolist())]
        apart = sum(not nx.is_connected(nx.Graph(plain.subgraph(members))) for members in sets)
        assert verdict.rules[2] == f"{apart} of {len(sets)} communities are not connected"
        if graph.num_arcs and not (graph.symmetric and (tails == graph.out.indices).any()):
            fraction = Fraction(verdict.rules[3].split(" is ")[1].split(",")[0].replace(" ", ""))
            assert float(fraction) == pytest.approx(nx.community.modularity(plain, sets), abs=1e-12)


def test_a_community_in_two_parts_is_counted():
    edges = EdgeList("parts", ((1, 2), (3, 4)), directed=False)
    graph = graph_of(edges)
    verdict = certify_communities(graph, Components(np.zeros(4, np.int32)))
    assert verdict.holds
    assert verdict.rules == (*RULES, "1 of 1 communities are not connected", "modularity is 0 / 16, 0.000000")


def test_several_threads_find_the_same(monkeypatch):
    ends = (3_000 * np.random.default_rng(3).random((12_000, 2)) ** 2).astype(int)
    graph = graph_of(EdgeList("random", tuple(map(tuple, ends.tolist())), directed=False))
    one = communities(graph).labels
    monkeypatch.setattr(parallel, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    assert communities(graph).labels.tolist() == one.tolist()


def over_ranks(graph: Graph, answer: Components, cuts: list[int]) -> Certificate:
    """The verdict of all ranks, each of which has the rows from one cut to the next."""
    shards = split(graph, bounds_of(cuts, graph.num_vertices))

    def run(ranks):
        rows = shards[ranks.rank].rows
        return certify_over_ranks(shards[ranks.rank], ranks, Components(answer.labels[rows.start : rows.stop]))

    verdicts = run_ranks(len(shards), run, DEADLINE)
    assert all(verdict == verdicts[0] for verdict in verdicts)
    return verdicts[0]


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", [*SMALL, *SHAPES], ids=lambda edges: edges.name)
def test_ranks_find_and_prove_the_same(edges, build):
    graph = build(edges)
    expected = communities(graph)
    for size in SOME_SIZES:
        parts = evenly(communities_over_ranks, graph, size)
        np.testing.assert_array_equal(whole(parts, "labels"), expected.labels)
        assert whole(parts, "labels").dtype == expected.labels.dtype
        assert len({part.supersteps for part in parts}) == 1
    for cuts in ([1], [2, 5], [3, 3, 7]):
        assert over_ranks(graph, expected, cuts) == certify_communities(graph, expected)


@settings(max_examples=examples(40))
@given(edge_lists(60), st.lists(st.integers(0, 15), min_size=1, max_size=3), st.data())
def test_ranks_give_the_verdict_of_one_on_any_labels(edges, cuts, data):
    graph = data.draw(st.sampled_from([graph_of, uncleaned]))(edges)
    shards = split(graph, bounds_of(cuts, graph.num_vertices))
    parts = run_ranks(len(shards), lambda ranks: communities_over_ranks(shards[ranks.rank], ranks), DEADLINE)
    expected = communities(graph).labels
    np.testing.assert_array_equal(whole(parts, "labels"), expected)
    changed = data.draw(st.lists(st.tuples(st.integers(0, 14), st.integers(-1, 15)), max_size=3))
    for row, label in changed:
        expected[row % len(expected)] = label
    assert over_ranks(graph, Components(expected), cuts) == certify_communities(graph, Components(expected))


def test_mutants_do_not_hold_unless_no_vertex_prefers_another_label():
    rng = np.random.default_rng(8)
    refused = 0
    while refused < MUTANTS:
        vertices = int(rng.integers(2, 16))
        ends = rng.integers(vertices, size=(int(rng.integers(1, 3 * vertices)), 2)).tolist()
        graph = uncleaned(EdgeList("random", tuple(map(tuple, ends)), bool(rng.random() < 0.5), tuple(range(vertices))))
        truth = communities(graph).labels
        assert certify_communities(graph, Components(truth)).holds
        for _ in range(30):
            mutant = truth.copy()
            for row in rng.integers(vertices, size=rng.integers(1, 4)).tolist():
                mutant[row] = rng.integers(-1, vertices + 1) if rng.random() < 0.2 else truth[rng.integers(vertices)]
            verdict = certify_communities(graph, Components(mutant))
            assert verdict.holds == stable(graph, mutant), (mutant, verdict.reason)
            refused += not verdict.holds


def stable(graph: Graph, labels: np.ndarray) -> bool:
    """Whether labels are the smallest ids of their rows, and no row prefers another one."""
    if ((labels < 0) | (labels >= len(labels))).any():
        return False
    for label in set(labels.tolist()):
        if graph.ids[label] != graph.ids[labels == label].min():
            return False
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    heads, votes = graph.out.indices, np.zeros((len(labels), len(labels)), int)
    apart = tails != heads
    for one, other in ((tails, heads), (heads, tails)):
        np.add.at(votes, (one[apart], labels[other[apart]]), 1)
    return bool((votes.max(axis=1) == votes[np.arange(len(labels)), labels]).all())


@pytest.mark.parametrize("wrong", [None, np.zeros(7), np.zeros(6, np.int32), np.full(7, 9, np.int32)])
def test_malformed_labels_do_not_hold(wrong):
    assert certify_communities(graph_of(SMALL[-1]), Components(wrong)).reason.startswith("labels ")
