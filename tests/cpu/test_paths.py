"""Breadth-first search and shortest paths on the CPU against slow oracles, NetworkX and SciPy."""

import random
from dataclasses import replace
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.graphs import graph_of_arcs, graph_of_edges, grid, new_york, random_digraph, rmat
from benchmarks.published import argmin
from kernels.answers import Paths
from kernels.bfs import bfs
from kernels.graph import NO_ROW, UNREACHED, Csr, Graph
from kernels.sssp import sssp
from tests import oracles
from tests.counts import examples
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

ORDERS = ("ascending", "descending", "shuffled")


def in_order(edges: EdgeList, order: str) -> list[int]:
    ids = edges.ids
    return {"ascending": ids, "descending": ids[::-1], "shuffled": random.Random(7).sample(ids, len(ids))}[order]


def in_ids(graph: Graph, paths: Paths) -> tuple[oracles.Distances, oracles.Predecessors]:
    """The answer in the form of the oracle: reached vertices only, as external ids."""
    ids = graph.ids.tolist()
    reached = np.flatnonzero(paths.distance != UNREACHED).tolist()
    assert (paths.predecessor[paths.distance == UNREACHED] == NO_ROW).all()
    rows = paths.predecessor.tolist()
    distance = dict(zip((ids[row] for row in reached), paths.distance[reached].tolist(), strict=True))
    return distance, {ids[row]: None if rows[row] == NO_ROW else ids[rows[row]] for row in reached}


def fits(edges: EdgeList, dtype: type) -> bool:
    weights = [edge[2] for edge in edges.edges if len(edge) == 3]
    return all(weight < 2**31 if dtype is np.int32 else int(dtype(weight)) == weight for weight in weights)


NAMED_AND_TYPED = [
    pytest.param(edges, dtype, id=f"{edges.name}-{dtype.__name__}")
    for edges in NAMED_GRAPHS
    for dtype in (np.int64, np.int32, np.float64, np.float32)
    if fits(edges, dtype)
]


@pytest.mark.parametrize("directed", [False, True])
def test_frontiers_of_few_rows_with_many_arcs(directed):
    """Behind the source are three hubs, then 3,000 leaves of which each leads to another vertex."""
    leaves = [(hub, 10 + 1000 * hub + leaf) for hub in (1, 2, 3) for leaf in range(1000)]
    edges = EdgeList(
        "hubs", ((0, 1), (0, 2), (0, 3), *leaves, *((leaf, 20_000 + leaf) for _, leaf in leaves), (1, 3010)), directed
    )
    for order in ORDERS:
        graph = graph_of(edges, in_order(edges, order))
        row = int(np.flatnonzero(graph.ids == 0)[0])
        assert in_ids(graph, bfs(graph, row)) == oracles.paths(edges, 0, weighted=False)


