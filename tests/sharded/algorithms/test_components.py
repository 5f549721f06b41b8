"""Weak and strong components over shards: the same labels as on a single rank, to the byte, for any bounds of the ranks."""

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import graph_of_arcs, grid, new_york, random_digraph, rmat, wiki_vote
from kernels.answers import Components
from kernels.distributed.shard import Shard
from kernels.distributed.threads import run_ranks
from kernels.graph import Csr, Graph
from kernels.scc import scc as single_rank_scc
from kernels.scc.sharded import scc
from kernels.wcc import wcc as single_rank_wcc
from kernels.wcc.sharded import wcc
from tests.answers import true_strong, true_weak, uncleaned
from tests.counts import examples, in_turn
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SOME_SIZES, bounds_of, evenly, on_shards, whole
from tests.sharded.shards import even_bounds, split
from tests.sharded.test_memory import RANKS, growth, peak

pytestmark = pytest.mark.sampled

GATHER_NONE = 0  # every tree is joined by rounds


def assert_labels(parts, expected) -> None:
    labels = whole(parts, "labels")
    np.testing.assert_array_equal(labels, expected.labels)
    assert labels.dtype == expected.labels.dtype
    assert len({part.supersteps for part in parts}) == 1


@pytest.mark.parametrize(
    ("edges", "make"), in_turn(2, NAMED_GRAPHS, [graph_of, uncleaned]), ids=lambda value: getattr(value, "name", None)
)
def test_named_graphs(edges, make) -> None:
    graph = make(edges, random.Random(3).sample(edges.ids, len(edges.ids)))
    weak, strong = true_weak(edges, graph), true_strong(edges, graph) if edges.directed else true_weak(edges, graph)
    for size in SOME_SIZES if make is graph_of else (2, 7):
        assert_labels(evenly(wcc, graph, size), weak)
        assert_labels(evenly(wcc, graph, size, GATHER_NONE), weak)
        assert_labels(evenly(scc, graph, size), strong)


@st.composite
def edge_lists(draw):
    vertices = st.integers(0, draw(st.integers(0, 20))).map(lambda place: place * 8 % 21)
    edges = tuple(draw(st.lists(st.tuples(vertices, vertices), max_size=50)))
    return EdgeList("random", edges, draw(st.booleans()), tuple(draw(st.lists(vertices, max_size=3))))


@settings(max_examples=examples(150))
@given(edge_lists(), st.lists(st.integers(0, 21), max_size=7), st.randoms(use_true_random=False))
def test_random_graphs_with_any_bounds(edges, cuts, shuffle) -> None:
    graph = uncleaned(edges, shuffle.sample(edges.ids, len(edges.ids)))
    bounds = bounds_of(cuts, graph.num_vertices)
    assert_labels(on_shards(wcc, graph, bounds), true_weak(edges, graph))
    assert_labels(on_shards(wcc, graph, bounds, 3), true_weak(edges, graph))
    assert_labels(on_shards(scc, graph, bounds), true_strong(edges, graph))


def sparse_digraph(degree: float) -> Graph:
    """Directed, with a giant weak component from degree 1 and a giant strong one above it."""
    numbers = np.random.default_rng(int(10 * degree))
    src, dst = numbers.integers(30_000, size=(2, int(30_000 * degree)))
    return graph_of_arcs(src, dst, None, 30_000, symmetric=False)


@functools.cache
def solved(load) -> tuple[Graph, Components, Components]:
    graph = load()
    return graph, single_rank_wcc(graph), single_rank_scc(graph)


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize(
    "load",
    [
        *(functools.partial(sparse_digraph, degree) for degree in (0.5, 1.1, 1.5, 3)),
        new_york,
        functools.partial(grid, 300),
        wiki_vote,
        functools.partial(rmat, 13),
        functools.partial(random_digraph, 1 << 12),
    ],
)
def test_larger_graphs_equal_a_single_rank(load, size) -> None:
    graph, weak, strong = solved(load)
    assert_labels(evenly(wcc, graph, size), weak)
    assert_labels(evenly(wcc, graph, size, GATHER_NONE), weak)
    assert_labels(evenly(scc, graph, size), strong)


@pytest.mark.parametrize("step", [1, -1])
def test_a_path_and_a_cycle_of_a_million_vertices(step) -> None:
    rows = np.arange(1_000_000)
    next_rows = np.roll(rows, -step)
    ends = rows[:-1] if step == 1 else rows[1:]
    path = graph_of_arcs(ends, next_rows[ends], None, len(rows), symmetric=False)
    assert not whole(evenly(wcc, path, 8), "labels").any()
    np.testing.assert_array_equal(whole(evenly(scc, path, 8), "labels"), rows)
    cycle = graph_of_arcs(rows, next_rows, None, len(rows), symmetric=False)
    assert not whole(evenly(wcc, cycle, 8), "labels").any()
    assert not whole(evenly(scc, cycle, 8), "labels").any()


