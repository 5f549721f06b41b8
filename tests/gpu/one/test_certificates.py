"""The certificates on the GPU: true answers hold, no mutant does, and every verdict and reason is the CPU's."""

# ruff: noqa: E402  (the imports below need CuPy)
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.answers import Certificate, Components, Forest, Paths
from kernels.bfs import bfs
from kernels.bfs.certificate import certify_bfs
from kernels.forest import minimum_spanning_forest
from kernels.forest.certificate import certify_forest
from kernels.gpu.transfer import copied_by, to_device
from kernels.graph import NO_ROW, UNREACHED, WEIGHTS, Array, Graph
from kernels.scc import scc
from kernels.scc.certificate import certify_scc
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp
from kernels.wcc import wcc
from kernels.wcc.certificate import certify_wcc
from tests.answers import true_forest, true_paths, true_strong, true_weak, uncleaned
from tests.certificates.test_certificates import BAD_ROWS, SMALL
from tests.certificates.test_certificates_changes import Night
from tests.certificates.test_certificates_mutants import CERTIFIED, label_changes, random_graph
from tests.gpu.inputs import poison, random_edges, shuffled, with_wide_rows
from tests.graphs import FIGURE_1, EdgeList, graph_of

MUTANTS = 20_000  # of each certificate
Answer = Paths | Forest | Components
Certify = Callable[[Graph, Any], Certificate]


def to_gpu(answer: Answer) -> Answer:
    arrays = {name: cupy.asarray(array) for name, array in vars(answer).items() if isinstance(array, np.ndarray)}
    return replace(answer, **arrays)


def with_wide(answer: Answer) -> Answer:
    names = vars(answer).keys() & {"predecessor", "src", "dst", "labels", "vertex", "reached"}
    rows = {name: vars(answer)[name].astype(np.int64) for name in names}
    return replace(answer, **rows)


def assert_same_verdict(certify: Certify, graph: Graph, on_device: Graph, answer: Answer) -> Certificate:
    """Both backends give the same verdict on an answer; the CPU always has narrow rows."""
    expected = certify(graph, answer)
    found = certify(on_device, to_gpu(answer if on_device.rows_by_id.dtype == graph.rows_by_id.dtype else with_wide(answer)))
    assert found == expected, (graph, answer)
    return found


def assert_holds(certify: Certify, on_device: Graph, answer: Answer) -> None:
    poison()
    verdict = certify(on_device, answer)
    assert (verdict.holds, verdict.reason) == (True, "")
    assert verdict.rules


def weighted_edges(seed: int, num_vertices: int, num_edges: int, directed: bool, values: tuple[float, ...]) -> EdgeList:
    edges = random_edges(seed, num_vertices, num_edges, directed, 1 + seed % 3)
    weights = np.random.default_rng(seed).integers(0, len(values), num_edges).tolist()
    weighted = tuple((*edge, values[weight]) for edge, weight in zip(edges.edges, weights, strict=True))
    return EdgeList("weighted", weighted, directed, edges.vertices)


def solved(graph: Graph, source: int) -> Iterator[tuple[Certify, Answer]]:
    """Every certificate with the true answer."""
    yield certify_bfs, bfs(graph, source)
    yield certify_sssp, sssp(graph, source)
    yield certify_forest, minimum_spanning_forest(graph)
    yield certify_wcc, wcc(graph)
    yield certify_scc, scc(graph)


