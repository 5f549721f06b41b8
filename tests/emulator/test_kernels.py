"""Every kernel on the emulated GPU, on small graphs, against the CPU's answers, to the byte."""

# ruff: noqa: E402  (the imports below need the emulator)
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.generators import grid_edges
from benchmarks.one_gpu.contests import ALGORITHMS, arcs_of, build_out_csr, equal
from kernels.algorithm import AnswerTooLarge
from kernels.answers import Closure
from kernels.betweenness import betweenness
from kernels.closure import closure
from kernels.closure import cuda as cuda_closure
from kernels.closure.certificate import certify_closure
from kernels.flow import max_flow
from kernels.flow.certificate import certify_flows
from kernels.gpu import loader
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from kernels.hierarchy import build_hierarchy, customise
from kernels.paths.constants import LARGE_ROW
from kernels.reachability import METHODS, reach, reachability
from kernels.reachability.queries import cuda as cuda_queries
from kernels.sssp import sssp
from kernels.trees import batch_size, trees
from kernels.trees import cuda as cuda_trees
from kernels.trees.targets import Targets
from tests.answers import uncleaned
from tests.cpu.hierarchy.checks import same
from tests.gpu.one.test_forest import check_rooted
from tests.gpu.requested.test_closure_and_flows import check_closure_over_ranks
from tests.gpu.sanitized import layers, run_over_shards, run_reachability
from tests.gpu.trees.test_reductions import check as require_reductions
from tests.graphs import EdgeList, graph_of
from tests.reachability import paths_of
from tests.trees.test_joins import with_ends


def roads(side: int = 12) -> Graph:
    random = np.random.default_rng(1)
    ends = np.stack(grid_edges(side), 1)
    return weighted(ends[random.random(len(ends)) < 0.8], False, random)


