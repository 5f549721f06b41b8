"""The layout's certificate: every layout of thousands of random edge lists holds, and not one of 100,000 wrong ones does."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kernels.answers import Certificate
from kernels.distributed import Communicator, Shard, SingleRank
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.layout.certificate import RULES, certify_layout
from kernels.layout.rules import ArcRules, Edges
from tests.certificates.layouts import Layout, layout_of, mutants, random_layout
from tests.sharded.ranks import DEADLINE, bounds_of
from tests.sharded.shards import split

MUTANTS = [600, pytest.param(100_000, marks=pytest.mark.nightly)]
MUTANTS_OVER_RANKS = [60, pytest.param(5000, marks=pytest.mark.nightly)]


def certify(layout: Layout, graph: Graph | Shard | None = None, ranks: Communicator | None = None) -> Certificate:
    return certify_layout(layout.edges, layout.rules, layout.claim, graph or layout.graph, ranks or SingleRank())


@pytest.mark.parametrize("count", MUTANTS)
def test_every_wrong_layout_is_refused(count):
    rng = np.random.default_rng(count)
    tried: Counter[str] = Counter()
    while tried.total() < count:
        layout = random_layout(rng)
        found = certify(layout)
        assert found.holds, (layout, found.reason)
        assert found.rules == RULES
        for name, mutant in mutants(layout, rng):
            refused = certify(mutant)
            assert not refused.holds, (name, mutant)
            assert refused.reason
            tried[name] += 1
    assert len(tried) > 40


def over_ranks(layout: Layout, size: int, rng: np.random.Generator) -> list[Certificate]:
    """The verdicts of the ranks, each with some rows, some edges and some of the listed ones."""
    cuts = rng.integers(0, layout.graph.num_vertices + 1, size - 1).tolist()
    bounds = bounds_of(cuts, layout.graph.num_vertices)
    shards = split(layout.graph, bounds)
    edges, listed = [rng.integers(0, size, len(part.src)) for part in (layout.edges, layout.claim.dropped)]

    def work(ranks: Communicator) -> Certificate:
        own = slice(int(bounds[ranks.rank]), int(bounds[ranks.rank + 1]))
        claim = replace(
            layout.claim, out_degrees=layout.claim.out_degrees[own], in_degrees=layout.claim.in_degrees[own],
            dropped=layout.claim.dropped.take(np.flatnonzero(listed == ranks.rank)),
        )  # fmt: skip
        mine = replace(layout, edges=layout.edges.take(np.flatnonzero(edges == ranks.rank)), claim=claim)
        return certify(mine, shards[ranks.rank], ranks)

    return run_ranks(size, work, DEADLINE)


UNSPLIT = (
    "index",
    "type of indices",
    "fewer indices",
    "more weights",
    "fewer weights",
    "fewer offsets",
    "offsets",
    "rows_by_id",
    "no weights",
)


@pytest.mark.parametrize("count", MUTANTS_OVER_RANKS)
def test_every_wrong_layout_is_refused_over_ranks(count):
    """Arrays from which no shards can be made are left out."""
    rng = np.random.default_rng(count)
    tried = 0
    while tried < count:
        layout, size = random_layout(rng), int(rng.integers(2, 5))
        if not layout.graph.num_vertices:
            continue
        assert all(found.holds for found in over_ranks(layout, size, rng)), (layout, over_ranks(layout, size, rng))
        wrong = [(name, mutant) for name, mutant in mutants(layout, rng) if not name.startswith(UNSPLIT)]
        for number in rng.permutation(len(wrong))[:8]:
            found = over_ranks(wrong[number][1], size, rng)
            assert not any(verdict.holds for verdict in found), wrong[number]
            assert len({verdict.reason for verdict in found}) == 1
            tried += 1


def test_edges_that_a_layout_does_not_have_are_named():
    """The same stored graph for other edges: the message says what is wrong with which vertex or edge."""
    edges = Edges(np.array([5, 7, 7, 9, 3]), np.array([7, 9, 9, 9, 5]), np.array([4, 3, 2, 1, 2], np.int32))
    rules = ArcRules(range(0), both=True, keep_self_loops=False, keep_parallel=False)
    layout = layout_of(edges, rules, None)
    assert certify(layout).holds

    def reason(src: list[int], dst: list[int], weights: list[int]) -> str:
        other = Edges(np.array(src), np.array(dst), np.array(weights, np.int32))
        return certify(replace(layout, edges=other)).reason

    assert (
        reason([5, 7, 7, 9, 3], [7, 9, 9, 9, 9], [4, 3, 2, 1, 2]) == "edge 9 - 3 of weight 2 has no stored arc that is no heavier"
    )
    assert (
        reason([5, 7, 7, 9, 3], [7, 9, 9, 9, 5], [4, 1, 2, 1, 2]) == "edge 9 - 7 of weight 1 has no stored arc that is no heavier"
    )
    assert reason([5, 7, 7, 9, 3], [7, 9, 9, 9, 5], [9, 3, 2, 1, 2]) == "a stored arc equals no edge"
    assert reason([5, 7, 7, 9, 4], [7, 9, 9, 9, 5], [4, 3, 2, 1, 2]) == "vertex 4 of an edge is not stored"
    assert reason([5, 7, 7, 3], [7, 9, 9, 5], [4, 3, 2, 2]) == "1 dropped self-loops are stated, 0 found"
    assert reason([5, 7, 7, 8, 3], [7, 9, 9, 9, 5], [4, 3, 2, 1, 2]) == "1 dropped self-loops are stated, 0 found"
    isolated = replace(layout_of(edges, ArcRules(range(3, 5), True, False, False), None), rules=rules)
    assert certify(isolated).reason == "vertex 4 is neither declared nor in an edge"


@pytest.mark.parametrize("weights", [np.array([0.0, -0.0, 1.5]), np.array([0.0, -0.0, 1.5], np.float32), np.array([0, 0, 2**40])])
def test_minus_zero_is_zero_and_wide_weights_are_compared(weights):
    layout = layout_of(Edges(np.array([1, 1, 2]), np.array([2, 2, 3]), weights), ArcRules(range(0), False, False, False), None)
    assert certify(layout).holds


def test_other_types_of_weights_are_refused():
    edges = Edges(np.array([1, 2]), np.array([2, 3]), np.array([1, 2**31 - 1]))
    rules = ArcRules(range(0), False, False, False)
    narrow = replace(edges, weights=edges.weights.astype(np.int32))
    assert certify(replace(layout_of(narrow, rules, None), edges=edges)).holds
    wide = replace(edges, weights=np.array([1, 2**31 + 1]))
    assert "do not fit" in certify(replace(layout_of(narrow, rules, None), edges=wide)).reason
    assert (
        "do not fit"
        in certify(replace(layout_of(narrow, rules, None), edges=replace(edges, weights=np.array([1.0, 2.0])))).reason
    )
    assert "have weights" in certify(replace(layout_of(narrow, rules, None), edges=replace(edges, weights=None))).reason


def test_a_large_layout_on_all_cores_holds_and_loses_no_arc():
    rng = np.random.default_rng(5)
    src, dst = np.minimum(*rng.integers(0, 50_000, (2, 600_000))), rng.integers(0, 50_000, 600_000)
    for both in (True, False):
        rules = ArcRules(range(0), both, False, False)
        layout = layout_of(Edges(src, dst, rng.integers(0, 99, 600_000)), rules, 2**62)
        assert layout.claim.parallel_arcs_dropped
        assert certify(layout).holds
        weights = layout.edges.weights.copy()
        weights[rng.integers(len(weights))] += 1
        assert not certify(replace(layout, edges=replace(layout.edges, weights=weights))).holds
