"""Weak and strong components, each named by its smallest external id."""

import functools
from dataclasses import replace

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from benchmarks.graphs import graph_of_arcs, new_york, random_digraph, rmat, wiki_vote
from kernels.answers import Components
from kernels.arrays import frozen
from kernels.graph import Csr, Graph
from kernels.scc import scc
from kernels.wcc import wcc
from kernels.wcc.certificate import certify_wcc
from kernels.wcc.certificate.cpu import _link
from tests import oracles
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

true_weak = functools.cache(oracles.weak_components)
true_strong = functools.cache(oracles.strong_components)


def in_ids(graph: Graph, components: Components) -> dict[int, int]:
    return dict(zip(graph.ids.tolist(), graph.ids[components.labels].tolist(), strict=True))


def scipy_labels(graph: Graph, connection: str) -> np.ndarray:
    """Labels by SciPy; rows are in the order of the ids."""
    near = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    matrix = csr_array((np.ones(len(near)), (near, graph.out.indices)), (graph.num_vertices,) * 2)
    number = connected_components(matrix, connection=connection)[1]
    return np.unique(number, return_index=True)[1][number]


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs_in_any_row_order(edges):
    for order in (edges.ids, edges.ids[::-1], np.random.default_rng(4).permutation(edges.ids).tolist()):
        for graph in (graph_of(edges, order), uncleaned(edges, order)):
            assert in_ids(graph, wcc(graph)) == true_weak(edges)
            assert in_ids(graph, scc(graph)) == (true_strong(edges) if edges.directed else true_weak(edges))
            assert wcc(graph).labels.dtype == scc(graph).labels.dtype == graph.rows_by_id.dtype


@st.composite
def edge_lists(draw):
    vertices = st.integers(0, draw(st.integers(0, 20))).map(lambda place: place * 8 % 21)
    edges = tuple(draw(st.lists(st.tuples(vertices, vertices), max_size=50)))
    return EdgeList("random", edges, draw(st.booleans()), tuple(draw(st.lists(vertices, max_size=3))))


@settings(max_examples=examples(300))
@given(edge_lists(), st.randoms(use_true_random=False))
def test_random_graphs_have_the_components_of_networkx(edges, random):
    peer = networkx.DiGraph(edges.arcs().keys())
    peer.add_nodes_from(edges.ids)
    order = random.sample(edges.ids, len(edges.ids))
    for graph in (graph_of(edges, order), uncleaned(edges, order)):
        for solve, parts in (
            (wcc, networkx.weakly_connected_components(peer)),
            (scc, networkx.strongly_connected_components(peer)),
        ):
            assert in_ids(graph, solve(graph)) == {vertex: min(part) for part in parts for vertex in part}


def sparse_digraph(degree: float) -> Graph:
    """Directed, with a giant weak component from degree 1 and a giant strong one above it."""
    random = np.random.default_rng(int(10 * degree))
    src, dst = random.integers(30_000, size=(2, int(30_000 * degree)))
    return graph_of_arcs(src, dst, None, 30_000, symmetric=False)


@pytest.mark.parametrize(
    "load",
    [
        *(functools.partial(sparse_digraph, degree) for degree in (0.3, 0.5, 0.8, 1.1, 1.5, 3)),
        new_york,
        wiki_vote,
        functools.partial(rmat, 13),
        functools.partial(random_digraph, 1 << 12),
    ],
)
def test_larger_graphs_equal_scipy(load):
    graph = load()
    np.testing.assert_array_equal(wcc(graph).labels, scipy_labels(graph, "weak"))
    np.testing.assert_array_equal(scc(graph).labels, scipy_labels(graph, "strong"))


@pytest.mark.parametrize("step", [1, -1])
def test_a_path_and_a_cycle_of_a_million_vertices(step):
    rows = np.arange(1_000_000)
    next_rows = np.roll(rows, -step)
    ends = rows[:-1] if step == 1 else rows[1:]
    path = graph_of_arcs(ends, next_rows[ends], None, len(rows), symmetric=False)
    assert not wcc(path).labels.any()
    np.testing.assert_array_equal(scc(path).labels, rows)
    cycle = graph_of_arcs(rows, next_rows, None, len(rows), symmetric=False)
    assert not wcc(cycle).labels.any()
    assert not scc(cycle).labels.any()


