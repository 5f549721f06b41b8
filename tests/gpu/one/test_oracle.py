"""cuGraph as the second solver: it agrees with true answers of graphs on the GPU, and not with changed ones."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
pytest.importorskip("pylibcugraph")

from kernels.answers import Components, Paths, Scores
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.oracle import oracle, solves_on_gpu
from kernels.pagerank.certificate import FARTHEST
from tests.answers import true_answers, true_forest, true_paths, true_ranks
from tests.gpu.inputs import random_edges, shuffled
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500 and edges.arcs()]


def agrees(edges: EdgeList, graph: Graph) -> None:
    assert solves_on_gpu(graph.num_arcs)
    on_device = to_device(graph)
    for stage, answer in true_answers(edges, graph):
        verdict = oracle(on_device, stage, answer)
        assert (verdict.holds, verdict.reason) == (True, ""), stage
        assert "pylibcugraph" in verdict.rules[0]


@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_true_answers_of_named_graphs_agree(edges):
    agrees(edges, graph_of(edges))
    agrees(edges, graph_of(edges, edges.ids[::-1]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_every_type_of_weight(dtype):
    agrees(FIGURE_1, graph_of(FIGURE_1, dtype=dtype))


@pytest.mark.parametrize("directed", [False, True])
def test_random_graphs_agree(directed):
    for seed in range(5):
        edges = random_edges(seed, 60, 150, directed)
        agrees(edges, shuffled(edges))


def test_answers_of_the_gpu_are_compared_too():
    graph = graph_of(FIGURE_1)
    paths = true_paths(FIGURE_1, graph, 0, weighted=True)
    there = replace(paths, distance=cupy.asarray(paths.distance), predecessor=cupy.asarray(paths.predecessor))
    assert oracle(to_device(graph), "sssp", there).holds


def test_changed_answers_do_not_agree():
    graph = graph_of(FIGURE_1)
    on_device, forest = to_device(graph), true_forest(FIGURE_1, graph)
    assert oracle(on_device, "bfs", Paths(0, np.zeros(7, np.int64), None)).reason == "vertex 1: distance 0 is not cuGraph's 1.0"
    assert "is not cuGraph's" in oracle(on_device, "sssp", Paths(0, np.zeros(7, np.int64), None)).reason
    assert oracle(on_device, "mst", replace(forest, weights=forest.weights[1:])).reason == "the forest has 5 edges, cuGraph's 6"
    assert "the forest weighs" in oracle(on_device, "mst", replace(forest, weights=forest.weights + 1)).reason
    assert "label 1 is not cuGraph's 0" in oracle(on_device, "scc", Components(np.arange(7, dtype=np.int32))).reason
    assert "label 1 is not cuGraph's 0" in oracle(on_device, "wcc", Components(np.arange(7, dtype=np.int32))).reason
    assert not oracle(on_device, "pagerank", Scores(true_ranks(graph) + 2 * FARTHEST)).holds
