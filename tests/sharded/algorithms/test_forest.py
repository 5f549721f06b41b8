"""The minimum spanning forest over shards: the same edges and labels as on a single rank, to the byte, for any bounds."""

import functools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import facebook, graph_of_arcs, graph_of_edges, grid, new_york, random_digraph, rmat, wiki_vote
from kernels.answers import Forest
from kernels.distributed.shard import Shard
from kernels.distributed.threads import run_ranks
from kernels.forest import minimum_spanning_forest as single_rank
from kernels.forest.sharded import minimum_spanning_forest
from kernels.graph import Csr, Graph
from tests.answers import true_forest, uncleaned
from tests.counts import examples, in_turn
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of
from tests.sharded.ranks import SOME_SIZES, assert_forest, bounds_of, evenly, on_shards, whole
from tests.sharded.test_memory import growth

pytestmark = pytest.mark.sampled

GATHER_NONE = 0  # every tree is joined by rounds
DTYPES = (np.int32, np.int64, np.float32, np.float64)


@pytest.mark.parametrize(
    ("edges", "dtype"),
    [
        pytest.param(edges, dtype, id=f"{edges.name}-{dtype.__name__}")
        for edges, dtype in in_turn(3, NAMED_GRAPHS, DTYPES)
        if all(np.array(weight).astype(dtype) == weight for weight in edges.arcs().values())
    ],
)
def test_named_graphs(edges, dtype) -> None:
    graph = graph_of(edges, random.Random(4).sample(edges.ids, len(edges.ids)), dtype)
    expected = true_forest(edges, graph)
    for size in SOME_SIZES if dtype is np.int64 else (2, 7):
        assert_forest(graph, evenly(minimum_spanning_forest, graph, size), expected)
        assert_forest(graph, evenly(minimum_spanning_forest, graph, size, GATHER_NONE), expected)


def test_the_lighter_of_two_opposite_arcs_is_the_edge() -> None:
    edges = EdgeList("asymmetric", ((1, 2, 9), (2, 1, 4), (2, 3, 1), (3, 2, 8), (1, 3, 6), (3, 1, 5)))
    for seed in range(6):
        graph = graph_of(edges, random.Random(seed).sample(edges.ids, 3))
        assert_forest(graph, on_shards(minimum_spanning_forest, graph, bounds_of([1, 2], 3)), true_forest(edges, graph))


@st.composite
def edge_lists(draw):
    vertices = st.integers(0, draw(st.integers(0, 16))).map(lambda place: place * 7 % 17)
    ends = draw(st.lists(st.tuples(vertices, vertices), max_size=60))
    weighted, weights = draw(st.booleans()), st.integers(0, 4)
    edges = tuple((*pair, draw(weights)) if weighted else pair for pair in ends)
    return EdgeList("random", edges, draw(st.booleans()), tuple(draw(st.lists(vertices, max_size=3))))