def sources(edges: EdgeList) -> list[int]:
    """Every vertex, or a sample from a large graph."""
    return edges.ids if len(edges.ids) <= 100 else edges.ids[:: len(edges.ids) // 4]


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
@pytest.mark.parametrize("order", ORDERS)
def test_bfs_of_named_graphs_from_every_source(edges, order):
    graph = graph_of(edges, in_order(edges, order))
    for source in sources(edges):
        paths = bfs(graph, graph.ids.tolist().index(source))
        assert paths.distance.dtype == np.int64
        assert paths.predecessor.dtype == np.int32
        assert in_ids(graph, paths) == oracles.paths(edges, source, weighted=False)


@pytest.mark.parametrize(("edges", "dtype"), NAMED_AND_TYPED)
def test_sssp_of_named_graphs_from_every_source(edges, dtype):
    for order in ORDERS:
        graph = graph_of(edges, in_order(edges, order), dtype)
        for source in sources(edges):
            paths = sssp(graph, graph.ids.tolist().index(source))
            integer = not edges.weighted or np.dtype(dtype).kind == "i"
            assert paths.distance.dtype == (np.int64 if integer else np.float64)
            assert in_ids(graph, paths) == oracles.paths(edges, source, weighted=True)


def test_figure_1_has_its_golden_distances():
    graph = graph_of(FIGURE_1)
    from_e = sssp(graph, 4)
    assert from_e.distance.tolist() == [9, 7, 5, 3, 0, 1, 7]
    assert from_e.predecessor.tolist() == [4, 4, 4, 4, NO_ROW, 4, 2]
    assert sssp(graph, 0).distance.tolist() == [0, 4, 12, 12, 9, 10, 14]


@st.composite
def edge_lists(draw, weights):
    vertex = st.integers(0, 25)
    edges = draw(st.lists(st.tuples(vertex, vertex, weights), min_size=1, max_size=90))
    ids = draw(st.permutations(range(100, 126)))
    return EdgeList("drawn", tuple((ids[u], ids[v], w) for u, v, w in edges), draw(st.booleans()))


def check_drawn(edges: EdgeList, dtype: type, seed: int) -> None:
    order = random.Random(seed).sample(edges.ids, len(edges.ids))
    graph = graph_of(edges, order, dtype)
    peer = nx.DiGraph()
    peer.add_nodes_from(edges.ids)
    peer.add_weighted_edges_from((u, v, w) for (u, v), w in edges.arcs().items())
    source = order[0]
    hops, sums = in_ids(graph, bfs(graph, 0)), in_ids(graph, sssp(graph, 0))
    assert hops[0] == nx.single_source_shortest_path_length(peer, source)
    assert sums[0] == nx.single_source_dijkstra_path_length(peer, source)
    assert hops == oracles.paths(edges, source, weighted=False)
    assert sums == oracles.paths(edges, source, weighted=True)


@settings(max_examples=examples(150))
@given(edge_lists(st.integers(0, 4) | st.integers(0, 2**40)), st.integers(0, 9))
def test_drawn_graphs_with_integer_weights(edges, seed):
    check_drawn(edges, np.int64, seed)


@settings(max_examples=examples(150))
@given(edge_lists(st.sampled_from([0.0, 1e-18, 0.1, 0.2, 0.3, 1.0, 1e17]) | st.floats(0, 1e300)), st.integers(0, 9))
def test_drawn_graphs_with_float_weights_that_sums_absorb(edges, seed):
    check_drawn(edges, np.float64, seed)


def test_an_arc_whose_weight_a_sum_absorbs_has_length_zero():
    # From 9, both 5 and 3 are at 1e17 + 1 = 1e17; 3 has the smaller id, but only 7 is one such step nearer.
    edges = EdgeList("absorbed", ((9, 7, 1e17), (7, 5, 1.0), (7, 3, 1.0), (5, 3, 1.0), (3, 5, 1.0), (5, 1, 1.0), (3, 1, 1.0)))
    graph = graph_of(edges, dtype=np.float64)
    distance, predecessor = in_ids(graph, sssp(graph, graph.ids.tolist().index(9)))
    assert set(distance.values()) == {0.0, 1e17}
    assert predecessor == {9: None, 7: 9, 5: 7, 3: 7, 1: 3}


def arcs(num_vertices: int, triples: list[tuple[int, int, float]], dtype: type) -> Graph:
    """Graph of these arcs, self-loops and parallel arcs included."""
    src, dst = (np.array([triple[end] for triple in triples], np.int64) for end in (0, 1))
    weights = np.array([triple[2] for triple in triples], dtype)
    csrs = []
    for near, far in ((src, dst), (dst, src)):
        order = np.lexsort((weights, far, near))
        offsets = np.zeros(num_vertices + 1, np.int64)
        offsets[1:] = np.bincount(near, minlength=num_vertices).cumsum()
        csrs.append(Csr(offsets, far[order].astype(np.int32), weights[order]))
    graph = Graph(np.arange(num_vertices), np.arange(num_vertices, dtype=np.int32), *csrs, directed=True)
    graph.validate()
    return graph


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_self_loops_and_parallel_arcs_change_nothing(dtype):
    graph = arcs(
        4, [(0, 0, 0), (0, 1, 5), (0, 1, 2), (0, 1, 2), (1, 1, 0), (1, 2, 0), (2, 2, 3), (2, 1, 0), (2, 3, 1), (3, 3, 0)], dtype
    )
    paths = sssp(graph, 0)
    assert paths.distance.tolist() == [0, 2, 2, 3]
    assert paths.predecessor.tolist() == [NO_ROW, 0, 1, 2]
    assert bfs(graph, 0).distance.tolist() == [0, 1, 2, 3]
    assert bfs(graph, 0).predecessor.tolist() == [NO_ROW, 0, 1, 2]


def test_the_largest_int64_is_a_distance():
    graph = arcs(3, [(0, 1, 2**63 - 2), (1, 2, 1)], np.int64)
    assert sssp(graph, 0).distance.tolist() == [0, 2**63 - 2, 2**63 - 1]


@pytest.mark.parametrize(
    ("dtype", "heavy", "light"),
    [(np.int64, 2**63 - 1, 1), (np.int64, 2**63 - 1, 2**63 - 1), (np.float64, 1.7e308, 1.7e308), (np.float64, np.inf, 1.0)],
)
def test_a_sum_that_does_not_fit_is_an_error(dtype, heavy, light):
    graph = arcs(3, [(0, 1, heavy), (1, 2, light)], dtype)
    with pytest.raises(OverflowError, match="largest"):
        sssp(graph, 0)
    assert bfs(graph, 0).distance.tolist() == [0, 1, 2]


def test_a_sum_that_does_not_fit_is_ignored_if_there_is_a_shorter_path():
    graph = arcs(3, [(0, 1, 2**63 - 1), (1, 2, 2**63 - 1), (0, 2, 7)], np.int64)
    assert sssp(graph, 0).distance.tolist() == [0, 2**63 - 1, 7]


@pytest.mark.parametrize("kernel", [bfs, sssp])
@pytest.mark.parametrize("row", [-1, 7, 2**40])
def test_a_source_beyond_the_rows_is_named(kernel, row):
    with pytest.raises(IndexError, match=rf"{row} .*0\.\.6"):
        kernel(graph_of(FIGURE_1), row)
    with pytest.raises(IndexError):
        kernel(graph_of(EdgeList("empty", ())), 0)


@pytest.mark.parametrize("kernel", [bfs, sssp])
def test_arrays_of_another_backend_are_named(kernel):
    graph = graph_of(FIGURE_1)
    elsewhere = replace(graph, out=SimpleNamespace(offsets=memoryview(b""), indices=None, weights=None))
    with pytest.raises(TypeError, match="memoryview"):
        kernel(elsewhere, 0)


def test_memory_maps_give_the_same_bytes(tmp_path):
    graph = graph_of_edges(*np.random.default_rng(3).integers(300, size=(2, 900)), np.arange(900) % 50, 300)
    for name, array in vars(graph.out).items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = Csr(**{name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in vars(graph.out)})
    assert not mapped.offsets.flags.writeable
    for kernel in (bfs, sssp):
        there, here = kernel(replace(graph, out=mapped, into=mapped), 5), kernel(graph, 5)
        assert there.distance.tobytes() == here.distance.tobytes()
        assert there.predecessor.tobytes() == here.predecessor.tobytes()


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_rows_of_64_bits(dtype):
    graph = graph_of(FIGURE_1, dtype=dtype)
    csr = replace(graph.out, indices=graph.out.indices.astype(np.int64))
    wide = replace(graph, rows_by_id=graph.rows_by_id.astype(np.int64), out=csr, into=csr)
    for kernel in (bfs, sssp):
        assert kernel(wide, 4).predecessor.dtype == np.int64
        assert in_ids(wide, kernel(wide, 4)) == in_ids(graph, kernel(graph, 4))


@pytest.mark.parametrize("weight", [0, 1, 2**40])
def test_a_path_of_a_million_vertices(weight):
    length = 1_000_000
    rows = np.arange(length - 1)
    graph = graph_of_edges(rows, rows + 1, np.full(length - 1, weight, np.int64), length)
    for kernel, step in ((bfs, 1), (sssp, weight)):
        paths = kernel(graph, 0)
        assert (paths.distance == step * np.arange(length)).all()
        assert (paths.predecessor == np.arange(length) - 1).all()


@pytest.mark.parametrize(
    "build",
    [new_york, lambda: grid(300), lambda: rmat(14), lambda: random_digraph(1 << 15)],
    ids=["new_york", "grid", "rmat", "random"],
)
def test_large_graphs_against_scipy(build):
    graph = build()
    out, rows = graph.out, np.arange(graph.num_vertices)
    matrix = csr_array((out.weights.astype(np.float64), out.indices, out.offsets), (len(rows), len(rows)))
    src = np.repeat(rows, np.diff(out.offsets))
    for kernel, source in ((bfs, 0), (sssp, 0), (sssp, len(rows) // 2)):
        paths = kernel(graph, source)
        expected = dijkstra(matrix, indices=source, unweighted=kernel is bfs)
        expected[np.isinf(expected)] = UNREACHED
        np.testing.assert_array_equal(paths.distance, expected)
        # The weights are positive, so the predecessor is the smallest of all tight in-neighbours.
        length = 1 if kernel is bfs else out.weights
        tight = (paths.distance[src] >= 0) & (paths.distance[src] + length == paths.distance[out.indices])
        smallest = np.full(len(rows), len(rows))
        np.minimum.at(smallest, out.indices[tight], src[tight])
        smallest[smallest == len(rows)] = NO_ROW
        np.testing.assert_array_equal(paths.predecessor, smallest)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e200])
def test_weights_of_any_size_and_spread(scale):
    random_numbers = np.random.default_rng(5)
    src, dst = random_numbers.integers(2000, size=(2, 12_000))
    weights = scale * 10.0 ** random_numbers.uniform(-30, 30, 12_000)
    graph = graph_of_arcs(src, dst, weights, 2000, symmetric=False)
    matrix = csr_array((graph.out.weights, graph.out.indices, graph.out.offsets), (2000, 2000))
    expected = dijkstra(matrix, indices=0)
    np.testing.assert_array_equal(sssp(graph, 0).distance, np.where(np.isinf(expected), UNREACHED, expected))


def test_more_entries_than_were_allocated_first():
    # Many parallel paths to 40 vertices: entries outgrow the first supply, and most are stale when they are scanned.
    triples = [(0, middle, middle) for middle in range(1, 200)]
    triples += [(middle, far, 1000 - 5 * middle) for middle in range(1, 200) for far in range(200, 240)]
    paths = sssp(arcs(240, triples, np.int32), 0)
    assert (paths.distance[200:] == 199 + 5).all()
    assert (paths.predecessor[200:] == 199).all()


class TestArgmin:
    """Dijkstra's algorithm of a source document, on threads."""

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_like_the_kernel(self, threads):
        graphs = [graph_of(edges, order=edges.ids[::-1]) for edges in NAMED_GRAPHS if 0 < len(edges.ids) < 300]
        for graph in (*graphs, random_digraph(300, 3)):
            if graph.out.weights is not None:
                for source in range(min(graph.num_vertices, 3)):
                    found, expected = argmin.search(graph, source, threads), sssp(graph, source)
                    np.testing.assert_array_equal(found.distance, expected.distance)
                    np.testing.assert_array_equal(found.predecessor, expected.predecessor)

    def test_it_stops_at_the_target(self):
        graph = graph_of(FIGURE_1)
        assert [argmin.length_to(graph, 4, target, 2) for target in range(7)] == [
            (9, 7), (7, 5), (5, 4), (3, 3), (0, 1), (1, 2), (7, 6),
        ]  # fmt: skip
        apart = graph_of(EdgeList("apart", ((0, 1, 2), (2, 3, 2))))
        assert argmin.length_to(apart, 0, 3, 2) == (UNREACHED, 2)