def test_a_chain_that_alternates_between_two_ranks_is_one_component() -> None:
    """Each local component has one row, so that all work is done between the ranks."""
    places = np.arange(5_000)
    rows = np.where(places % 2, 2_500 + places // 2, places // 2)
    order = np.random.default_rng(5).permutation(2_500)
    rows = np.where(rows < 2_500, order[rows % 2_500], 2_500 + order[rows % 2_500])
    graph = graph_of_arcs(rows[:-1], rows[1:], None, 5_000, symmetric=False)
    for gathered in (GATHER_NONE, 100):
        parts = on_shards(wcc, graph, bounds_of([2_500], 5_000), gathered)
        assert not whole(parts, "labels").any()
        assert parts[0].supersteps < 200


@pytest.mark.parametrize("order", ["ascending", "descending", "nested"])
def test_many_small_strong_components_in_a_chain_take_few_rounds(order) -> None:
    """Triangles of rows of three ranks: no rank has all arcs of one, none is trimmed, and rounds by id might find one each.

    A search along the chain takes as many supersteps as the chain has rows. A few rounds of two searches are allowed.
    """
    count = 100
    places = np.arange(count)
    if order == "descending":
        places = places[::-1]
    if order == "nested":
        places = np.concatenate([places[::2], places[1::2][::-1]])
    first, second, third = (places + corner * count for corner in range(3))
    arcs = [(first, second), (second, third), (third, first), (third[:-1], first[1:])]
    src, dst = (np.concatenate([arc[end] for arc in arcs]) for end in (0, 1))
    graph = graph_of_arcs(src, dst, None, 3 * count, symmetric=False)
    parts = on_shards(scc, graph, bounds_of([count, 2 * count], 3 * count))
    np.testing.assert_array_equal(whole(parts, "labels"), np.tile(np.arange(count), 3))
    assert parts[0].supersteps < 5 * 2 * 3 * count


@pytest.mark.parametrize("load", [new_york, functools.partial(grid, 300)])
def test_a_road_network_takes_two_supersteps(load) -> None:
    for kernel in (wcc, scc):
        assert [part.supersteps for part in evenly(kernel, load(), 8)] == [2] * 8


def test_ten_runs_give_the_same_bytes() -> None:
    graph = sparse_digraph(1.5)
    assert len({whole(evenly(wcc, graph, 4, 100), "labels").tobytes() for _ in range(10)}) == 1
    assert len({whole(evenly(scc, graph, 4), "labels").tobytes() for _ in range(10)}) == 1


def test_all_ranks_together_take_little_more_memory_than_one() -> None:
    assert growth(wcc) < 2
    assert growth(wcc, GATHER_NONE) < 2


def one_way_streets(side: int) -> Graph:
    """A grid whose lines and columns alternate in direction; it is one strong component."""
    rows = np.arange(side * side).reshape(side, side)
    steps = [(rows[:, :-1], rows[:, 1:]), (rows[:-1], rows[1:])]
    arcs = []
    for near, far in (steps[0], [ends.T for ends in steps[1]]):
        arcs += [(near[::2], far[::2]), (far[1::2], near[1::2])]
    src, dst = (np.concatenate([arc[end].ravel() for arc in arcs]) for end in (0, 1))
    return graph_of_arcs(src, dst, None, side * side, symmetric=False)


def test_strong_components_on_all_ranks_take_little_more_memory_than_on_one() -> None:
    graph = one_way_streets(96)
    assert_labels(evenly(scc, graph, 7), single_rank_scc(graph))

    def run(size: int) -> int:
        shards = split(graph, even_bounds(graph, size))
        return peak(lambda: run_ranks(size, lambda ranks: scc(shards[ranks.rank], ranks)))

    assert run(RANKS) < 2 * run(1)


@pytest.mark.parametrize("kernel", [wcc, scc])
def test_unsupported_array_types_are_refused(kernel) -> None:
    lists, more = Csr([0], [], None), Csr([0], [], None)
    shard = Shard(0, np.zeros(2, np.int64), [], [], lists, more, [], [], directed=True)
    with pytest.raises(TypeError, match=rf"{kernel.__name__} over shards: arrays of type builtins\.list"):
        run_ranks(1, functools.partial(kernel, shard))