@settings(max_examples=examples(100))
@given(edge_lists(), st.lists(st.integers(0, 17), max_size=7), st.randoms(use_true_random=False))
def test_random_graphs_with_many_equal_weights_with_any_bounds(edges, cuts, shuffle) -> None:
    order = shuffle.sample(edges.ids, len(edges.ids))
    for graph in (graph_of(edges, order), uncleaned(edges, order)):
        expected, bounds = true_forest(edges, graph), bounds_of(cuts, graph.num_vertices)
        for gathered in (GATHER_NONE, 3, 1 << 16):
            assert_forest(graph, on_shards(minimum_spanning_forest, graph, bounds, gathered), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_dense_graphs(dtype, symmetric) -> None:
    numbers = np.random.default_rng(11)
    src, dst = numbers.integers(1 << 11, size=(2, 1 << 15))
    for largest in (1, 5, 10_000):
        weights = numbers.integers(0, largest, 1 << 15).astype(dtype)
        graph = graph_of_edges(src, dst, weights, 2_100) if symmetric else graph_of_arcs(src, dst, weights, 2_100, False)
        for size in (2, 7):
            assert_forest(graph, evenly(minimum_spanning_forest, graph, size, 1_000), single_rank(graph))


@functools.cache
def solved(load) -> tuple[Graph, Forest]:
    graph = load()
    return graph, single_rank(graph)


@pytest.mark.parametrize("size", SOME_SIZES)
@pytest.mark.parametrize(
    "load",
    [
        new_york,
        functools.partial(grid, 300),
        facebook,
        wiki_vote,
        functools.partial(rmat, 13),
        functools.partial(random_digraph, 1 << 12),
    ],
)
def test_larger_graphs_equal_a_single_rank(load, size) -> None:
    graph, expected = solved(load)
    for gathered in (GATHER_NONE, 1 << 16):
        assert_forest(graph, evenly(minimum_spanning_forest, graph, size, gathered), expected)


@pytest.mark.parametrize("weight", [lambda places: places, lambda places: places[::-1], np.ones_like, np.zeros_like])
def test_a_path_of_a_million_vertices(weight) -> None:
    places = np.arange(999_999)
    graph = graph_of_edges(places, places + 1, weight(places), 1_000_000)
    parts = evenly(minimum_spanning_forest, graph, 8)
    np.testing.assert_array_equal(whole(parts, "src"), places)
    np.testing.assert_array_equal(whole(parts, "dst"), places + 1)
    np.testing.assert_array_equal(whole(parts, "weights"), weight(places))
    assert not whole(parts, "labels").any()


def test_a_road_network_takes_four_supersteps() -> None:
    for load in (new_york, functools.partial(grid, 300)):
        assert [part.supersteps for part in evenly(minimum_spanning_forest, load(), 8)] == [4] * 8


def test_rounds_grow_with_the_logarithm_of_the_length() -> None:
    """On a path whose edges all lead to the other rank, every round at least doubles each tree."""
    rows = np.arange(4_096).reshape(2, -1).T.ravel()
    weights = np.random.default_rng(2).permutation(4_095)
    graph = graph_of_edges(rows[:-1], rows[1:], weights, 4_096)
    parts = on_shards(minimum_spanning_forest, graph, bounds_of([2_048], 4_096), GATHER_NONE)
    assert_forest(graph, parts, single_rank(graph))
    assert parts[0].supersteps < 12 * 12


def test_ten_runs_give_the_same_bytes() -> None:
    graph = random_digraph(1 << 12, 4)
    runs = [evenly(minimum_spanning_forest, graph, 4, 100) for _ in range(10)]
    assert len({tuple(whole(parts, name).tobytes() for name in vars(parts[0].answer)) for parts in runs}) == 1


def test_all_ranks_together_take_little_more_memory_than_one() -> None:
    """One rank joins nothing with others, and takes 53 bytes for each row here; each of 16 takes 115 for its own."""
    assert growth(minimum_spanning_forest) < 2.25
    assert growth(minimum_spanning_forest, GATHER_NONE) < 2.25


def test_64_bit_rows_give_the_same_answer() -> None:
    graph = graph_of(FIGURE_1)
    wide = Csr(graph.out.offsets, graph.out.indices.astype(np.int64), graph.out.weights)
    wide_graph = Graph(graph.ids, graph.rows_by_id.astype(np.int64), wide, wide, graph.directed)
    assert_forest(wide_graph, evenly(minimum_spanning_forest, wide_graph, 3), single_rank(wide_graph))


def test_unsupported_array_types_are_refused() -> None:
    lists = Csr([0], [], None)
    shard = Shard(0, np.zeros(2, np.int64), [], [], lists, lists, [], [], directed=True)
    with pytest.raises(TypeError, match=r"minimum_spanning_forest over shards: arrays of type builtins\.list"):
        run_ranks(1, functools.partial(minimum_spanning_forest, shard))
