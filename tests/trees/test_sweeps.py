"""Trees from many sources against `sssp`, one source at a time, with and without a hierarchy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import DATA, graph_of_arcs, grid
from kernels.arrays import frozen
from kernels.certificate.rules import Broken
from kernels.graph import UNREACHED, Graph
from kernels.hierarchy import TooManyShortcuts, build_hierarchy
from kernels.sssp import sssp
from kernels.trees import batch_on_cpu, sweep, trees
from kernels.trees.constants import LANES
from kernels.trees.targets import Targets
from tests.counts import NIGHTLY, examples, in_turn
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100]


def check(graph, sources, hierarchy=None):
    """Trees are `sssp`'s answers, value by value."""
    found = trees(graph, np.array(sources), hierarchy, predecessors=True)
    assert found.distances.shape == found.predecessors.shape == (len(sources), graph.num_vertices)
    for place, source in enumerate(sources):
        paths = sssp(graph, source)
        np.testing.assert_array_equal(found.distances[place], paths.distance)
        np.testing.assert_array_equal(found.predecessors[place], paths.predecessor)


def in_dtype(edges: EdgeList, dtype: type) -> Graph:
    return graph_of(edges, dtype=dtype)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("edges", "dtype"), in_turn(2, SMALL, [np.int64, np.float64]), ids=lambda value: getattr(value, "name", value)
)
def test_trees_of_named_graphs(edges, dtype):
    graph = in_dtype(edges, dtype)
    rows = list(range(min(3, graph.num_vertices)))
    check(graph, rows + rows[:1])
    check(graph, (rows * LANES)[: LANES + 1], build_hierarchy(graph))


@pytest.mark.parametrize("count", [1, 31, 32, 33])
def test_any_number_of_trees_of_a_grid(count):
    graph = grid(12)
    sources = np.random.default_rng(count).integers(0, graph.num_vertices, count).tolist()
    check(graph, sources, build_hierarchy(graph))


@pytest.mark.parametrize("name", ["rome99", "bremen_time"])
def test_trees_of_real_roads(name):
    rows = np.loadtxt(DATA / f"{name}.gr.gz", np.int64, comments=("c", "p"), usecols=(1, 2, 3), encoding="ascii")
    size = int(rows[:, :2].max()) + 1
    graph = graph_of_arcs(*rows.T, size, symmetric=False)
    check(graph, np.random.default_rng(1).integers(0, size, 33)[:: 1 if NIGHTLY else 4].tolist(), build_hierarchy(graph))


@st.composite
def streets(draw, weights):
    """Roads in one direction or both: a few long ones, parallel arcs, islands."""
    size = draw(st.integers(2, 40))
    vertex = st.integers(0, size - 1)
    near = st.tuples(vertex, st.integers(0, 3), weights).map(lambda arc: (arc[0], min(arc[0] + arc[1], size - 1), arc[2]))
    edges = draw(st.lists(near | st.tuples(vertex, vertex, weights), min_size=1, max_size=90))
    return EdgeList("streets", tuple(edges), draw(st.booleans()), tuple(range(size)))


def check_drawn(edges: EdgeList, dtype: type) -> None:
    graph = in_dtype(edges, dtype)
    try:
        hierarchy = build_hierarchy(graph)
    except TooManyShortcuts:
        return
    check(graph, [*range(0, graph.num_vertices, 3), 0], hierarchy)


@settings(max_examples=examples(75))
@given(streets(st.integers(0, 3) | st.integers(1, 2**33)))
def test_drawn_streets_with_zero_weights_ties_and_long_ones(edges):
    check_drawn(edges, np.int64)


@settings(max_examples=examples(75))
@given(streets(st.sampled_from([0.0, 0.1, 0.2, 0.3, 1e-18, 1.0, 1e17]) | st.floats(0, 1e9)))
def test_drawn_streets_with_float_sums_that_round(edges):
    check_drawn(edges, np.float64)


def test_sums_near_two_to_the_63():
    far = 2**62
    chain = EdgeList("long", ((0, 1, far), (1, 2, far - 1), (2, 3, 1), (3, 0, 5)))
    graph = in_dtype(chain, np.int64)
    hierarchy = build_hierarchy(graph)
    with pytest.raises(OverflowError, match="a distance exceeds the largest int64"):
        trees(graph, np.array([0]), hierarchy)
    graph = in_dtype(EdgeList("fits", ((0, 1, far), (1, 2, far - 1), (2, 1, 0))), np.int64)
    hierarchy = build_hierarchy(graph)
    check(graph, [0, 1, 2, 0], hierarchy)
    assert trees(graph, np.array([0]), hierarchy).distances.tolist() == [[0, far, 2**63 - 1]]


def test_distances_have_32_bits_until_one_does_not_fit():
    graph = in_dtype(EdgeList("heavy", ((0, 1, 2**30), (1, 2, 2**30), (3, 2, 1))), np.int64)
    hierarchy = build_hierarchy(graph)
    assert trees(graph, np.array([1, 3]), hierarchy).distances.dtype == np.int32
    assert trees(graph, np.array([1, 0]), hierarchy).distances.tolist()[1] == [0, 2**30, 2**31, UNREACHED]
    assert trees(graph, np.array([1]), hierarchy).distances.dtype == np.int64


