"""PageRank over shards: the same bits for any number of shards, and the scores of the kernel for one rank."""

import random
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.graphs import facebook, new_york, wiki_vote
from kernels import pagerank as single_rank
from kernels.distributed.threads import run_ranks
from kernels.pagerank.sharded import _total, pagerank
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SOME_SIZES, bounds_of, evenly, on_shards, whole

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList) -> None:
    graph = graph_of(edges, random.Random(2).sample(edges.ids, len(edges.ids)))
    expected = single_rank.pagerank(graph, tolerance=1e-12)
    for size in SOME_SIZES:
        parts = evenly(pagerank, graph, size, 0.85, 1e-12)
        np.testing.assert_allclose(whole(parts, "scores"), expected.scores, rtol=1e-11, atol=0)
        assert {part.supersteps for part in parts} == {part.answer.iterations for part in parts}


@pytest.mark.parametrize("make", [new_york, facebook, wiki_vote])
def test_the_same_bits_for_any_number_of_shards(make) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    one = evenly(pagerank, graph, 1)
    others = [
        evenly(pagerank, graph, 2),
        evenly(pagerank, graph, 7),
        on_shards(pagerank, graph, bounds_of([5, 5, 999], graph.num_vertices)),
    ]
    expected = single_rank.pagerank(graph)
    np.testing.assert_allclose(whole(one, "scores"), expected.scores, rtol=0, atol=1e-13)
    assert one[0].answer.iterations == expected.iterations
    for parts in others:
        assert whole(parts, "scores").tobytes() == whole(one, "scores").tobytes()
        assert {(part.answer.iterations, part.answer.change) for part in parts} == {(expected.iterations, one[0].answer.change)}


def test_a_sum_over_ranks_is_exact_and_rounded_once() -> None:
    values = np.random.default_rng(4).random(10_000) ** 40
    values /= values.sum()
    exact = float(sum(map(Fraction, values.tolist())))
    for size in (1, 3, 8):
        assert run_ranks(size, lambda ranks: _total(ranks, values[ranks.rank :: ranks.size])) == [exact] * size


def test_iteration_stops_at_its_limits() -> None:
    graph = graph_of(NAMED_GRAPHS[-1])
    assert evenly(pagerank, graph, 3, 0.85, 1e-6, 3)[0].answer.iterations == 3
    np.testing.assert_array_equal(whole(evenly(pagerank, graph, 3, 0.85, 1e-6, 0), "scores"), np.full(7, 1 / 7))


@pytest.mark.parametrize(("damping", "tolerance"), [(-0.1, 1e-6), (1.1, 1e-6), (float("nan"), 1e-6), (0.85, -1.0)])
def test_invalid_parameters_are_refused(damping: float, tolerance: float) -> None:
    with pytest.raises(ValueError, match="is n"):
        evenly(pagerank, graph_of(NAMED_GRAPHS[-1]), 2, damping, tolerance)