class TestTrueAnswersHold:
    @pytest.mark.parametrize("build", [graph_of, uncleaned])
    @pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
    def test_of_named_graphs(self, edges: EdgeList, build: Callable) -> None:
        for order in (edges.ids, edges.ids[::-1]):
            graph = build(edges, order)
            on_device = to_device(graph)
            assert_holds(certify_forest, on_device, to_gpu(true_forest(edges, graph)))
            assert_holds(certify_wcc, on_device, to_gpu(true_weak(edges, graph)))
            assert_holds(certify_scc, on_device, to_gpu(true_strong(edges, graph)))
            for source in edges.ids[:1] + edges.ids[-1:]:
                assert_holds(certify_bfs, on_device, to_gpu(true_paths(edges, graph, source, weighted=False)))
                assert_holds(certify_sssp, on_device, to_gpu(true_paths(edges, graph, source, weighted=True)))

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("dtype", WEIGHTS, ids=str)
    @pytest.mark.parametrize("num_edges", [300, 3000, 30000])
    def test_of_random_graphs(self, num_edges: int, dtype: np.dtype, directed: bool) -> None:
        values = (0, 0, 1, 2, 7, 2**20) if dtype.kind == "i" else (0, 1e-17, 0.25, 0.1, 0.3, 1e6)
        edges = weighted_edges(num_edges, 2000, num_edges, directed, values)
        for graph in (shuffled(edges, dtype.type), with_wide_rows(shuffled(edges, dtype.type))):
            on_device = to_device(graph)
            for certify, truth in solved(graph, 17):
                assert_holds(certify, on_device, to_gpu(truth))
            for certify, answer in solved(on_device, 17):
                assert_holds(certify, on_device, answer)

    def test_of_rows_for_many_warps(self) -> None:
        hubs = [(hub, 10 * hub + i) for hub, degree in ((0, 40), (1000, 1500), (9000, 50_000)) for i in range(1, degree)]
        back = [(dst, src) for src, dst in hubs if dst % 3 == 0]
        for directed in (False, True):
            graph = shuffled(EdgeList("hubs", (*hubs, *back, (0, 1000), (9000, 0)), directed, (10**6, 10**7)))
            on_device = to_device(graph)
            for certify, truth in solved(graph, int(graph.rows_by_id[-3])):
                assert_holds(certify, on_device, to_gpu(truth))

    def test_of_long_chains(self) -> None:
        for weights in (range(20_000), range(20_000, 0, -1), [0] * 20_000):
            edges = EdgeList("chain", tuple((i, i + 1, weight) for i, weight in enumerate(weights)), False)
            graph = graph_of(edges)
            on_device = to_device(graph)
            for certify, truth in solved(graph, 0):
                assert_holds(certify, on_device, to_gpu(truth))


@pytest.mark.parametrize("name", CERTIFIED)
def test_20_000_mutants_are_refused_with_the_reasons_of_the_cpu(name: str) -> None:
    certify, solve, mutate = CERTIFIED[name]
    rng = np.random.default_rng(20261121)
    refused = 0
    poison()
    while refused < MUTANTS:
        edges, graph = random_graph(rng)
        on_device = to_device(with_wide_rows(graph) if rng.random() < 0.2 else graph)
        truth = solve(edges, graph, rng)
        assert assert_same_verdict(certify, graph, on_device, truth).holds
        for mutant in mutate(graph, truth, rng):
            assert not assert_same_verdict(certify, graph, on_device, mutant).holds, (edges, graph, truth, mutant)
            refused += 1