def test_batches_have_all_sources_in_their_order(monkeypatch):
    monkeypatch.setattr("kernels.trees.batch_size", lambda *_: 2)
    graph, sources = graph_of(FIGURE_1), np.array([3, 3, 0, 5, 1])
    for hierarchy in (None, build_hierarchy(graph)):
        batches = list(sweep(graph, hierarchy, sources))
        assert [batch.sources.tolist() for batch in batches] == [[3, 3], [0, 5], [1]]
        assert all(batch.predecessors is None for batch in batches)
        np.testing.assert_array_equal(np.concatenate([batch.distances for batch in batches]), trees(graph, sources).distances)


def test_a_source_outside_the_graph_is_named():
    with pytest.raises(IndexError, match=r"row 9 is not in 0..6"):
        trees(graph_of(FIGURE_1), np.array([0, 9]))


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_distances_to_targets(dtype):
    graph = grid(30)
    weights = (graph.out.weights * (0.5 if dtype == np.float64 else 1)).astype(dtype)
    out = replace(graph.out, weights=weights)
    graph = Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)
    hierarchy = build_hierarchy(graph)
    sources = np.arange(0, 900, 27)
    for rows in (np.array([7, 400, 7]), np.arange(900)):
        targets = Targets(graph, hierarchy, rows)
        np.testing.assert_array_equal(targets.distances(sources), trees(graph, sources).distances[:, rows])


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_whole_trees_are_proved_and_some_distances_returned(dtype, monkeypatch):
    monkeypatch.setattr("kernels.trees.batch_size", lambda *_: 40)
    graph = in_dtype(FIGURE_1, dtype)
    rows, sources = np.arange(40)[::-1] % graph.num_vertices, np.arange(40) % graph.num_vertices
    for hierarchy in (None, build_hierarchy(graph)):
        every = trees(graph, sources, hierarchy, predecessors=True)
        for found in (
            trees(graph, sources, hierarchy, predecessors=True, to=rows),
            *sweep(graph, hierarchy, sources, to=rows),
        ):
            assert found.distances.flags.c_contiguous
            np.testing.assert_array_equal(found.distances, every.distances[:, rows])
            assert found.predecessors is None or (found.predecessors == every.predecessors).all()


def test_a_batch_takes_memory_of_the_one_before():
    """The C library asks the system for arrays from 32 MiB on, and gives them back."""
    for vertices in (1, 10_000, 50_000, 200_000):
        for floats in (False, True):
            assert batch_on_cpu(vertices, False, floats) * vertices * (8 if floats else 4) < 2**25


def test_a_hierarchy_of_other_weights_is_refused():
    graph = grid(12)
    hierarchy = build_hierarchy(graph)
    for change in (1, -1):
        out = replace(graph.out, weights=graph.out.weights + change)
        other = Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)
        with pytest.raises(Broken, match="tree from vertex 5: "):
            trees(other, np.array([5]), hierarchy)


def test_every_wrong_length_is_found():
    """The proof of many trees accepts the right lengths only: each mutant differs in one entry."""
    from kernels.trees.cpu import _arcs
    from kernels.trees.proof.cpu import prove

    graph, random = graph_of(FIGURE_1), np.random.default_rng(1)
    sources = np.arange(LANES) % graph.num_vertices
    far, into = np.uint32(2**31), _arcs(graph.into, graph.into.indices, np.dtype(np.int32))
    right = np.stack([sssp(graph, int(source)).distance for source in sources], 1)
    right = np.where(right == UNREACHED, far, right).astype(np.uint32)
    distances = np.empty((LANES, graph.num_vertices), np.int32)

    def refused(lengths):
        loose, waiting = prove(into, frozen(sources), far, lengths.ravel(), np.arange(LANES), distances, None)
        return loose | (waiting != 0)

    assert not refused(right).any()
    for row in range(graph.num_vertices):
        for lane in range(LANES):
            length = int(right[row, lane])
            for value in (0, length + 1, max(length - 1, 0), far, random.integers(0, 2**31)):
                wrong = right.copy()
                wrong[row, lane] = value
                assert refused(wrong).tolist() == [lane == at and value != length for at in range(LANES)]


def test_arcs_beyond_32_bits_do_not_shorten_paths():
    edges = EdgeList("long", ((3, 2, 0), (1, 4, 1), (3, 5, 1), (0, 4, 0), (1, 2, 0), (5, 4, 2**40)), False, tuple(range(8)))
    graph = in_dtype(edges, np.int64)
    check(graph, range(8), build_hierarchy(graph))


def test_float_sums_in_another_order_are_those_of_sssp():
    weights = np.random.default_rng(3).random(60).tolist()  # on a path, where every shortcut is a sum in another order
    graph = in_dtype(EdgeList("path", tuple((v, v + 1, weight) for v, weight in enumerate(weights)), False), np.float64)
    check(graph, [0, 7, 60], build_hierarchy(graph))
