"""Sweeps of many trees on the GPU equal `sssp` on the CPU to the byte."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.generators import grid_edges
from benchmarks.graphs import graph_of_arcs, graph_of_edges, grid
from kernels.certificate.rules import Broken
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.hierarchy import build_hierarchy
from kernels.sssp import sssp
from kernels.trees import cuda, sweeping, trees
from kernels.trees.proof import cuda as proof
from kernels.trees.targets import Targets
from tests.gpu.inputs import poison
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if 2 < len(edges.ids) <= 100]


def check(graph: Graph, sources: list[int]) -> None:
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    poison(1 << 20)
    found = trees(there, np.array(sources), hierarchy, predecessors=True)
    for place, source in enumerate(sources):
        paths = sssp(graph, source)
        np.testing.assert_array_equal(found.distances[place].get(), paths.distance)
        np.testing.assert_array_equal(found.predecessors[place].get(), paths.predecessor)
    alone = trees(there, np.array(sources), hierarchy)
    np.testing.assert_array_equal(alone.distances.get(), found.distances.get())
    assert alone.predecessors is None


@pytest.mark.parametrize("dtype", [np.int64, np.float64], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, dtype: type) -> None:
    check(graph_of(edges, dtype=dtype), [0, 1, 2, 0])


@pytest.mark.parametrize("count", [1, 31, 32, 33])
def test_any_number_of_trees(count: int) -> None:
    graph = grid(12)
    check(graph, np.random.default_rng(count).integers(0, graph.num_vertices, count).tolist())


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_arcs_of_length_zero(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tree is searched for, although arcs of length zero lead to many rows."""
    graph = grid(12)
    weights = np.where(graph.out.weights < 400, 0, graph.out.weights).astype(dtype)
    out = replace(graph.out, weights=weights)
    monkeypatch.setattr(sweeping, "sssp", None)
    check(Graph(graph.ids, graph.rows_by_id, out, out, graph.directed), list(range(0, 144, 9)))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3, 0.6, 0.7], [0, 0.1, 0.3], [0.3, 7.7, 1e17], [1e-320, 0.1, 1e-9]], ids=str)
def test_float_sums_that_round(values: list[float], symmetric: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streets, and one-way streets, whose sums depend on the order of additions. No tree is searched for."""
    monkeypatch.setattr(sweeping, "sssp", None)
    src, dst = grid_edges(12)
    random = np.random.default_rng(5)
    if symmetric:
        graph = graph_of_edges(src, dst, random.choice(values, len(src)), 144)
    else:
        ends = np.append(src, dst), np.append(dst, src)
        graph = graph_of_arcs(*ends, random.choice(values, 2 * len(src)), 144, symmetric=False)
    assert not build_hierarchy(graph).exact
    check(graph, random.integers(0, 144, 40).tolist())


def test_rows_with_more_arcs_than_a_warp_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A depot with 200 streets: in the proof, the arcs from HELD on are not in shared memory. No tree is searched for."""
    monkeypatch.setattr(sweeping, "sssp", None)
    src, dst = np.append(grid_edges(15), [np.arange(200), np.full(200, 225)], axis=1)
    check(graph_of_edges(src, dst, np.random.default_rng(1).integers(1, 9, len(src)), 226), [0, 7, 209, 225])


def test_sums_that_do_not_fit_32_bits_or_64() -> None:
    for heavy in (2**30, 2**31, 2**62 - 1):
        check(graph_of(EdgeList("heavy", ((0, 1, heavy), (1, 2, heavy), (3, 2, 1)))), [0, 1, 3])
    graph = graph_of(EdgeList("beyond", ((0, 1, 2**62), (1, 2, 2**62))))
    with pytest.raises(OverflowError):
        trees(to_device(graph), np.array([0]), to_device(build_hierarchy(graph)))


def test_distances_to_targets() -> None:
    graph = grid(20)
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    sources, rows = np.arange(0, 400, 11), np.array([7, 390, 7])
    found = Targets(there, hierarchy, rows).distances(sources).get()
    np.testing.assert_array_equal(found, trees(graph, sources).distances[:, rows])


def test_a_hierarchy_of_other_weights_is_refused() -> None:
    graph = grid(12)
    hierarchy = to_device(build_hierarchy(graph))
    for change in (1, -1):
        out = replace(graph.out, weights=graph.out.weights + change)
        with pytest.raises(Broken, match="tree from vertex 5: the hierarchy is not that of the graph"):
            trees(to_device(Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)), np.array([5]), hierarchy)