def crowd(people: int = 400) -> Graph:
    """Directed; one vertex has hundreds of arcs and most have few. The largest strong component does not reach the rings."""
    random = np.random.default_rng(2)
    ends = (people * random.random((15 * people // 4, 2)) ** 3).astype(np.int64)
    rings = people + np.arange(30)
    return weighted(np.concatenate([ends, np.stack([rings, np.roll(rings, -10)], 1)]), True, random)


def throng(people: int = 200) -> Graph:
    """Directed, with too many arcs for the searches of long paths; many have length zero."""
    random = np.random.default_rng(3)
    return weighted((people * random.random((20 * people, 2)) ** 2).astype(np.int64), True, random, unit=40)


def weighted(ends: np.ndarray, directed: bool, random: np.random.Generator, unit: int = 1) -> Graph:
    weights = (random.integers(1, 99, len(ends)) // unit).tolist()
    edges = EdgeList("random", tuple((a, b, weight) for (a, b), weight in zip(ends.tolist(), weights, strict=True)), directed)
    return graph_of(edges, random.permutation(edges.ids).tolist(), np.int32)


@pytest.fixture(scope="module", params=[roads, crowd], ids=["roads", "crowd"])
def graph(request) -> Graph:
    return request.param()


@pytest.fixture(scope="module")
def on_device(graph) -> Graph:
    return to_device(graph)


@pytest.mark.parametrize("kernel", ALGORITHMS, ids=lambda kernel: kernel.name)
def test_algorithms_and_certificates(kernel, graph, on_device):
    """Also called for every architecture."""
    for inputs in kernel.inputs(on_device, 1):
        expected = kernel.solve(graph, *inputs)
        for method in kernel.methods(on_device):
            found = kernel.solve(on_device, *inputs, **method)
            kernel.require_equal(found, expected)
            verdict, same = kernel.certify(on_device, found), kernel.certify(graph, expected)
            assert (verdict.holds, len(verdict.rules)) == (True, len(same.rules)), verdict.reason  # a rule may state a score


def test_hierarchies(graph, on_device):
    expected, found = build_hierarchy(graph), build_hierarchy(on_device)
    same(found, expected)
    same(customise(found, on_device), customise(expected, graph))


def test_the_layout(graph, on_device):
    arcs = arcs_of(on_device)
    on_host = [array if array is None else array.get() for array in arcs]
    declared = range(graph.num_vertices)
    equal(build_out_csr(on_device, *arcs, declared, False, 64), build_out_csr(graph, *on_host, declared, False, 64))


@pytest.mark.parametrize("method", METHODS)
def test_reachability(method, graph, on_device):
    index, index_there = (reachability(of, 3, 7, method) for of in (graph, on_device))
    equal(index_there, index)
    src, dst = np.random.default_rng(3).integers(0, graph.num_vertices, (2, 500))
    found, expected = reach(index_there, cupy.asarray(src), cupy.asarray(dst)), reach(index, src, dst)
    np.testing.assert_array_equal(found.reachable.get(), expected.reachable)


def test_trees_to_joins(monkeypatch):
    """Of arcs of length zero that lead to the ends of split crossings, no row waits."""
    graph = with_ends(40)
    monkeypatch.setattr(cuda_trees, "with_zero_steps", lambda *_: pytest.fail("some rows wait"))
    sources = np.arange(0, graph.num_vertices, 2)
    hierarchy, there = build_hierarchy(graph), to_device(graph)
    found = trees(there, sources, to_device(hierarchy), predecessors=True)
    expected = trees(graph, sources, hierarchy, predecessors=True)
    np.testing.assert_array_equal(found.distances.get(), expected.distances)
    np.testing.assert_array_equal(found.predecessors.get(), expected.predecessors)


@pytest.mark.parametrize("unit", [1, 40, 10.0], ids=["positive", "many of length zero", "decimals"])
def test_trees(unit):
    """All trees, and those to one target, over which sweeps visit a part of the positions."""
    graph = roads()
    side = replace(graph.out, weights=graph.out.weights // unit if isinstance(unit, int) else graph.out.weights / unit)
    graph = replace(graph, out=side, into=side)
    sources = np.arange(0, graph.num_vertices, 4)
    expected, hierarchy, there = trees(graph, sources, predecessors=True), to_device(build_hierarchy(graph)), to_device(graph)
    found, targets = trees(there, sources, hierarchy, predecessors=True), Targets(there, hierarchy, sources[:1])
    np.testing.assert_array_equal(found.distances.get(), expected.distances)
    np.testing.assert_array_equal(found.predecessors.get(), expected.predecessors)
    np.testing.assert_array_equal(targets.distances(sources).get(), expected.distances[:, sources[:1]])


def test_trees_without_memory_for_a_group(monkeypatch):
    """They are found by searches."""
    graph = roads(6)
    expected, hierarchy, there = trees(graph, [3, 8], predecessors=True), to_device(build_hierarchy(graph)), to_device(graph)
    monkeypatch.setattr(loader, "free_bytes", lambda: 300 * graph.num_vertices)
    monkeypatch.setattr(cuda_trees, "_sweep", None)
    found, targets = trees(there, [3, 8], hierarchy, predecessors=True), Targets(there, hierarchy, [5])
    np.testing.assert_array_equal(found.distances.get(), expected.distances)
    np.testing.assert_array_equal(found.predecessors.get(), expected.predecessors)
    np.testing.assert_array_equal(targets.distances([3, 8]).get(), expected.distances[:, [5]])
    assert batch_size(there, hierarchy) == 6


def test_predecessors_of_a_row_that_takes_a_block():
    graph = graph_of(EdgeList("star", tuple((0, leaf, leaf % 7) for leaf in range(1, LARGE_ROW + 1)), directed=False))
    equal(sssp(to_device(graph), 5), sssp(graph, 5))


def test_witness_paths(graph, on_device):
    src, dst = np.random.default_rng(3).integers(0, graph.num_vertices, (2, 200))
    assert paths_of(on_device, cupy.asarray(src), cupy.asarray(dst), 500) == paths_of(graph, src, dst)


def test_reachability_in_every_way(on_device):
    assert run_reachability(on_device) == 4 * len(METHODS)


def test_queries_that_the_labels_leave_to_searches():
    graph = layers(30)
    arcs = to_device(graph)
    index, index_there = reachability(graph, 1), reachability(arcs, 1)
    src, dst = np.random.default_rng(4).integers(0, graph.num_vertices, (2, 1000))
    expected = reach(index, src, dst).reachable
    for way in ({}, *({"width": width, "by_warps": False} for width in (32, 64, 256))):
        found = cuda_queries.answer(index_there, cupy.asarray(src), cupy.asarray(dst), **way)
        np.testing.assert_array_equal(found.reachable.get(), expected)


@pytest.mark.parametrize("memory", [2**30, 0], ids=["one block", "blocks"])
def test_the_closure_and_its_certificate(memory, monkeypatch):
    """Rows with several words; a pair less, and a pair that no arc explains."""
    graph = graph_of(EdgeList("steps", tuple((a, (7 * a + step) % 90) for a in range(0, 60, 2) for step in (1, 5) if a != 22)))
    arcs, expected = to_device(graph), closure(graph)
    monkeypatch.setattr(cuda_closure, "free_bytes", lambda: memory)
    found = closure(arcs)
    equal(found, expected)
    assert certify_closure(arcs, found).holds
    for place in (0, len(expected.vertex) // 2):
        less = (np.delete(array, place) for array in (expected.vertex, expected.reached))
        reason = certify_closure(arcs, Closure(*map(cupy.asarray, less))).reason
        assert "does not reach" in reason or "reach each other" in reason
    check_closure_over_ranks(graph, arcs, 3)
    with pytest.raises(AnswerTooLarge):
        closure(arcs, len(expected.vertex) - 1)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_reductions_of_trees(dtype, graph):
    require_reductions(graph, range(3), dtype)


@pytest.mark.parametrize("weights", [True, False])
def test_betweenness(weights, graph, on_device):
    asked = {"weights": weights, "exact_below": 0, "epsilon": 0.35}
    equal(betweenness(on_device, **asked), betweenness(graph, **asked))


@pytest.mark.parametrize("at_once", [4, 1], ids=["pairs at once", "pairs in turn"])
def test_flows_and_their_certificate(at_once, monkeypatch, graph, on_device):
    monkeypatch.setattr(loader, "fitting", lambda _: at_once)
    pairs = np.random.default_rng(3).integers(0, graph.num_vertices, (2, 4)).astype(np.int32)
    found, expected = max_flow(on_device, *cupy.asarray(pairs)), max_flow(graph, *pairs)
    for name in ("value", "vertices", "cut_begins", "cut_src", "cut_dst"):
        np.testing.assert_array_equal(getattr(found, name).get(), getattr(expected, name))
    assert certify_flows(on_device, found).holds
    assert not certify_flows(on_device, replace(found, vertices=found.vertices + 1)).holds


def test_flows_that_return_to_the_source():
    """A target that is not reached, and one that takes a part; self-loops and parallel arcs."""
    arcs = ((0, 1, 5), (1, 1, 9), (1, 3, 2), (1, 3, 1), (2, 3, 1), (3, 4, 2), (3, 5, 4))
    graph = uncleaned(EdgeList("dead ends", arcs))
    pairs = np.array([[0, 0, 0], [2, 4, 3]], np.int32)
    found, expected = max_flow(to_device(graph), *cupy.asarray(pairs)), max_flow(graph, *pairs)
    assert found.value.tolist() == expected.value.tolist() == [0, 2, 3]
    assert certify_flows(graph, on_host(found)).holds


def test_shards(on_device):
    assert run_over_shards(on_device) == 6


def test_shards_with_short_paths():
    assert run_over_shards(to_device(throng(60))) == 6


def test_rooted_forests() -> None:
    check_rooted()
