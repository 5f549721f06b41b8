"""Shards: own rows, arcs, ghosts and the exchange of ghost values."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.distributed.halo import Halo
from kernels.distributed.shard import LocalArcs
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SOME_SIZES, bounds_of
from tests.sharded.shards import even_bounds, split

pytestmark = pytest.mark.sampled


def shuffled(edges: EdgeList) -> Graph:
    return graph_of(edges, random.Random(3).sample(edges.ids, len(edges.ids)))


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_a_shard_has_its_rows_their_arcs_and_their_ghosts(edges: EdgeList, size: int) -> None:
    graph = shuffled(edges)
    bounds = even_bounds(graph, size)
    assert bounds[0] == 0
    assert bounds[-1] == graph.num_vertices
    shards = split(graph, bounds)
    assert [row for shard in shards for row in shard.rows] == list(range(graph.num_vertices))
    for shard in shards:
        rows = slice(shard.rows.start, shard.rows.stop)
        np.testing.assert_array_equal(shard.ids, graph.ids[rows])
        np.testing.assert_array_equal(shard.positions, graph.positions[rows])
        assert shard.symmetric == graph.symmetric
        ends = set()
        for csr, local, of_all in ((shard.out, shard.local_out, graph.out), (shard.into, shard.local_into, graph.into)):
            csr.validate(graph.num_vertices, len(shard.rows))
            local.validate(max(len(shard.local_rows), 1), len(shard.rows))
            shard.with_ghosts(local).validate(max(len(shard.local_rows), 1), len(shard.local_rows))
            arcs = slice(*of_all.offsets[[rows.start, rows.stop]])
            np.testing.assert_array_equal(csr.indices, of_all.indices[arcs])
            np.testing.assert_array_equal(np.diff(csr.offsets), np.diff(of_all.offsets)[rows])
            np.testing.assert_array_equal(shard.local_rows[local.indices], csr.indices)
            kept = LocalArcs(local, shard.rows.start, len(shard.rows), shard.ghosts)
            np.testing.assert_array_equal(kept.indices, csr.indices)
            np.testing.assert_array_equal(kept.offsets, csr.offsets)
            assert (csr.weights is None) == (of_all.weights is None)
            assert csr.weights is None or np.array_equal(csr.weights, of_all.weights[arcs])
            ends |= set(csr.indices.tolist())
        assert shard.ghosts.tolist() == sorted(ends - set(shard.rows))
        np.testing.assert_array_equal(shard.ghost_positions, graph.positions[shard.ghosts])
        for owner, ghosts in enumerate(shard.by_owner(shard.ghosts)):
            assert set(ghosts.tolist()) <= set(shards[owner].rows)


@given(st.lists(st.integers(0, 45), max_size=9), st.randoms(use_true_random=False))
@settings(max_examples=examples(40))
def test_ghosts_get_their_owners_values_and_owners_the_minimum_of_ghosts(cuts: list[int], chance: random.Random) -> None:
    edges = EdgeList("random", tuple((chance.randrange(40), chance.randrange(40)) for _ in range(60)))
    graph = graph_of(edges)
    shards = split(graph, bounds_of(cuts, graph.num_vertices))
    values = np.array([chance.randrange(1000) for _ in graph.ids])
    proposals = [np.array([chance.randrange(1000) for _ in shard.ghosts], np.int64) for shard in shards]
    proposed_ghosts = [np.flatnonzero([chance.random() < 0.6 for _ in shard.ghosts]) for shard in shards]

    def swap(ranks):  # type: ignore[no-untyped-def]
        shard = shards[ranks.rank]
        halo = Halo(shard, ranks)
        own = values[shard.rows.start : shard.rows.stop].copy()
        extended = halo.extended(own)
        lowered = np.concatenate([own, proposals[shard.rank]])
        return extended, halo.lower(lowered, proposed_ghosts[shard.rank]), lowered[: len(own)]

    least = values.copy()
    for shard, proposed, places in zip(shards, proposals, proposed_ghosts, strict=True):
        np.minimum.at(least, shard.ghosts[places], proposed[places])
    for shard, (extended, lowered_rows, own) in zip(shards, run_ranks(len(shards), swap), strict=True):
        np.testing.assert_array_equal(extended, values[shard.local_rows])
        rows = slice(shard.rows.start, shard.rows.stop)
        np.testing.assert_array_equal(own, least[rows])
        np.testing.assert_array_equal(lowered_rows, np.flatnonzero(least[rows] < values[rows]))


def test_a_row_belongs_to_one_shard() -> None:
    shards = split(shuffled(NAMED_GRAPHS[-1]), np.array([0, 3, 3, 7]))
    assert [[shard.own_numbers(row).tolist() for shard in shards] for row in (0, 4)] == [[[0], [], []], [[], [], [1]]]
    shards[1].require_row(6)
    for row in (-1, 7):
        with pytest.raises(IndexError, match=f"row {row} is not in 0..6"):
            shards[1].require_row(row)
