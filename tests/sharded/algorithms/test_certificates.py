"""The certificates over shards give the verdicts and reasons of a single rank, for any bounds of the ranks."""

import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs, graph_of_edges, grid, random_digraph, rmat
from kernels import forest
from kernels.answers import Components, Forest, Paths, Scores
from kernels.bfs.certificate.sharded import certify_bfs
from kernels.forest import certificate as forest_certificate
from kernels.forest.certificate.sharded import certify_forest
from kernels.pagerank import certificate as pagerank_certificate
from kernels.sssp import certificate as sssp_certificate
from tests.answers import true_answers, true_forest, true_paths, uncleaned
from tests.certificates.test_certificates_mutants import CERTIFIED, CERTIFIED_OVER_RANKS, forest_of, random_graph
from tests.certificates.test_certificates_pagerank import mutants as rank_mutants
from tests.certificates.test_certificates_pagerank import true_ranks
from tests.counts import in_turn
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.answers import (
    CERTIFY,
    OUT_OF_ORDER,
    SINGLE_RANK,
    any_bounds,
    can_be_wrong_over_ranks,
    changed,
    part_of,
    single_rank_answers,
    verdicts,
)
from tests.sharded.ranks import bounds_of, on_shards
from tests.sharded.shards import even_bounds
from tests.sharded.test_memory import growth

MUTANTS = 200  # of each certificate; three thousand of each were run once


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("edges", "build"),
    in_turn(2, [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 50], [graph_of, uncleaned]),
    ids=lambda value: getattr(value, "name", None),
)
def test_true_answers_of_named_graphs_hold(edges, build) -> None:
    graph = build(edges, random.Random(3).sample(edges.ids, len(edges.ids)))
    for size in (1, 2, 4, 7) if build is graph_of else (3, 8):
        for name, truth in true_answers(edges, graph):
            (verdict,) = verdicts(name, graph, even_bounds(graph, size), [truth])
            assert (verdict.holds, verdict.reason) == (True, ""), (size, name)
            assert verdict.rules == SINGLE_RANK[name](graph, truth).rules


@pytest.mark.parametrize("name", CERTIFIED_OVER_RANKS)
def test_thousands_of_mutants_are_refused_with_the_reasons_of_a_single_rank(name) -> None:
    certify, solve, mutate = CERTIFIED[name]
    rng = np.random.default_rng(20261121)
    refused = 0
    while refused < MUTANTS:
        edges, graph = random_graph(rng)
        truth, bounds = solve(edges, graph, rng), any_bounds(graph, rng)
        mutants = [mutant for mutant in mutate(graph, truth, rng) if can_be_wrong_over_ranks(graph, mutant)]
        answers = [truth, *mutants]
        expected = [certify(graph, answer) for answer in answers]
        assert verdicts({"forest": "mst"}.get(name, name), graph, bounds, answers) == expected
        refused += len(mutants)


def test_edges_out_of_order_on_a_rank_are_refused() -> None:
    graph = graph_of(FIGURE_1)
    truth = true_forest(FIGURE_1, graph)
    for order in ([1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 4, 4], [0, 0, 1, 2, 3, 4]):
        mutant = replace(truth, src=truth.src[order], dst=truth.dst[order], weights=truth.weights[order])
        expected = forest_certificate.certify_forest(graph, mutant)
        assert expected.reason.endswith(OUT_OF_ORDER)
        assert verdicts("mst", graph, bounds_of([6], 7), [mutant]) == [expected]


def test_thousands_of_wrong_scores_are_refused() -> None:
    rng = np.random.default_rng(12)
    refused = 0
    while refused < MUTANTS:
        _, graph = random_graph(rng)
        answers = [Scores(scores) for scores in (true_ranks(graph), *rank_mutants(graph, true_ranks(graph), rng))]
        expected = [pagerank_certificate.certify_pagerank(graph, answer) for answer in answers]
        ours = verdicts("pagerank", graph, any_bounds(graph, rng), answers)
        assert [verdict.holds for verdict in ours] == [verdict.holds for verdict in expected]
        # Sums are rounded in another order, so either of two rows with equal change may have the largest change.
        reasons = [verdict.reason.partition("; most, by ")[0] for verdict in ours]
        assert reasons == [verdict.reason.partition("; most, by ")[0] for verdict in expected]
        refused += len(answers)


LARGER = {
    "grid": lambda: grid(200),
    "rmat": lambda: rmat(12),
    "digraph": lambda: random_digraph(1 << 12),
}


@pytest.mark.parametrize("load", LARGER)
def test_answers_on_larger_graphs_hold_and_changed_ones_do_not(load) -> None:
    graph = LARGER[load]()
    rng = np.random.default_rng(8)
    for name, truth in single_rank_answers(graph).items():
        mutants = [truth, *changed(name, truth, rng)]
        expected = [SINGLE_RANK[name](graph, mutant) for mutant in mutants]
        assert [verdict.holds for verdict in expected] == [True] + [False] * (len(mutants) - 1)
        for size in (2, 7):
            ours = verdicts(name, graph, even_bounds(graph, size), mutants)
            if name == "pagerank":
                assert [verdict.holds for verdict in ours] == [True, False]
            else:
                assert ours == expected