def array_changes(graph: Graph, truth: Answer, rng: np.random.Generator) -> Iterator[Answer]:
    """The answer with a few entries of an array changed, moved or taken from another row."""
    arrays = {name: array for name, array in vars(truth).items() if isinstance(array, np.ndarray) and len(array)}
    for name, array in arrays.items():
        for _ in range(12):
            changed = array.copy()
            places = rng.integers(0, len(array), rng.integers(1, 4))
            way = rng.integers(4)
            if way == 0:
                changed[places] = array[rng.integers(0, len(array), len(places))]
            elif way == 1:
                changed[places] += rng.integers(-2, 3)
            elif way == 2:
                changed[places] = rng.choice([UNREACHED, NO_ROW, 0, len(graph.ids) - 1, len(graph.ids), -7])
            else:
                changed[places] = changed[places[::-1]]
            yield replace(truth, **{name: changed})
    if isinstance(truth, Components):
        yield from (Components(labels) for labels in label_changes(graph, truth.labels, rng, 4))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_changes_in_graphs_of_many_warps_are_refused_with_the_reasons_of_the_cpu(seed: int, directed: bool) -> None:
    rng = np.random.default_rng(seed)
    values = ((0, 1, 2, 3), (0.0, 0.1, 0.3, 1e-17))[seed % 2]
    dtype = list(WEIGHTS)[seed % 2 * 2 + seed // 2]
    for num_edges in (2500, 9000, 60_000):
        graph = shuffled(weighted_edges(seed, 3000, num_edges, directed, values), dtype.type)
        on_device = to_device(graph)
        for certify, truth in solved(graph, int(rng.integers(3000))):
            assert_same_verdict(certify, graph, on_device, truth)
            refused = sum(
                not assert_same_verdict(certify, graph, on_device, mutant).holds for mutant in array_changes(graph, truth, rng)
            )
            assert refused > 3


class TestMalformed:
    graph = graph_of(FIGURE_1)

    def test_of_another_form(self) -> None:
        on_device = to_device(self.graph)
        hops = true_paths(FIGURE_1, self.graph, 0, weighted=False)
        forest = true_forest(FIGURE_1, self.graph)
        for rows in BAD_ROWS:
            for certify, answer in (
                *((certify_bfs, replace(hops, **{name: rows})) for name in ("distance", "predecessor")),
                *((certify_forest, replace(forest, **{name: rows})) for name in ("src", "dst", "weights", "labels")),
                *((certify_forest, replace(forest, src=forest.src - 1, **{name: rows})) for name in ("dst", "weights", "labels")),
                (certify_wcc, Components(rows)),
                (certify_scc, Components(rows)),
            ):
                if all(on_a_device(array) for array in vars(answer).values()):
                    assert not assert_same_verdict(certify, self.graph, on_device, answer).holds
                else:
                    assert not certify(on_device, answer).holds

    def test_arrays_of_the_other_backend_are_refused(self) -> None:
        truth = true_weak(FIGURE_1, self.graph)
        assert certify_wcc(to_device(self.graph), truth).reason == "labels is not an array of one dimension"
        assert certify_wcc(self.graph, to_gpu(truth)).reason == "labels is not an array of one dimension"

    def test_more_edges_than_vertices(self) -> None:
        edges = weighted_edges(3, 40, 900, False, (1, 2))
        graph = shuffled(edges)
        pairs = sorted({tuple(sorted(edge[:2])) for edge in edges.edges if edge[0] != edge[1]})
        row = {int(vertex): row for row, vertex in enumerate(graph.ids)}
        ends = np.array([[row[src], row[dst]] for src, dst in pairs], np.int32).T.copy()
        many = Forest(ends[0], ends[1], np.arange(len(pairs), 0, -1), wcc(graph).labels)
        assert "closes a cycle" in assert_same_verdict(certify_forest, graph, to_device(graph), many).reason

    def test_no_vertex_has_no_source(self) -> None:
        graph = to_device(graph_of(EdgeList("empty", ())))
        nothing = Paths(0, cupy.empty(0, np.int64), cupy.empty(0, np.int32))
        assert certify_bfs(graph, nothing).reason == "source is row 0, outside 0..-1"


def on_a_device(value: Array) -> bool:
    return not isinstance(value, np.ndarray) or (value.dtype.kind in "biuf" and value.dtype.isnative)


class TestSums:
    def test_the_greatest_int64_distance_holds_and_no_sum_wraps(self) -> None:
        top = 2**63 - 1
        edges = EdgeList("top", ((0, 1, top - 1), (1, 2, 1), (2, 3, 1), (1, 3, top), (0, 3, top)))
        graph = graph_of(edges)
        truth = Paths(0, np.array([0, top - 1, top, top]), np.array([-1, 0, 1, 0], np.int32))
        for answer in (truth, replace(truth, predecessor=np.array([-1, 0, 1, 2], np.int32))):
            assert_same_verdict(certify_sssp, graph, to_device(graph), answer)
        assert certify_sssp(to_device(graph), to_gpu(truth)).holds

    @pytest.mark.parametrize("far", [np.nan, np.inf, -np.inf, -0.0, -0.5])
    def test_what_no_sum_can_be_is_refused(self, far: float) -> None:
        graph = graph_of(FIGURE_1, dtype=np.float64)
        truth = true_paths(FIGURE_1, graph, 0, weighted=True)
        for row in range(graph.num_vertices):
            distance = truth.distance.copy()
            distance[row] = far
            answer = replace(truth, distance=distance)
            assert not assert_same_verdict(certify_sssp, graph, to_device(graph), answer).holds

    @pytest.mark.parametrize("weight", [np.nan, -0.0, np.inf, -1])
    def test_a_forest_has_the_weights_to_the_bit(self, weight: float) -> None:
        edges = EdgeList("light", ((0, 1, 0.0), (1, 2, 1.0)), directed=False)
        graph = graph_of(edges, dtype=np.float64)
        truth = true_forest(edges, graph)
        assert_holds(certify_forest, to_device(graph), to_gpu(truth))
        answer = replace(truth, weights=np.array([weight, 1]))
        assert not assert_same_verdict(certify_forest, graph, to_device(graph), answer).holds


def test_twenty_repeats_give_one_verdict() -> None:
    graph = shuffled(weighted_edges(7, 20_000, 60_000, True, (0, 0, 1, 5)), np.int32)
    on_device = to_device(graph)
    answers = [(certify, to_gpu(truth)) for certify, truth in solved(graph, 5)]
    for _ in range(20):
        for certify, answer in answers:
            assert_holds(certify, on_device, answer)


def test_changes_have_the_verdict_of_the_cpu():
    def on_gpu(parts):
        return copied_by(cupy.asarray, parts)

    rng = np.random.default_rng(8)
    for night in (Night(rng) for _ in range(20)):
        assert night.certificate(moved=on_gpu).holds
        for name, arguments in night.mutants():
            found, due = night.certificate(**arguments, moved=on_gpu), night.certificate(**arguments)
            assert (found.holds, found.reason) == (due.holds, due.reason), name
            assert not due.holds or name == "before: one direction"
