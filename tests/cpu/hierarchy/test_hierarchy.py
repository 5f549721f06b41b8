"""Hierarchies: distances by ascending and descending paths against `sssp`, what shortcuts stand for, and what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generators import grid_edges
from benchmarks.graphs import DATA, facebook, graph_of_arcs, graph_of_edges
from kernels.graph import Csr, Graph
from kernels.hierarchy import TooManyShortcuts, build_hierarchy, customise
from kernels.sssp import sssp
from tests.counts import examples
from tests.cpu.hierarchy.checks import distances, require_hierarchy
from tests.graphs import NAMED_GRAPHS, graph_of

INTEGERS = st.integers(0, 4) | st.integers(0, 2**40)
FLOATS = st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0, 1e9]) | st.floats(0, 1e6)


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    graph = graph_of(edges)
    require_hierarchy(graph, build_hierarchy(graph))


@st.composite
def drawn(draw, weights):
    """A graph of up to 24 vertices: one-way or not, with self-loops and parallel arcs; and other weights for its arcs."""
    size = draw(st.integers(1, 24))
    vertex = st.integers(0, size - 1)
    arcs = draw(st.lists(st.tuples(vertex, vertex, weights), min_size=1, max_size=70))
    src, dst, weight = (np.array([arc[place] for arc in arcs]) for place in range(3))
    graph = (
        graph_of_arcs(src, dst, weight, size, symmetric=False) if draw(st.booleans()) else graph_of_edges(src, dst, weight, size)
    )
    return graph, draw(st.permutations(weight.tolist()))


def check_drawn(graph: Graph, weights: list[float]) -> None:
    hierarchy = build_hierarchy(graph)
    require_hierarchy(graph, hierarchy)
    other = with_weights(graph, weights)
    require_hierarchy(other, customise(hierarchy, other))


def with_weights(graph: Graph, weights: list[float]) -> Graph:
    """The same arcs with other weights, in turn; both directions of an undirected edge have the same one."""
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    ends = np.sort(np.stack([tails, graph.out.indices]), axis=0) if graph.symmetric else np.stack([tails, graph.out.indices])
    chosen = np.array(weights)[(ends[0] * 7 + ends[1] * 5) % len(weights)]
    return graph_of_arcs(tails, graph.out.indices, chosen, graph.num_vertices, graph.symmetric)


@settings(max_examples=examples(100))
@given(drawn(INTEGERS))
def test_drawn_graphs_with_integer_weights(case):
    check_drawn(*case)


@settings(max_examples=examples(100))
@given(drawn(FLOATS))
def test_drawn_graphs_with_float_weights(case):
    check_drawn(*case)


def test_a_grid_with_new_weights_on_the_same_order():
    random = np.random.default_rng(1)
    src, dst = np.array(grid_edges(40))[:, random.random(3120) < 0.65]
    weights = random.integers(1, 1000, len(src))
    graph = graph_of_edges(src, dst, weights, 1600)
    hierarchy = build_hierarchy(graph)
    require_hierarchy(graph, hierarchy)
    assert len(hierarchy.up.others) < 4 * graph.num_vertices
    other = graph_of_edges(src, dst, weights[::-1].copy(), 1600)
    require_hierarchy(other, customise(hierarchy, other))


def test_one_way_streets_of_rome():
    arcs = np.loadtxt(DATA / "rome99.gr.gz", np.int64, comments=("c", "p"), usecols=(1, 2, 3)).T
    graph = graph_of_arcs(arcs[0] - 1, arcs[1] - 1, arcs[2], int(arcs[:2].max()), symmetric=False)
    hierarchy = build_hierarchy(graph)
    require_hierarchy(graph, hierarchy)
    assert len(hierarchy.up.others) + len(hierarchy.down.others) < 7 * graph.num_vertices


def test_parallel_arcs_and_self_loops_change_nothing():
    offsets, weights = np.array([0, 3, 5, 5]), np.array([0, 2, 5, 0, 1])
    out = Csr(offsets, np.array([0, 1, 1, 1, 2], np.int32), weights)
    into = Csr(np.array([0, 1, 4, 5]), np.array([0, 0, 0, 1, 1], np.int32), np.array([0, 2, 5, 0, 1]))
    graph = Graph(np.arange(3), np.arange(3, dtype=np.int32), out, into, directed=True)
    hierarchy = build_hierarchy(graph)
    require_hierarchy(graph, hierarchy)
    assert sorted(hierarchy.up.originals.tolist() + hierarchy.down.originals.tolist()) == [1, 4]


@pytest.mark.parametrize("heavy", [2**63 - 1, 2**62, 1.7e308])
def test_a_path_whose_length_does_not_fit_is_none(heavy):
    graph = graph_of_edges(np.arange(4), np.arange(1, 5), np.full(4, heavy), 5)
    with np.errstate(over="ignore"):
        found = distances(build_hierarchy(graph), 0)
    assert found.tolist() == [0, heavy, -1, -1, -1]
    with pytest.raises(OverflowError):
        sssp(graph, 0)


def test_float_sums_that_do_not_round_are_exact():
    src, dst = np.arange(4), np.arange(1, 5)
    for weights, exact in (([0.5, 0.25, 3.0, 0.0], True), ([0.1, 0.2, 0.3, 0.4], False), ([2.0**53, 1.0, 1.0, 1.0], False)):
        assert build_hierarchy(graph_of_edges(src, dst, np.array(weights), 5)).exact == exact


def test_a_social_network_is_refused_with_figures():
    with pytest.raises(TooManyShortcuts, match=r"4,039 of 4,039 vertices left.* may need [\d,]+ shortcuts \(limit 128\)"):
        build_hierarchy(facebook())


def test_what_is_left_of_a_large_grid_may_be_dense(monkeypatch):
    """A limit that grows with the logarithm of the vertices for each that is left refused a grid of 24 million vertices."""
    monkeypatch.setattr("kernels.hierarchy.core.SHORTCUTS", 8)
    monkeypatch.setattr("kernels.hierarchy.core._SMALL", 16)
    src, dst = np.array(grid_edges(120))[:, np.random.default_rng(1).random(28560) < 0.65]
    graph = graph_of_edges(src, dst, np.random.default_rng(2).integers(1, 1000, len(src)), 14400)
    assert build_hierarchy(graph).num_levels < 60


def test_a_grid_with_all_its_streets_is_like_roads(monkeypatch):
    """It becomes dense while its first vertices are contracted, and the square root alone refused it."""
    monkeypatch.setattr("kernels.hierarchy.core.SHORTCUTS", 80)
    monkeypatch.setattr("kernels.hierarchy.core._SMALL", 128)
    src, dst = grid_edges(32)
    assert build_hierarchy(graph_of_edges(src, dst, np.arange(len(src)), 1024)).num_levels < 60


def test_an_order_that_does_not_suit_is_left(monkeypatch):
    """An order is followed until what is left is too dense for roads; a grid of 24 million vertices was refused there."""
    monkeypatch.setattr("kernels.hierarchy.core._SMALL", 64)
    src, dst = np.array(grid_edges(60))[:, np.random.default_rng(1).random(7080) < 0.65]
    graph = graph_of_edges(src, dst, np.random.default_rng(2).integers(1, 1000, len(src)), 3600)
    found = customise(np.random.default_rng(3).permutation(3600).astype(np.int32), graph)
    assert (distances(found, 0) == sssp(graph, 0).distance).all()
    assert len(found.up.others) < 5 * graph.num_vertices


def test_an_order_of_another_graph_is_refused():
    one, two = (graph_of_edges(np.arange(size), np.arange(1, size + 1), None, size + 1) for size in (3, 4))
    with pytest.raises(ValueError, match="the order has 4 vertices, the graph 5"):
        customise(build_hierarchy(one), two)