class TestBetweenRanks:
    """Errors that show only between rows of different ranks."""

    def test_a_chain_of_zero_length_steps_between_ranks(self) -> None:
        length = 60
        edges = EdgeList("chain", ((0, 1, 5), *((i, i + 1, 0) for i in range(1, length)), (length, 1, 0)))
        graph = graph_of(edges, random.Random(1).sample(edges.ids, length + 1))
        truth = true_paths(edges, graph, 0, weighted=True)
        lost = replace(truth, distance=np.where(truth.distance == 5, 4, truth.distance))
        for bounds in (even_bounds(graph, 7), bounds_of([30], length + 1)):
            ours = verdicts("sssp", graph, bounds, [truth, lost])
            assert ours == [sssp_certificate.certify_sssp(graph, answer) for answer in (truth, lost)]
            assert [verdict.holds for verdict in ours] == [True, False]

    def test_a_chain_that_alternates_between_two_ranks(self) -> None:
        places = np.arange(400)
        rows = np.where(places % 2, 200 + places // 2, places // 2)
        rows = np.concatenate([np.random.default_rng(5).permutation(200), 200 + np.arange(200)])[rows]
        bounds = bounds_of([200], 400)
        graph = graph_of_arcs(rows[:-1], rows[1:], None, 400, symmetric=False)
        one, all_apart = Components(np.zeros(400, np.int32)), Components(np.arange(400, dtype=np.int32))
        assert [verdict.holds for verdict in verdicts("wcc", graph, bounds, [one, all_apart])] == [True, False]
        cycle = graph_of_arcs(rows, np.roll(rows, -1), None, 400, symmetric=False)
        assert [verdict.holds for verdict in verdicts("scc", cycle, bounds, [one, all_apart])] == [True, False]
        edges = graph_of_edges(rows[:-1], rows[1:], np.random.default_rng(2).permutation(399), 400)
        truth = forest.minimum_spanning_forest(edges)
        pairs = {(src, dst): weight for src, dst, weight in zip(truth.src, truth.dst, truth.weights, strict=True)}
        pairs[0, 1] = 400
        closed = forest_of(edges, pairs, truth.weights.dtype, truth.labels)
        ours = verdicts("mst", edges, bounds, [truth, closed])
        assert ours == [forest_certificate.certify_forest(edges, answer) for answer in (truth, closed)]
        assert ours[1].reason == "edge 0 - 1: closes a cycle"

    def test_an_edge_belongs_to_the_rank_of_its_first_end(self) -> None:
        graph = graph_of(FIGURE_1)
        truth, bounds = true_forest(FIGURE_1, graph), bounds_of([4], 7)
        edges = (truth.src, truth.dst, truth.weights)

        def all_edges_on_rank(rank: int):
            def certify(shard, ranks):
                mine = [array if ranks.rank == rank else array[:0] for array in edges]
                return certify_forest(shard, ranks, Forest(*mine, truth.labels[shard.rows.start : shard.rows.stop]))

            return on_shards(certify, graph, bounds)

        assert {verdict.reason for verdict in all_edges_on_rank(0)} == {"src has row 4, outside 0..3"}
        assert {verdict.reason for verdict in all_edges_on_rank(1)} == {"src has row 0, outside 4..6"}

    def test_ranks_have_one_source(self) -> None:
        graph = graph_of(FIGURE_1)
        truth = true_paths(FIGURE_1, graph, 0, weighted=False)

        def certify(shard, ranks):
            own = slice(shard.rows.start, shard.rows.stop)
            return certify_bfs(shard, ranks, Paths(ranks.rank, truth.distance[own], truth.predecessor[own]))

        reasons = {verdict.reason for verdict in on_shards(certify, graph, bounds_of([4], 7))}
        assert reasons == {"source is row 0, and row 1 on another rank"}


ROWS = np.arange(7, dtype=np.int32)
BAD = [
    None,
    7,
    [0, 1],
    np.int32(0),
    np.array(3, np.int32),
    ROWS[:2],
    ROWS.astype(np.int64),
    ROWS.astype(">i4"),
    ROWS.reshape(1, 7),
]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_an_answer_malformed_on_one_rank_is_refused_on_all(bad) -> None:
    graph = graph_of(FIGURE_1)
    for name, answer, fields in (
        ("bfs", Paths(0, ROWS.astype(np.int64), ROWS), ("distance", "predecessor")),
        ("sssp", Paths(0, ROWS.astype(np.int64), ROWS), ("distance", "predecessor")),
        ("mst", Forest(ROWS, ROWS, ROWS.astype(np.int64), ROWS), ("src", "dst", "weights")),
        ("wcc", Components(ROWS), ("labels",)),
        ("scc", Components(ROWS), ("labels",)),
        ("pagerank", Scores(ROWS.astype(np.float64), 0, 0.0), ("scores",)),
    ):
        for field in fields:

            def certify(shard, ranks, name=name, answer=answer, field=field):
                own = slice(shard.rows.start, shard.rows.stop)
                cut = {key: array[own] for key, array in vars(answer).items() if isinstance(array, np.ndarray)}
                if ranks.rank == 1:
                    cut[field] = bad
                return CERTIFY[name](shard, ranks, replace(answer, **cut))

            verdicts_of_ranks = on_shards(certify, graph, bounds_of([2, 5], 7))
            assert not any(verdict.holds for verdict in verdicts_of_ranks)
            assert len({verdict.reason for verdict in verdicts_of_ranks}) == 1
            assert verdicts_of_ranks[0].reason


@pytest.mark.parametrize("name", ["bfs", "sssp", "mst", "wcc", "pagerank"])
def test_all_ranks_together_take_little_more_memory_than_one(name) -> None:
    truth = single_rank_answers(grid(96))[name]

    def certify(shard, ranks):
        verdict = CERTIFY[name](shard, ranks, part_of(truth, shard.rows))
        assert verdict.holds

    assert growth(certify) < 2
