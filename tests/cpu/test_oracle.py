"""The second solver agrees with true answers, SciPy's traps included, and with nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from kernels.answers import Components, Forest, Paths, Scores
from kernels.graph import Csr, Graph
from kernels.oracle import oracle
from kernels.pagerank.certificate import FARTHEST
from tests.answers import true_answers, true_forest, true_paths, uncleaned
from tests.counts import examples
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500]


def locked(csr: Csr) -> Csr:
    """The same arrays, and an exception for who writes to them."""
    for array in vars(csr).values():
        if array is not None:
            array.flags.writeable = False
    return csr


@pytest.mark.parametrize("build", [graph_of, uncleaned])
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_true_answers_of_named_graphs_agree(edges, build):
    for order in (edges.ids, edges.ids[::-1]):
        graph = build(edges, order)
        locked(graph.out), locked(graph.into)
        for stage, answer in true_answers(edges, graph):
            verdict = oracle(graph, stage, answer)
            assert (verdict.holds, verdict.reason) == (True, ""), stage
            assert "scipy" in verdict.rules[0]


@pytest.mark.sampled
def test_hundreds_of_random_graphs_agree_and_changed_answers_do_not():
    rng = np.random.default_rng(5)
    for _ in range(examples(600)):
        num_vertices = int(rng.integers(1, 12))
        ends = rng.integers(0, num_vertices, (int(rng.integers(0, 25)), 2)).tolist()
        edges = EdgeList(
            "random",
            tuple(
                (src, dst, float(weight))
                for (src, dst), weight in zip(ends, rng.choice([0, 0.1, 0.2, 0.3], len(ends)), strict=True)
            ),
            directed=bool(rng.integers(2)),
            vertices=tuple(range(num_vertices)),
        )
        graph = uncleaned(edges, rng.permutation(num_vertices).tolist(), np.float64)
        for stage, answer in true_answers(edges, graph):
            verdict = oracle(graph, stage, answer)
            assert verdict.holds, (verdict.reason, edges)
            if stage == "pagerank":
                assert not oracle(graph, stage, Scores(answer.scores + 2 * FARTHEST)).holds
                continue
            for name in {"bfs": ["distance"], "sssp": ["distance"], "mst": ["src", "dst", "weights", "labels"]}.get(
                stage, ["labels"]
            ):
                array = vars(answer)[name].copy()
                if len(array):
                    place, last = rng.integers(len(array)), len(array) - 1
                    array[place] = array[place] + 1 if array.dtype.kind == "f" or array[place] < last else 0
                    if array[place] != vars(answer)[name][place]:
                        assert not oracle(graph, stage, replace(answer, **{name: array})).holds, (stage, name, edges)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_every_type_of_weight(dtype):
    graph = graph_of(FIGURE_1, dtype=dtype)
    for stage, answer in true_answers(FIGURE_1, graph):
        assert oracle(graph, stage, answer).holds


class TestLongIntegers:
    """SciPy's doubles hold integers to 2^53."""

    def paths(self, *weights: int) -> tuple[Graph, Paths]:
        edges = EdgeList("long", tuple((i, i + 1, weight) for i, weight in enumerate(weights)))
        graph = graph_of(edges)
        return graph, true_paths(edges, graph, 0, weighted=True)

    @pytest.mark.parametrize("wrong", [-1, 1])
    def test_below_the_limit_one_is_too_much(self, wrong):
        graph, truth = self.paths(2**52, 2**52 - 1)
        assert oracle(graph, "sssp", truth).holds
        distance = truth.distance + np.array([0, 0, wrong])
        assert oracle(graph, "sssp", replace(truth, distance=distance)).reason.startswith(
            f"vertex 2: distance {2**53 - 1 + wrong}"
        )

    def test_above_the_limit_a_rounding_is_allowed_and_no_more(self):
        graph, truth = self.paths(2**60 + 1, 1, 1, 3)
        assert oracle(graph, "sssp", truth).holds
        distance = truth.distance + np.array([0, 0, 0, 0, 2**13])
        assert not oracle(graph, "sssp", replace(truth, distance=distance)).holds
        distance[4] = -1
        assert not oracle(graph, "sssp", replace(truth, distance=distance)).holds


def test_reasons_name_what_differs():
    graph = graph_of(FIGURE_1)
    wrong = np.zeros(7, np.int64)
    none = np.array([], np.int32)
    assert oracle(graph, "bfs", Paths(0, wrong, wrong)).reason == "vertex 1: distance 0 is not SciPy's 1.0"
    assert oracle(graph, "scc", Components(np.arange(7, dtype=np.int32))).reason == "vertex 1: label 1 is not SciPy's 0"
    assert oracle(graph, "mst", Forest(none, none, none, none)).reason == "src has 0 entries, not 6"
    assert oracle(graph, "pagerank", Scores(np.full(7, 1 / 7))).reason.startswith("the scores differ from SciPy's by 0.")
    forest = true_forest(FIGURE_1, graph)
    swapped = replace(forest, dst=forest.dst[::-1].copy())
    assert oracle(graph, "mst", swapped).reason == "edge 0 - 1 of weight 4: SciPy's edge 0, for which dst is 5"


@pytest.mark.parametrize(
    "bad", [None, 3, [0] * 7, np.zeros(6, np.int64), np.zeros(7, np.float32), np.full(7, 7, np.int32)], ids=repr
)
def test_malformed_answers_do_not_agree(bad):
    graph = graph_of(FIGURE_1)
    forest = true_forest(FIGURE_1, graph)
    for stage, answer in (
        ("bfs", Paths(0, bad, bad)),
        ("sssp", Paths(0, bad, bad)),
        ("sssp", Paths(7, np.zeros(7, np.int64), bad)),
        ("mst", replace(forest, src=bad)),
        ("mst", replace(forest, weights=bad)),
        ("mst", replace(forest, labels=bad)),
        ("wcc", Components(bad)),
        ("scc", Components(bad)),
        ("pagerank", Scores(bad)),
    ):
        verdict = oracle(graph, stage, answer)
        assert not verdict.holds
        assert verdict.reason
