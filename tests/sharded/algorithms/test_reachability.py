"""The reachability index over shards: the bytes of a single rank's index, for any bounds of the rows."""

import functools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import new_york, random_digraph, wiki_vote
from kernels.distributed.shard import Shard
from kernels.distributed.threads import run_ranks
from kernels.graph import Csr, Graph
from kernels.reachability import ReachabilityIndex
from kernels.reachability import reachability as reachability_on_one_rank
from kernels.reachability.certificate import certify_reachability
from kernels.reachability.sharded import reachability
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import digraph
from tests.sharded.indexes import assert_index, layered, sparse_digraph
from tests.sharded.ranks import SOME_SIZES, bounds_of, evenly, on_shards
from tests.sharded.shards import even_bounds, split
from tests.sharded.test_memory import RANKS, peak

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges) -> None:
    graph = graph_of(edges, random.Random(3).sample(edges.ids, len(edges.ids)))
    expected = reachability_on_one_rank(graph, 5, 2)
    for size in SOME_SIZES:
        assert_index(evenly(reachability, graph, size, 5, 2), expected)


@st.composite
def edge_lists(draw):
    vertices = st.integers(0, draw(st.integers(0, 20))).map(lambda number: number * 8 % 21)
    edges = tuple(draw(st.lists(st.tuples(vertices, vertices), max_size=50)))
    return EdgeList("random", edges, draw(st.booleans()), tuple(draw(st.lists(vertices, max_size=3))))


@settings(max_examples=examples(150))
@given(
    edge_lists(), st.lists(st.integers(0, 21), max_size=7), st.randoms(use_true_random=False), st.integers(1, 4),
    st.integers(0, 2**64 - 1),
)  # fmt: skip
def test_random_graphs_cut_anywhere(edges, cuts, shuffle, dimensions, seed) -> None:
    graph = graph_of(edges, shuffle.sample(edges.ids, len(edges.ids)))
    parts = on_shards(reachability, graph, bounds_of(cuts, graph.num_vertices), dimensions, seed)
    assert_index(parts, reachability_on_one_rank(graph, dimensions, seed))


@functools.cache
def solved(load) -> tuple[Graph, ReachabilityIndex]:
    graph = load()
    return graph, reachability_on_one_rank(graph, 4, 7)


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize(
    "load",
    [
        functools.partial(layered, 12, 1000, 3),
        functools.partial(layered, 80, 60, 2),
        functools.partial(layered, 120, 60, 2, 1),
        functools.partial(sparse_digraph, 0.8),
        functools.partial(sparse_digraph, 1.3),
        functools.partial(random_digraph, 1 << 12),
        wiki_vote,
    ],
)
def test_larger_graphs(load, size) -> None:
    graph, expected = solved(load)
    assert_index(evenly(reachability, graph, size, 4, 7), expected)


def test_the_concatenated_index_is_proved() -> None:
    graph = sparse_digraph(0.9)
    expected = reachability_on_one_rank(graph)
    assert_index(evenly(reachability, graph, 7), expected)
    assert certify_reachability(graph, expected).holds


def test_a_graph_that_is_one_component() -> None:
    graph = new_york()
    assert_index(evenly(reachability, graph, 3), reachability_on_one_rank(graph))


def test_hubs_and_a_long_path() -> None:
    rest = np.arange(1, 3001)
    hub = np.zeros_like(rest)
    for src, dst in ((hub, rest), (rest, hub), (np.where(rest < 1500, rest, 0), np.where(rest < 1500, 0, rest))):
        graph = digraph(src, dst, 3001)
        assert_index(evenly(reachability, graph, 3), reachability_on_one_rank(graph))
    path = digraph(np.arange(200_000 - 1), np.arange(1, 200_000), 200_000)
    parts = evenly(reachability, path, 8)
    assert_index(parts, reachability_on_one_rank(path))
    assert parts[0].supersteps < 100


def test_a_path_that_alternates_between_ranks() -> None:
    ids = np.random.default_rng(0).permutation(300)
    path = digraph(ids[:-1], ids[1:], 300)
    assert_index(evenly(reachability, path, 4), reachability_on_one_rank(path))


def test_ten_runs_are_equal_to_the_byte() -> None:
    graph = layered(30, 200, 3)
    runs = [evenly(reachability, graph, 4) for _ in range(10)]
    assert len({b"".join(part.answer.index.labels.low.tobytes() for part in run) for run in runs}) == 1


def test_all_ranks_together_take_little_more_memory_than_one() -> None:
    graph = layered(10, 2400, 2, 1)
    evenly(reachability, graph, 2)  # compiles

    def run(size: int) -> int:
        shards = split(graph, even_bounds(graph, size))
        return peak(lambda: run_ranks(size, lambda ranks: reachability(shards[ranks.rank], ranks)))

    assert run(RANKS) < 2 * run(1)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"method": "dfs"}, "method 'dfs' needs a single rank"),
        ({"dimensions": 0}, "0 dimensions; at least 1 is needed"),
        ({"seed": -1}, "seed -1 is not in"),
    ],
)
def test_invalid_arguments(arguments: dict[str, Any], reason: str) -> None:
    graph = layered(3, 3, 1)
    with pytest.raises(ValueError, match=f"reachability over shards: {reason}"):
        run_ranks(2, lambda ranks: reachability(split(graph, even_bounds(graph, 2))[ranks.rank], ranks, **arguments))


def test_arrays_of_another_backend() -> None:
    lists, more = Csr([0], [], None), Csr([0], [], None)
    shard = Shard(0, np.zeros(2, np.int64), [], [], lists, more, [], [], directed=True)
    with pytest.raises(TypeError, match=r"reachability over shards: arrays of type builtins\.list"):
        run_ranks(1, functools.partial(reachability, shard))