def test_memory_maps_and_64_bit_rows_give_the_same_answer(tmp_path):
    edges = next(edges for edges in NAMED_GRAPHS if edges.name == "strong_tail")
    graph = graph_of(edges)

    def mapped(name, array):
        np.save(tmp_path / f"{name}.npy", array)
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    def copied(side, csr, index):
        offsets, indices = mapped(f"{side}-offsets", csr.offsets), mapped(f"{side}-indices", csr.indices.astype(index))
        return Csr(offsets, indices, None)

    for index in (np.int32, np.int64):
        sides = copied("out", graph.out, index), copied("in", graph.into, index)
        copy = Graph(graph.ids, mapped("rows", graph.rows_by_id.astype(index)), *sides, graph.directed)
        assert in_ids(graph, wcc(copy)) == true_weak(edges)
        assert in_ids(graph, scc(copy)) == true_strong(edges)
        assert scc(copy).labels.dtype == index


def test_twenty_runs_give_the_same_bytes():
    graph = sparse_digraph(1.5)
    assert len({wcc(graph).labels.tobytes() for _ in range(20)}) == 1
    assert len({scc(graph).labels.tobytes() for _ in range(20)}) == 1


@pytest.mark.parametrize("solve", [wcc, scc])
def test_unsupported_array_types_are_refused(solve):
    lists = Csr([0], [], None)
    with pytest.raises(TypeError, match=rf"{solve.__name__}: arrays of type builtins\.list"):
        solve(Graph([], [], lists, lists, directed=True))


def rows_of(pairs, count, directed):
    """A graph of ids 0 to `count`, which are rows."""

    def csr(arcs):
        ordered = sorted(set(arcs))
        offsets = np.searchsorted([tail for tail, _ in ordered], np.arange(count + 1)).astype(np.int64)
        return Csr(offsets, np.array([head for _, head in ordered], np.int32), None)

    turned = [(dst, src) for src, dst in pairs]
    out = csr(pairs if directed else [*pairs, *turned])
    ids = np.arange(count)
    return Graph(ids, ids.astype(np.int32), out, csr(turned) if directed else out, directed)


LINKED = {
    "arcs from a hub": ([(0, row) for row in range(1, 40)], 40, True),
    "arcs into a hub": ([(row, 39) for row in range(39)], 40, True),
    "late arcs join": ([(row, to) for row in (0, 1, 2) for to in (20, 21, 22 + row)] + [(30, 22), (30, 23)], 31, True),
    "undirected star": ([(0, row) for row in range(1, 40)], 40, False),
    "two cliques and a bridge": (
        [(a + add, b + add) for add in (0, 10) for a in range(10) for b in range(a)] + [(9, 19)], 20, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", LINKED)
def test_any_shape_is_proved_and_two_components_are_not_one(shape):
    pairs, count, directed = LINKED[shape]
    graph = rows_of(pairs, count + 2, directed)  # and two vertices alone
    truth = wcc(graph)
    assert certify_wcc(graph, truth).holds
    for alone in (count, count + 1):
        labels = truth.labels.copy()
        labels[alone] = 0
        assert certify_wcc(graph, replace(truth, labels=labels)).reason.endswith("no arcs connect it to its label 0")


def test_two_arcs_of_each_row_link_what_is_dense():
    rng = np.random.default_rng(3)
    graph = rows_of(list(zip(*rng.integers(0, 200, (2, 4000)).tolist(), strict=True)), 200, False)
    labels, parent = frozen(wcc(graph).labels), np.arange(200, dtype=np.int32)
    indices = graph.out.indices.copy()
    begins, ends = graph.out.offsets[:-1], graph.out.offsets[1:]
    for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        indices[begin + 2 : end] = row  # an arc that links nothing
    assert _link(frozen(graph.out.offsets), frozen(indices), parent, labels, 199, 2) == 0
