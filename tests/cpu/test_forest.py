"""The minimum spanning forest: exactly the edges that the order (weight, smaller end, larger end) asks for."""

import functools

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from benchmarks.graphs import facebook, graph_of_arcs, graph_of_edges, new_york, random_digraph, rmat
from kernels.answers import Forest
from kernels.forest import minimum_spanning_forest
from kernels.graph import Csr, Graph
from tests import oracles
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

DTYPES = (np.int32, np.int64, np.float32, np.float64)
true_forest = functools.cache(oracles.forest)


def in_ids(graph: Graph, forest: Forest) -> tuple[list[tuple[int, int, float]], dict[int, int]]:
    ends = (graph.ids[forest.src].tolist(), graph.ids[forest.dst].tolist())
    labels = dict(zip(graph.ids.tolist(), graph.ids[forest.labels].tolist(), strict=True))
    return list(zip(*ends, forest.weights.tolist(), strict=True)), labels


def orders(edges: EdgeList):
    return edges.ids, edges.ids[::-1], np.random.default_rng(3).permutation(edges.ids).tolist()


def scipy_forest(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends and weights by SciPy, with each edge's index in the order as its weight; rows are in the order of the ids."""
    near = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    src, dst = np.minimum(near, graph.out.indices), np.maximum(near, graph.out.indices)
    weights = np.ones(len(src), np.int64) if graph.out.weights is None else graph.out.weights
    order = np.lexsort((dst, src, weights))
    src, dst, weights = src[order], dst[order], weights[order]
    key = src * graph.num_vertices + dst
    lightest = np.unique(key, return_index=True)[1]
    places = csr_array((lightest + 1.0, (src[lightest], dst[lightest])), (graph.num_vertices,) * 2)
    chosen = minimum_spanning_tree(places).data.astype(np.int64) - 1
    chosen = chosen[np.argsort(key[chosen])]
    return src[chosen], dst[chosen], weights[chosen]


def assert_equals_scipy(graph: Graph) -> None:
    forest = minimum_spanning_forest(graph)
    for ours, theirs in zip((forest.src, forest.dst, forest.weights), scipy_forest(graph), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    near = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    shape = (graph.num_vertices,) * 2
    trees = connected_components(csr_array((np.ones(len(near)), (near, graph.out.indices)), shape), directed=False)[1]
    _, smallest = np.unique(trees, return_index=True)
    np.testing.assert_array_equal(forest.labels, smallest[trees])


@pytest.mark.parametrize(
    ("edges", "dtype"),
    [
        pytest.param(edges, dtype, id=f"{edges.name}-{dtype.__name__}")
        for edges in NAMED_GRAPHS
        for dtype in DTYPES
        if all(np.array(weight).astype(dtype) == weight for weight in edges.arcs().values())
    ],
)
def test_named_graphs_in_any_row_order(edges, dtype):
    for order in orders(edges):
        graph = graph_of(edges, order, dtype)
        forest = minimum_spanning_forest(graph)
        assert in_ids(graph, forest) == true_forest(edges)
        assert forest.weights.dtype == (dtype if edges.weighted else np.int64)
        assert forest.src.dtype == forest.dst.dtype == forest.labels.dtype == graph.rows_by_id.dtype


def test_figure_1_of_a_source_document():
    graph = graph_of(FIGURE_1)
    edges, labels = in_ids(graph, minimum_spanning_forest(graph))
    assert edges == [(0, 1, 4), (1, 4, 7), (2, 4, 5), (2, 6, 2), (3, 4, 3), (4, 5, 1)]
    assert sum(weight for *_, weight in edges) == 22
    assert set(labels.values()) == {0}


def test_the_lighter_of_two_opposite_arcs_is_the_edge():
    edges = EdgeList("asymmetric", ((1, 2, 9), (2, 1, 4), (2, 3, 1), (3, 2, 8), (1, 3, 6), (3, 1, 5)))
    for order in orders(edges):
        graph = graph_of(edges, order)
        assert in_ids(graph, minimum_spanning_forest(graph))[0] == [(1, 2, 4), (2, 3, 1)]


@st.composite
def edge_lists(draw, weights):
    vertices = st.integers(0, draw(st.integers(0, 12))).map(lambda place: place * 7 % 13)
    ends = draw(st.lists(st.tuples(vertices, vertices), max_size=60))
    weighted = draw(st.booleans())
    edges = tuple((*pair, draw(weights)) if weighted else pair for pair in ends)
    return EdgeList("random", edges, draw(st.booleans()), tuple(draw(st.lists(vertices, max_size=3))))


@settings(max_examples=examples(300))
@given(edge_lists(st.integers(0, 4)), st.randoms(use_true_random=False))
def test_random_graphs_with_many_equal_weights(edges, random):
    order = random.sample(edges.ids, len(edges.ids))
    for graph in (graph_of(edges, order), uncleaned(edges, order)):
        assert in_ids(graph, minimum_spanning_forest(graph)) == oracles.forest(edges)


@settings(max_examples=examples(100))
@given(edge_lists(st.floats(0, 100)))
def test_random_graphs_have_the_weight_that_networkx_finds(edges):
    graph = graph_of(edges, dtype=np.float64)
    peer = networkx.Graph()
    peer.add_nodes_from(edges.ids)
    for (src, dst), weight in sorted(edges.arcs().items(), key=lambda arc: -arc[1]):
        peer.add_edge(src, dst, weight=weight)  # the lightest last: it replaces the others
    expected = [weight for *_, weight in networkx.minimum_spanning_tree(peer).edges(data="weight")]
    assert sorted(minimum_spanning_forest(graph).weights.tolist()) == sorted(expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [True, False])
def test_dense_graphs_join_light_edges_first(dtype, symmetric):
    random = np.random.default_rng(11)
    src, dst = random.integers(1 << 11, size=(2, 1 << 15))
    for largest in (1, 5, 10_000):
        weights = random.integers(0, largest, 1 << 15).astype(dtype)
        graph = graph_of_edges(src, dst, weights, 2_100) if symmetric else graph_of_arcs(src, dst, weights, 2_100, False)
        assert_equals_scipy(graph)


@pytest.mark.parametrize("load", [new_york, facebook, functools.partial(rmat, 13), functools.partial(random_digraph, 1 << 12)])
def test_larger_graphs_equal_scipy(load):
    assert_equals_scipy(load())


@pytest.mark.parametrize("weight", [lambda places: places, lambda places: places[::-1], np.ones_like, np.zeros_like])
def test_a_path_of_a_million_vertices(weight):
    places = np.arange(999_999)
    weights = weight(places)
    graph = graph_of_edges(places, places + 1, weights, 1_000_000)
    forest = minimum_spanning_forest(graph)
    np.testing.assert_array_equal(forest.src, places)
    np.testing.assert_array_equal(forest.dst, places + 1)
    np.testing.assert_array_equal(forest.weights, weights)
    assert not forest.labels.any()


def test_memory_maps_and_64_bit_rows_give_the_same_answer(tmp_path):
    graph = graph_of(FIGURE_1)
    expected = in_ids(graph, minimum_spanning_forest(graph))

    def mapped(name, array):
        np.save(tmp_path / f"{name}.npy", array)
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    maps = Csr(*(mapped(name, array) for name, array in vars(graph.out).items()))
    copy = Graph(graph.ids, mapped("rows", graph.rows_by_id), maps, maps, graph.directed)
    assert in_ids(graph, minimum_spanning_forest(copy)) == expected
    wide = Csr(graph.out.offsets, graph.out.indices.astype(np.int64), graph.out.weights)
    forest = minimum_spanning_forest(Graph(graph.ids, graph.rows_by_id.astype(np.int64), wide, wide, graph.directed))
    assert in_ids(graph, forest) == expected
    assert forest.src.dtype == np.int64


def test_twenty_runs_give_the_same_bytes():
    graph = random_digraph(1 << 12, 4)
    runs = [minimum_spanning_forest(graph) for _ in range(20)]
    assert len({tuple(array.tobytes() for array in vars(forest).values()) for forest in runs}) == 1


def test_unsupported_array_types_are_refused():
    lists = Csr([0], [], None)
    with pytest.raises(TypeError, match=r"minimum_spanning_forest: arrays of type builtins\.list"):
        minimum_spanning_forest(Graph([], [], lists, lists, directed=True))
