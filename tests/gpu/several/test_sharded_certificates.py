"""The certificates over shards on a GPU, with threads as ranks: the verdicts and reasons of a single CPU rank."""

# ruff: noqa: E402  (the imports below need CuPy)
import random
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import grid, random_digraph, rmat
from kernels.answers import Scores
from kernels.distributed.assembly import to_device
from kernels.distributed.shard import Shard
from kernels.graph import Graph
from kernels.reachability import reachability
from kernels.reachability.certificate import certify_reachability
from tests.answers import true_answers, true_paths, uncleaned
from tests.certificates.test_certificates_mutants import CERTIFIED, CERTIFIED_OVER_RANKS, random_graph
from tests.certificates.test_certificates_pagerank import mutants as rank_mutants
from tests.certificates.test_certificates_pagerank import true_ranks
from tests.certificates.test_certificates_reachability import mutants as index_mutants
from tests.certificates.test_certificates_reachability import random_graph as index_graph
from tests.gpu.inputs import poison, with_wide_rows
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.algorithms.test_certify_reachability import can_be_cut
from tests.sharded.algorithms.test_certify_reachability import verdicts as index_verdicts
from tests.sharded.answers import SINGLE_RANK, any_bounds, can_be_wrong_over_ranks, changed, single_rank_answers, verdicts
from tests.sharded.ranks import bounds_of
from tests.sharded.shards import even_bounds

MUTANTS = 60  # of each certificate


def on_gpu(of_rank: Any) -> Any:
    """A shard, or a part of an answer, with CuPy arrays."""
    poison(1 << 20)
    if isinstance(of_rank, Shard):
        return to_device(of_rank)
    return replace(of_rank, **{name: cupy.asarray(array) for name, array in vars(of_rank).items() if hasattr(array, "dtype")})


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 50], ids=lambda edges: edges.name)
def test_true_answers_of_named_graphs_hold(edges) -> None:
    graph = uncleaned(edges, random.Random(3).sample(edges.ids, len(edges.ids)))
    for name, truth in true_answers(edges, graph):
        (verdict,) = verdicts(name, graph, even_bounds(graph, 3), [truth], on_gpu)
        assert (verdict.holds, verdict.reason) == (True, ""), name


@pytest.mark.parametrize("name", CERTIFIED_OVER_RANKS)
def test_mutants_are_refused_with_the_reasons_of_a_single_rank(name) -> None:
    certify, solve, mutate = CERTIFIED[name]
    rng = np.random.default_rng(20261122)
    refused = 0
    while refused < MUTANTS:
        edges, graph = random_graph(rng)
        truth, bounds = solve(edges, graph, rng), any_bounds(graph, rng)
        mutants = [mutant for mutant in mutate(graph, truth, rng) if can_be_wrong_over_ranks(graph, mutant)]
        answers = [truth, *mutants]
        expected = [certify(graph, answer) for answer in answers]
        assert verdicts({"forest": "mst"}.get(name, name), graph, bounds, answers, on_gpu) == expected
        refused += len(mutants)


def test_wrong_scores_are_refused() -> None:
    rng = np.random.default_rng(12)
    for _ in range(2):
        _, graph = random_graph(rng)
        answers = [Scores(scores) for scores in (true_ranks(graph), *rank_mutants(graph, true_ranks(graph), rng))][:60]
        ours = verdicts("pagerank", graph, any_bounds(graph, rng), answers, on_gpu)
        expected = [SINGLE_RANK["pagerank"](graph, answer).holds for answer in answers]
        assert [verdict.holds for verdict in ours] == expected


@pytest.mark.parametrize("load", [partial(grid, 200), partial(rmat, 14), partial(random_digraph, 1 << 13)])
def test_answers_on_larger_graphs_hold_and_changed_ones_do_not(load) -> None:
    graph: Graph = load()
    rng = np.random.default_rng(8)
    for name, truth in single_rank_answers(graph).items():
        answers = [truth, *changed(name, truth, rng)]
        expected = [SINGLE_RANK[name](graph, answer) for answer in answers]
        for bounds in (even_bounds(graph, 2), bounds_of([graph.num_vertices // 9], graph.num_vertices)):
            ours = verdicts(name, graph, bounds, answers, on_gpu)
            assert [verdict.holds for verdict in ours] == [True] + [False] * (len(answers) - 1)
            if name != "pagerank":
                assert ours == expected


def test_64_bit_rows_give_the_same_verdicts() -> None:
    graph = with_wide_rows(rmat(9))
    for name, truth in single_rank_answers(rmat(9)).items():
        rows = {
            field: array.astype(np.int64)
            for field, array in vars(truth).items()
            if field in ("predecessor", "src", "dst", "labels")
        }
        (verdict,) = verdicts(name, graph, even_bounds(graph, 3), [replace(truth, **rows) if rows else truth], on_gpu)
        assert (verdict.holds, verdict.reason) == (True, ""), name


def test_a_chain_of_zero_length_steps_between_ranks() -> None:
    length = 40
    edges = EdgeList("chain", ((0, 1, 5), *((i, i + 1, 0) for i in range(1, length)), (length, 1, 0)))
    graph = graph_of(edges, random.Random(1).sample(edges.ids, length + 1))
    truth = true_paths(edges, graph, 0, weighted=True)
    lost = replace(truth, distance=np.where(truth.distance == 5, 4, truth.distance))
    expected = [SINGLE_RANK["sssp"](graph, answer) for answer in (truth, lost)]
    assert verdicts("sssp", graph, even_bounds(graph, 4), [truth, lost], on_gpu) == expected


def test_reachability_indexes() -> None:
    rng = np.random.default_rng(20261124)
    for graph in (random_digraph(1 << 10), *(index_graph(rng) for _ in range(3))):
        index = reachability(graph, 2, 5, "tree")
        answers = [index, *islice(filter(can_be_cut, index_mutants(index, rng)), 10)]
        bounds, of_nodes = even_bounds(graph, 2), bounds_of([index.condensation.num_nodes // 3], index.condensation.num_nodes)
        ours = index_verdicts(graph, bounds, of_nodes, answers, on_gpu)
        expected = [certify_reachability(graph, answer) for answer in answers]
        assert [(verdict.holds, verdict.reason) for verdict in ours] == [(verdict.holds, verdict.reason) for verdict in expected]
