"""Sweeps of float weights whose sums round, against a plain Dijkstra, to the last bit."""

import heapq
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.generators import grid_edges
from benchmarks.graphs import graph_of_arcs, graph_of_edges
from kernels.certificate.rules import Broken
from kernels.graph import UNREACHED, Graph
from kernels.hierarchy import build_hierarchy
from kernels.sssp import sssp
from kernels.trees import outwards_cpu, sweeping, trees
from kernels.trees.constants import LANES
from tests.graphs import EdgeList, graph_of

WEIGHTS = {
    "tenths": lambda random, size: random.integers(1, 99, size) / 10,
    "any": lambda random, size: random.random(size),
    "ties": lambda random, size: random.choice([0.1, 0.2, 0.3, 0.6, 0.7], size),
    "zeros": lambda random, size: random.choice([0, 0, 0.1, 0.3], size),
    "absorbed": lambda random, size: random.choice([0.3, 1.0, 7.7, 1e17], size),
    "huge and tiny": lambda random, size: 10.0 ** random.uniform(-320, 300, size),
    "denormal": lambda random, size: np.append(0.1, random.integers(0, 9, size - 1) * 5e-324),
}


def dijkstra(graph: Graph, source: int) -> list[float]:
    """Distances by the definition: the next vertex is the nearest one, and a sum is rounded once per arc."""
    found, waiting = [float(UNREACHED)] * graph.num_vertices, [(0.0, source)]
    while waiting:
        length, row = heapq.heappop(waiting)
        if found[row] == UNREACHED:
            found[row] = length
            arcs = slice(*graph.out.offsets[row : row + 2].tolist())
            for head, weight in zip(graph.out.indices[arcs].tolist(), graph.out.weights[arcs].tolist(), strict=True):
                heapq.heappush(waiting, (length + weight, head))
    return found


def streets(kind: str, directed: bool, seed: int = 1, side: int = 17) -> Graph:
    """A grid without some of its streets, so that some rows cannot be reached."""
    random = np.random.default_rng(seed)
    src, dst = grid_edges(side)
    keep = random.random(len(src)) < 0.8
    src, dst = src[keep], dst[keep]
    if not directed:
        return graph_of_edges(src, dst, WEIGHTS[kind](random, len(src)), side * side)
    ends = np.append(src, dst), np.append(dst, src)
    return graph_of_arcs(*ends, WEIGHTS[kind](random, 2 * len(src)), side * side, symmetric=False)


def check(graph: Graph, sources: np.ndarray) -> None:
    hierarchy = build_hierarchy(graph)
    assert not hierarchy.exact
    found = trees(graph, sources, hierarchy, predecessors=True)
    for place, source in enumerate(sources.tolist()):
        assert found.distances[place].tolist() == dijkstra(graph, source)
        np.testing.assert_array_equal(found.predecessors[place], sssp(graph, source).predecessor)
    np.testing.assert_array_equal(trees(graph, sources, hierarchy).distances, found.distances)


@pytest.fixture
def _no_search(monkeypatch):
    """Sweeps find all trees themselves."""
    monkeypatch.setattr(sweeping, "sssp", None)


@pytest.mark.usefixtures("_no_search")
@pytest.mark.parametrize("directed", [False, True], ids=["streets", "one-way"])
@pytest.mark.parametrize("kind", WEIGHTS)
def test_sums_are_those_of_a_plain_dijkstra(kind, directed):
    graph = streets(kind, directed)
    check(graph, np.random.default_rng(2).integers(0, graph.num_vertices, 2 * LANES + 3))


@pytest.mark.usefixtures("_no_search")
@pytest.mark.parametrize("limits", [(0, 128), (6, 128), (10**6, 128)], ids=["in turns", "both", "nearest first"])
def test_every_order_of_visits_gives_the_same_sums(monkeypatch, limits):
    monkeypatch.setattr(outwards_cpu, "_FEW", limits[0])
    monkeypatch.setattr(outwards_cpu, "_MOST", limits[1])
    graph = streets("ties", True, seed=4)
    check(graph, np.arange(0, graph.num_vertices, 9))


def test_trees_that_take_too_many_visits_are_searched_for(monkeypatch):
    monkeypatch.setattr(outwards_cpu, "_FEW", 0)
    monkeypatch.setattr(outwards_cpu, "_MOST", 0)
    searched, search = [], sweeping.by_search
    monkeypatch.setattr(sweeping, "by_search", lambda graph, row: searched.append(row) or search(graph, row))
    check(streets("tenths", False), np.arange(LANES + 1))
    assert searched


@pytest.mark.parametrize("count", [1, LANES - 1, LANES, LANES + 1])
def test_any_number_of_sources_in_any_order(count):
    graph = streets("tenths", False, side=9)
    check(graph, np.random.default_rng(count).permutation(graph.num_vertices)[:count])


def test_a_sum_that_exceeds_the_largest_float_is_refused():
    graph = graph_of(EdgeList("far", ((0, 1, 1.7e308), (1, 2, 0.1), (1, 3, 1.1e307), (4, 0, 0.3))), dtype=np.float64)
    hierarchy = build_hierarchy(graph)
    np.testing.assert_array_equal(trees(graph, np.array([3]), hierarchy).distances[0], sssp(graph, 3).distance)
    with pytest.raises(OverflowError, match="tree from vertex 4: "):
        trees(graph, np.array([3, 4]), hierarchy)


@pytest.mark.parametrize("factor", [0.5, 1 - 1e-7])
def test_a_hierarchy_of_longer_arcs_finds_the_same_sums_and_one_of_shorter_arcs_is_refused(factor):
    graph = streets("tenths", False)
    other = replace(graph.out, weights=graph.out.weights * factor)
    shorter = Graph(graph.ids, graph.rows_by_id, other, other)
    np.testing.assert_array_equal(trees(shorter, np.array([5]), build_hierarchy(graph)).distances[0], sssp(shorter, 5).distance)
    with pytest.raises(Broken, match="tree from vertex 5: the hierarchy is not that of the graph"):
        trees(graph, np.array([5]), build_hierarchy(shorter))