def test_every_wrong_length_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of many trees accepts the right lengths only: each mutant differs in one entry."""
    graph = graph_of(FIGURE_1)
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    rows, sums, sweep = np.arange(3, dtype=np.int32), np.dtype(np.int32), cuda._sweep

    def refused(place: int, value: int) -> list[bool]:
        def mutant(*arguments: Any) -> Any:
            lengths = sweep(*arguments)
            lengths[place] = value
            return lengths

        monkeypatch.setattr(cuda, "_sweep", mutant)
        found = cuda.solve(there, hierarchy, rows, sums, True)
        return (found.loose | found.waiting).tolist()

    right = sweep(hierarchy, rows, sums, None).get().reshape(-1, 32)
    for position in range(graph.num_vertices):
        for lane in range(len(rows)):
            length = int(right[position, lane])
            for value in {0, max(length - 1, 0), length + 1, 2**31, 2**32 - 1}:
                wrong = [lane == at and value != length for at in range(len(rows))]
                assert refused(32 * position + lane, value) == wrong


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("least", [0, 1])
def test_sums_without_distances(least: int, symmetric: bool) -> None:
    """They are those of the distances, also of one-way streets that end, arcs of length zero, and rows with many arcs."""
    random = np.random.default_rng(least)
    src, dst = np.append(grid_edges(15), [np.arange(200), np.full(200, 225)], axis=1)
    ends = (src, dst) if symmetric else (np.append(src, dst[::3]), np.append(dst, src[::3]))
    weights = random.integers(least, 9, len(ends[0]))
    graph = graph_of_edges(*ends, weights, 226) if symmetric else graph_of_arcs(*ends, weights, 226, symmetric=False)
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    for count in (1, 32, 77, 300):
        sources = random.integers(0, 226, count)
        poison(1 << 20)
        found = trees(there, sources, hierarchy, summed=True)
        distances = trees(graph, sources).distances
        if found.sums is None:  # not proved without a search along arcs of length zero
            assert least == 0
            np.testing.assert_array_equal(found.distances.get(), distances)
        else:
            assert found.distances.shape == (count, 0)
            expected = [(distances >= 0).sum(axis=1), distances.max(axis=1), np.where(distances < 0, 0, distances).sum(axis=1)]
            np.testing.assert_array_equal(found.sums.get(), expected)


def test_sums_that_do_not_fit_32_bits() -> None:
    graph = graph_of(EdgeList("heavy", ((0, 1, 2**30), (1, 2, 2**30), (3, 2, 1))))
    found = trees(to_device(graph), np.array([0, 1]), to_device(build_hierarchy(graph)), summed=True)
    assert found.sums is None
    np.testing.assert_array_equal(found.distances.get(), trees(graph, np.array([0, 1])).distances)


def test_sums_of_every_wrong_length_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(FIGURE_1)
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    rows, sweep = np.arange(3, dtype=np.int32), cuda._sweep
    assert cuda.measured(there, hierarchy, rows) is not None
    right = sweep(hierarchy, rows, np.dtype(np.int32), None)
    for position in range(graph.num_vertices):
        for tree in range(3):
            for change in (-1, 1, 0x7FFFFFFF):
                wrong = right.copy()
                wrong[position * 32 + tree] += np.uint32(change & 0xFFFFFFFF)
                monkeypatch.setattr(cuda, "_sweep", lambda *_, wrong=wrong: wrong)
                assert cuda.measured(there, hierarchy, rows) is None, (position, tree, change)


def test_a_source_that_an_arc_of_length_zero_enters_needs_no_other_row_without_an_arc() -> None:
    """Vertex 0 is not reached from 1, but would be at distance 0 if the arc to it were taken for one that leads to the source."""
    graph = graph_of(EdgeList("joined", ((0, 1, 0), (1, 2, 5), (2, 3, 7), (0, 4, 9))))
    there, hierarchy = to_device(graph), to_device(build_hierarchy(graph))
    rows, sums = np.array([1], np.int32), np.dtype(np.int32)
    right = cuda._sweep(hierarchy, rows, sums, None)
    assert proof.measure(there, hierarchy, rows, right) is not None
    wrong, places = right.copy(), hierarchy.positions.get()
    wrong[places[0] * 32], wrong[places[4] * 32] = 0, 9
    assert proof.measure(there, hierarchy, rows, wrong) is None
    assert proof.prove(there, hierarchy, rows, wrong, sums, True).waiting.tolist() == [True]
