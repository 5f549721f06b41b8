"""The certificates on the named graphs, at the edges of the types, on malformed answers, and against any change at all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import Certificate, Components, Forest, Paths
from kernels.bfs.certificate import certify_bfs
from kernels.forest.certificate import certify_forest
from kernels.forest.certificate.joining import join
from kernels.graph import Csr, Graph
from kernels.scc.certificate import certify_scc
from kernels.sssp.certificate import certify_sssp
from kernels.wcc.certificate import certify_wcc
from tests.answers import true_forest, true_paths, true_strong, true_weak, uncleaned
from tests.counts import examples
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

TYPES = (np.int32, np.int64, np.float32, np.float64)
SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]


def certificates(edges: EdgeList, graph: Graph) -> dict[str, Certificate]:
    """Certificates of all true answers; paths from the first and the last vertex."""
    verdicts = {
        "forest": certify_forest(graph, true_forest(edges, graph)),
        "wcc": certify_wcc(graph, true_weak(edges, graph)),
        "scc": certify_scc(graph, true_strong(edges, graph)),
    }
    for source in edges.ids[:1] + edges.ids[-1:]:
        verdicts[f"bfs {source}"] = certify_bfs(graph, true_paths(edges, graph, source, weighted=False))
        verdicts[f"sssp {source}"] = certify_sssp(graph, true_paths(edges, graph, source, weighted=True))
    return verdicts


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_true_answers_of_named_graphs_hold(edges, build):
    for order in (edges.ids, edges.ids[::-1]):
        for name, verdict in certificates(edges, build(edges, order)).items():
            assert (verdict.holds, verdict.reason) == (True, ""), name
            assert verdict.rules


def test_true_answers_of_a_long_path_hold():
    (edges,) = (edges for edges in NAMED_GRAPHS if edges.name == "long_path")
    graph = graph_of(edges)
    row = np.arange(graph.num_vertices, dtype=np.int32)
    ones = np.ones(graph.num_vertices - 1, np.int64)
    zeros = np.zeros_like(row)
    assert certify_bfs(graph, Paths(0, row.astype(np.int64), row - 1)).holds
    assert certify_sssp(graph, Paths(0, row.astype(np.int64), row - 1)).holds
    assert certify_forest(graph, Forest(row[:-1], row[1:], ones, zeros)).holds
    assert certify_wcc(graph, Components(zeros)).holds
    assert certify_scc(graph, Components(zeros)).holds


@pytest.mark.parametrize("dtype", TYPES)
def test_every_type_of_weight(dtype):
    for name, verdict in certificates(FIGURE_1, graph_of(FIGURE_1, dtype=dtype)).items():
        assert verdict.holds, (name, verdict.reason)


def test_memory_maps_and_views_are_accepted(tmp_path):
    def mapped(name, array):
        np.save(tmp_path / name, array)
        return np.load(tmp_path / f"{name}.npy", mmap_mode="r")

    graph = graph_of(FIGURE_1, FIGURE_1.ids[::-1])
    out = Csr(*(mapped(name, getattr(graph.out, name)) for name in ("offsets", "indices", "weights")))
    graph = Graph(mapped("ids", graph.ids), mapped("rows_by_id", graph.rows_by_id), out, out, graph.directed)
    truth = true_paths(FIGURE_1, graph, 0, weighted=True)
    strided = np.repeat(truth.distance, 2)[::2]
    assert certify_sssp(graph, replace(truth, distance=strided, predecessor=mapped("p", truth.predecessor))).holds
    assert certify_forest(graph, true_forest(FIGURE_1, graph)).holds


class TestSums:
    def test_the_greatest_int64_distance_holds_and_no_sum_wraps(self):
        top = 2**63 - 1
        edges = EdgeList("top", ((0, 1, top - 1), (1, 2, 1), (2, 3, 1), (1, 3, top), (0, 3, top)))
        graph = graph_of(edges)
        truth = Paths(0, np.array([0, top - 1, top, top]), np.array([-1, 0, 1, 0], np.int32))
        assert certify_sssp(graph, truth).holds
        assert certify_sssp(graph, replace(truth, predecessor=np.array([-1, 0, 1, 2], np.int32))).reason

    def test_a_distance_beyond_int64_is_refused(self):
        graph = graph_of(EdgeList("beyond", ((0, 1, 2**63 - 1), (1, 2, 1))))
        for far in (2**63 - 1, 0, -1, -(2**63)):
            paths = Paths(0, np.array([0, 2**63 - 1, far]), np.array([-1, 0, 1 if far >= 0 else -1], np.int32))
            assert not certify_sssp(graph, paths).holds

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_float_sums_are_rounded_as_doubles(self, dtype):
        weight = float(dtype(0.1))
        edges = EdgeList("tenths", tuple((i, i + 1, weight) for i in range(30)))
        graph = graph_of(edges, dtype=dtype)
        truth = true_paths(edges, graph, 0, weighted=True)
        assert certify_sssp(graph, truth).holds
        for toward in (0, np.inf):
            for row in range(1, 31):
                distance = truth.distance.copy()
                distance[row] = np.nextafter(distance[row], toward)
                assert not certify_sssp(graph, replace(truth, distance=distance)).holds

    def test_a_sum_that_absorbs_a_weight_is_a_step_of_no_length(self):
        edges = EdgeList("absorbed", ((0, 1, 1.0), (1, 2, 1e-17), (2, 3, 1e-17), (3, 2, 1e-17), (1, 3, 1e-17)))
        graph = graph_of(edges, dtype=np.float64)
        truth = true_paths(edges, graph, 0, weighted=True)
        assert truth.predecessor.tolist() == [-1, 0, 1, 1]
        assert certify_sssp(graph, truth).holds
        assert certify_sssp(graph, replace(truth, predecessor=np.array([-1, 0, 1, 2], np.int32))).reason

    @pytest.mark.parametrize("far", [np.nan, np.inf, -np.inf, -0.0, -0.5])
    def test_what_no_sum_can_be_is_refused(self, far):
        graph = graph_of(FIGURE_1, dtype=np.float64)
        truth = true_paths(FIGURE_1, graph, 0, weighted=True)
        for row in range(graph.num_vertices):
            distance = truth.distance.copy()
            distance[row] = far
            assert "is neither -1 nor a finite number from 0" in certify_sssp(graph, replace(truth, distance=distance)).reason

    @pytest.mark.parametrize("weight", [np.nan, -0.0, np.inf, -1])
    def test_a_forest_has_the_weights_to_the_bit(self, weight):
        graph = graph_of(EdgeList("light", ((0, 1, 0.0), (1, 2, 1.0)), directed=False), dtype=np.float64)
        truth = true_forest(EdgeList("light", ((0, 1, 0.0), (1, 2, 1.0))), graph)
        assert certify_forest(graph, truth).holds
        assert certify_forest(graph, replace(truth, weights=np.array([weight, 1]))).reason


def test_paths_in_the_hierarchy_of_a_forest_stay_short():
    # joined one by one, a path would become a way of 200,000 steps, walked by every chord
    length = 200_000
    rows = np.arange(length, dtype=np.int64)
    chords = np.stack((0 * rows, rows + 1, 0 * rows + length), axis=1)[1:]
    edges = EdgeList("chords", tuple(map(tuple, np.vstack((np.stack((rows, rows + 1, rows), axis=1), chords)).tolist())))
    graph = uncleaned(edges)
    row = rows.astype(np.int32)
    assert certify_forest(graph, Forest(row, row + 1, rows, np.zeros(length + 1, np.int32))).holds
    parent = join(length + 1, row, row + 1, rows).parent
    above, steps = row, 0
    while len(above):
        above, steps = parent[above][parent[above] >= 0], steps + 1
    assert steps - 1 <= np.log2(length + 1)


ROWS = np.array([0, 1, 2, 3, 4, 5, 6], np.int32)
NO_ARRAYS = [None, 7, "rows", [0, 1, 2, 3, 4, 5, 6], np.int32(0), np.array(3, np.int32)]
BAD_ROWS = [*NO_ARRAYS, ROWS[:6], np.append(ROWS, ROWS), ROWS.reshape(1, 7), ROWS + 1, ROWS - 2, ROWS + 2**30, ROWS - 2**30]
BAD_ROWS += [ROWS.astype(dtype) for dtype in (np.int64, np.uint32, np.float64, ">i4", object, bool, str)]


class TestMalformed:
    """The certificate of a malformed answer does not hold and has a reason; nothing is raised."""

    graph = graph_of(FIGURE_1)
    hops = true_paths(FIGURE_1, graph, 0, weighted=False)
    lengths = true_paths(FIGURE_1, graph, 0, weighted=True)
    forest = true_forest(FIGURE_1, graph)

    @pytest.mark.parametrize("rows", BAD_ROWS, ids=repr)
    def test_rows(self, rows):
        for verdict in (
            certify_bfs(self.graph, replace(self.hops, predecessor=rows)),
            certify_sssp(self.graph, replace(self.lengths, predecessor=rows)),
            certify_forest(self.graph, replace(self.forest, src=rows)),
            certify_forest(self.graph, replace(self.forest, dst=rows)),
            certify_forest(self.graph, replace(self.forest, labels=rows)),
            certify_forest(self.graph, Forest(rows, rows, rows, rows)),
            certify_wcc(self.graph, Components(rows)),
            certify_scc(self.graph, Components(rows)),
        ):
            assert not verdict.holds
            assert verdict.reason

    @pytest.mark.parametrize("numbers", BAD_ROWS, ids=repr)
    def test_numbers(self, numbers):
        for verdict in (
            certify_bfs(self.graph, replace(self.hops, distance=numbers)),
            certify_sssp(self.graph, replace(self.lengths, distance=numbers)),
            certify_forest(self.graph, replace(self.forest, weights=numbers)),
        ):
            assert not verdict.holds
            assert verdict.reason

    @pytest.mark.parametrize("source", [-1, 7, 2**70, None, 0.0, "0", np.int64(9)])
    def test_sources(self, source):
        assert "source is row" in certify_bfs(self.graph, replace(self.hops, source=source)).reason
        assert "source is row" in certify_sssp(self.graph, replace(self.lengths, source=source)).reason

    def test_no_vertex_has_no_source(self):
        graph = graph_of(EdgeList("empty", ()))
        nothing = Paths(0, np.empty(0, np.int64), np.empty(0, np.int32))
        assert certify_bfs(graph, nothing).reason == "source is row 0, outside 0..-1"
        assert not certify_forest(graph, Forest(ROWS[:1], ROWS[1:2], np.ones(1, np.int64), ROWS[:0])).holds

    def test_more_edges_than_vertices(self):
        many = np.zeros(100, np.int32)
        assert not certify_forest(self.graph, Forest(many, many + 1, np.ones(100, np.int64), self.forest.labels)).holds

    def test_a_number_of_rows_that_the_type_of_the_labels_cannot_hold_is_not_indexed(self):
        labels = np.full(7, np.iinfo(np.int32).max, np.int32)
        assert certify_wcc(self.graph, Components(labels)).reason == "labels has row 2147483647, outside 0..6"


@st.composite
def edge_lists(draw: st.DrawFn) -> EdgeList:
    vertices = st.integers(0, 7)
    edges = draw(st.lists(st.tuples(vertices, vertices, st.integers(0, 3)), max_size=20))
    return EdgeList("drawn", tuple(edges), draw(st.booleans()), tuple(draw(st.sets(vertices, min_size=1))))


changes = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(-2, 8)), max_size=3)


def changed(answer, drawn):
    """The answer with each drawn (field, index, value) written into it."""
    arrays = {name: array.copy() for name, array in vars(answer).items() if isinstance(array, np.ndarray) and len(array)}
    for field, place, value in drawn:
        array = list(arrays.values())[field % len(arrays)]
        array[place % len(array)] = value
    return replace(answer, **arrays)


@settings(max_examples=examples(400))
@given(edge_lists(), changes, st.randoms(use_true_random=False))
def test_an_answer_holds_if_and_only_if_nothing_is_changed(edges, drawn, random):
    order = random.sample(edges.ids, len(edges.ids))
    graph = uncleaned(edges, order)
    source = random.choice(order)
    for certify, truth in (
        (certify_bfs, true_paths(edges, graph, source, weighted=False)),
        (certify_sssp, true_paths(edges, graph, source, weighted=True)),
        (certify_forest, true_forest(edges, graph)),
        (certify_wcc, true_weak(edges, graph)),
        (certify_scc, true_strong(edges, graph)),
    ):
        answer = changed(truth, drawn)
        unchanged = all(np.array_equal(array, vars(answer)[name]) for name, array in vars(truth).items())
        assert certify(graph, answer).holds == unchanged
