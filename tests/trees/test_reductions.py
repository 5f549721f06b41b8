"""Reductions of trees against plain sums, and on the emulated GPU against the CPU's, to the byte."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from kernels.graph import UNREACHED
from kernels.reductions import ArcLoads, Nearest, digits_of, measure, within
from kernels.sssp import sssp
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of


def trees(dtype: type, seed: int = 1) -> np.ndarray:
    """Distances [5, 9000] of which a third is missing, and one tree that reaches nothing but its source."""
    random = np.random.default_rng(seed)
    found = random.integers(0, 2**30, (5, 9000)).astype(dtype)
    found = found / 7 if dtype is np.float64 else found
    found[random.random(found.shape) < 0.3] = UNREACHED
    found[:, 0] = 0
    found[2, 1:] = UNREACHED
    return found


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_measures(dtype):
    distances = trees(dtype)
    found = measure(distances)
    reached = [row[row >= 0] for row in distances]
    assert found.reached.tolist() == [len(row) for row in reached]
    assert found.farthest.tolist() == [row.max() for row in reached]
    exact = [float(sum(map(Fraction, row.tolist()))) for row in reached]
    np.testing.assert_allclose(found.total, exact, rtol=1e-15 if dtype is np.float64 else 0)


def test_sums_of_floats_do_not_depend_on_an_order_and_are_exact():
    random = np.random.default_rng(3)
    distances = 10.0 ** random.integers(-9, 9, (1, 4000)) * random.random((1, 4000))
    totals = {measure(distances[:, random.permutation(4000)]).total[0] for _ in range(5)}
    (total,) = totals
    assert total == pytest.approx(float(sum(map(Fraction, distances[0].tolist()))), rel=1e-15)


def test_sums_of_very_small_floats():
    found = measure(np.array([[0, 1e-300, 3e-300, UNREACHED]]))
    assert (found.total.tolist(), found.farthest.tolist()) == ([4e-300], [3e-300])


def test_a_sum_beyond_int64_is_refused():
    with pytest.raises(OverflowError, match="13835058055282163712, and 9223372036854775807 is the largest"):
        measure(np.array([[2**62, 2**62, 2**62]]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_within(dtype):
    distances = trees(dtype)
    columns = np.random.default_rng(2).integers(-5, 50, (2, distances.shape[1]))
    thresholds = np.array([0, 2**27, 2**40])
    found = within(distances, thresholds, columns)
    for tree, row in enumerate(distances):
        for place, threshold in enumerate(thresholds):
            near = (row >= 0) & (row <= threshold)
            assert found[tree, place].tolist() == [near.sum(), *columns[:, near].sum(axis=1)]


@pytest.mark.parametrize("values", [[0.1, -2.5, 1e6, 0.0], [3.3, 1e16, -1e16, 1e-9], [1.7e308, 5e-324, -1e308, 1.0], [0.0], []])
def test_digits_add_up_to_the_exact_sum_of_floats(values):
    digits = digits_of(np.array(values))
    every = [*digits.columns.T.tolist(), digits.columns.sum(axis=1).tolist()]
    assert digits.floats(np.array(every)).tolist() == [*values, float(sum(map(Fraction, values)))]


def test_nearest_facilities():
    distances = trees(np.int32) // 2**28  # many ties
    facilities = np.array([3, 5, 8, 13, 21])
    nearest = Nearest(distances, 3, distances.shape[1], np.int64)
    nearest.add(distances[:2], facilities[:2])
    nearest.add(distances[2:], facilities[2:])
    for row in range(200):
        ranked = sorted((d, f) for d, f in zip(distances[:, row].tolist(), facilities.tolist(), strict=True) if d >= 0)[:3]
        ranked += [(-1, -1)] * (3 - len(ranked))
        assert [*zip(nearest.distance[:, row].tolist(), nearest.facility[:, row].tolist(), strict=True)] == ranked


WALKED = (
    "parallel_arcs",
    "two_islands",
    "zero_weight_cycle",
    "zero_weight_clique",
    "equal_weight_cycle",
    "strong_tail",
    "figure_1",
)


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if edges.name in WALKED], ids=lambda edges: edges.name)
def test_loads_of_arcs(edges):
    """Against walking along every path."""
    graph = graph_of(edges, edges.ids[::-1])
    rows = range(graph.num_vertices)
    predecessors = np.stack([sssp(graph, row).predecessor for row in rows])
    random = np.random.default_rng(5)
    asked, pairs = random.integers(0, 3, graph.num_vertices), random.integers(0, graph.num_vertices, (3, 40))
    trees, ends, amounts = pairs[:, pairs[0].argsort()]
    of_pairs = np.zeros_like(predecessors, np.int64)
    np.add.at(of_pairs, (trees, ends), amounts)
    one = np.ones_like(of_pairs)
    for wanted, demand in ((None, one), (asked, one * asked), ("pairs", of_pairs)):
        loads = ArcLoads(graph)
        for some in (slice(0, 3), slice(3, None)):
            if isinstance(wanted, str):
                chosen = slice(*np.searchsorted(trees, [some.start, some.stop or len(rows)]))
                loads.add_paths(predecessors[some], trees[chosen] - some.start, ends[chosen], amounts[chosen])
            else:
                loads.add(predecessors[some], wanted)
        heads = np.repeat(np.arange(graph.num_vertices), np.diff(graph.into.offsets))
        expected = dict.fromkeys(zip(graph.into.indices.tolist(), heads.tolist(), strict=True), 0)
        for tree in rows:
            for row in rows:
                end = row
                while (before := int(predecessors[tree, end])) >= 0:
                    expected[before, end] += demand[tree, row]
                    end = before
        assert loads.loads.tolist() == list(expected.values())


def test_loads_are_betweenness_of_edges_where_paths_are_unique():
    random = np.random.default_rng(7)
    network = nx.gnm_random_graph(30, 60, seed=1)
    weights = random.integers(1, 2**40, network.number_of_edges()).tolist()
    for (src, dst), weight in zip(network.edges, weights, strict=True):
        network[src][dst]["weight"] = weight
    graph = graph_of(EdgeList("random", tuple((s, d, network[s][d]["weight"]) for s, d in network.edges), False, tuple(network)))
    loads = ArcLoads(graph)
    loads.add(np.stack([sssp(graph, row).predecessor for row in range(graph.num_vertices)]))
    expected = nx.edge_betweenness_centrality(network, normalized=False, weight="weight")
    tails, heads = graph.into.indices, np.repeat(np.arange(graph.num_vertices), np.diff(graph.into.offsets))
    found = dict.fromkeys(expected, 0)
    for tail, head, load in zip(tails.tolist(), heads.tolist(), loads.loads.tolist(), strict=True):
        found[(tail, head) if (tail, head) in found else (head, tail)] += load
    assert {edge: load / 2 for edge, load in found.items()} == expected
