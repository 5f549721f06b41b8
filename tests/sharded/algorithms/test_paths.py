"""Paths over shards equal those of the kernels for one rank, to the byte, for any number of shards."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import facebook, grid, new_york, random_digraph, wiki_vote
from kernels import bfs as single_rank_bfs
from kernels import sssp as single_rank_sssp
from kernels.bfs.sharded import bfs
from kernels.distributed.shard import ShardAnswer
from kernels.distributed.threads import run_ranks
from kernels.graph import Graph
from kernels.sssp.sharded import sssp
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import DEADLINE, SOME_SIZES, bounds_of, evenly, on_shards, whole
from tests.sharded.shards import split

pytestmark = pytest.mark.sampled

KERNELS = ((bfs, single_rank_bfs.bfs), (sssp, single_rank_sssp.sssp))


def require_same(parts: list[ShardAnswer], expected) -> None:  # type: ignore[no-untyped-def]
    for name in ("distance", "predecessor"):
        found, wanted = whole(parts, name), getattr(expected, name)
        assert found.dtype == wanted.dtype
        assert found.tobytes() == wanted.tobytes()
    assert {part.answer.source for part in parts} == {expected.source}
    assert len({part.supersteps for part in parts}) == 1


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if edges.ids], ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, size: int) -> None:
    few = len(edges.ids) < 200  # in random order, a long path crosses a shard border at every row
    order = random.Random(5).sample(edges.ids, len(edges.ids)) if few else edges.ids
    for dtype in (np.int64, np.float64) if size in {2, 7} else (np.int64,):
        graph = graph_of(edges, order, dtype)
        for source in range(0, graph.num_vertices, graph.num_vertices // 3 + 1):
            for kernel, expected in KERNELS:
                require_same(evenly(kernel, graph, size, source), expected(graph, source))


@given(
    st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15), st.integers(0, 3)), min_size=1, max_size=60),
    st.booleans(),
    st.sampled_from([np.int32, np.int64, np.float32, np.float64]),
    st.lists(st.integers(0, 16), max_size=7),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(150))
def test_random_graphs_cut_anywhere(arcs, directed: bool, dtype: type, cuts: list[int], chance: random.Random) -> None:  # type: ignore[no-untyped-def]
    edges = EdgeList("random", tuple(arcs), directed)
    graph = uncleaned(edges, chance.sample(edges.ids, len(edges.ids)), dtype)
    source = chance.randrange(graph.num_vertices)
    for kernel, expected in KERNELS:
        require_same(on_shards(kernel, graph, bounds_of(cuts, graph.num_vertices), source), expected(graph, source))


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize("make", [new_york, facebook, wiki_vote, lambda: random_digraph(1 << 13)])
def test_real_and_generated_graphs(make, size: int) -> None:  # type: ignore[no-untyped-def]
    graph = make()
    source = graph.num_vertices // 3
    for kernel, expected in KERNELS:
        require_same(evenly(kernel, graph, size, source), expected(graph, source))


def test_more_shards_than_vertices() -> None:
    edges = EdgeList("two", ((4, 9, 3),))
    graph = graph_of(edges)
    for kernel, expected in KERNELS:
        require_same(evenly(kernel, graph, 8, 0), expected(graph, 0))


def zero_chain(length: int, order: list[int] | None = None) -> Graph:
    """A long path of arcs of length zero with shortcuts; steps, not distances, decide its predecessors."""
    arcs = [(i, i + 1, 0) for i in range(length)] + [(i, i + 50, 0) for i in range(0, length - 50, 97)] + [(length + 1, 0, 5)]
    return graph_of(EdgeList("zero_chain", tuple(arcs), directed=False), order)


@pytest.mark.parametrize("length", [30, 1000])
def test_arcs_of_length_zero(length: int) -> None:
    vertices = list(range(length + 2))
    for order in (vertices, vertices[::-1], random.Random(length).sample(vertices[:32], 32) + vertices[32:]):
        graph = zero_chain(length, order)
        source = order.index(length + 1)
        require_same(evenly(sssp, graph, 4, source), single_rank_sssp.sssp(graph, source))


@pytest.mark.parametrize("size", SOME_SIZES)
def test_an_arc_of_length_zero_from_a_farther_row_is_not_followed(size: int) -> None:
    """3 is two arcs of length zero from 1; 4, which has an arc of length zero to 3, is farther from the source."""
    graph = graph_of(EdgeList("farther", ((9, 1, 3), (1, 2, 0), (2, 3, 0), (9, 4, 5), (4, 3, 0))))
    parts = evenly(sssp, graph, size, 4)
    require_same(parts, single_rank_sssp.sssp(graph, 4))
    assert whole(parts, "predecessor").tolist() == [4, 0, 1, 4, -1]


def test_a_road_network_takes_few_supersteps() -> None:
    """A path in the order of its rows crosses each border once, and what is sent last lowers nothing. It has 2000 levels."""
    path = graph_of(EdgeList("path", tuple((i, i + 1, 2) for i in range(2000)), directed=False))
    assert [evenly(kernel, path, 4, 0)[0].supersteps for kernel, _ in KERNELS] == [5, 5]
    roads = grid(120)
    require_same(evenly(bfs, roads, 4, 40), single_rank_bfs.bfs(roads, 40))
    assert evenly(bfs, roads, 4, 40)[0].supersteps <= 8  # the grid has 199 levels from there
    assert evenly(sssp, roads, 4, 40)[0].supersteps <= 20
    assert evenly(sssp, zero_chain(3000), 4, 3001)[0].supersteps <= 12


def test_a_social_network_takes_no_more_supersteps_than_levels() -> None:
    graph = facebook()
    parts = evenly(bfs, graph, 4, 0)
    assert 2 <= parts[0].supersteps <= int(whole(parts, "distance").max()) + 1


@pytest.mark.parametrize(("dtype", "weight"), [(np.int64, 2**62), (np.float64, 1.5e308), (np.int64, 2**63 - 1)])
def test_a_distance_that_does_not_fit_is_refused_by_all_ranks(dtype: type, weight: float) -> None:
    graph = graph_of(EdgeList("too_far", tuple((i, i + 1, weight) for i in range(8)), directed=False), dtype=dtype)
    shards = split(graph, np.array([0, 2, 4, 6, 9]))

    def attempt(ranks):  # type: ignore[no-untyped-def]
        with pytest.raises(OverflowError, match="a distance exceeds the largest"):
            sssp(shards[ranks.rank], ranks, 0)
        return True

    assert run_ranks(4, attempt, DEADLINE) == [True] * 4


def test_the_largest_distance_fits() -> None:
    graph = graph_of(EdgeList("just", ((0, 1, 2**62), (1, 2, 2**62 - 1))))
    require_same(evenly(sssp, graph, 3, 0), single_rank_sssp.sssp(graph, 0))
    assert whole(evenly(sssp, graph, 3, 0), "distance").tolist() == [0, 2**62, 2**63 - 1]


@pytest.mark.parametrize("kernel", [bfs, sssp])
@pytest.mark.parametrize("row", [-1, 7])
def test_a_source_that_is_not_a_row_is_refused(kernel, row: int) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(IndexError, match=f"row {row} is not in 0..6"):
        evenly(kernel, graph_of(NAMED_GRAPHS[-1]), 2, row)
