"""CuGraph, where it is installed, finds the distances, weights of forests, parts and ranks that our kernels find."""

# ruff: noqa: E402  (the imports below need CuPy and cuGraph)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
pytest.importorskip("cugraph")

from benchmarks.one_gpu import peers as gpu_peers
from benchmarks.one_gpu.contests import ALGORITHMS, ComparedKernel
from kernels.answers import Scores
from kernels.gpu.transfer import to_device
from tests.gpu.inputs import random_edges
from tests.graphs import EdgeList, graph_of


@pytest.fixture(scope="module", autouse=True)
def pool() -> None:
    gpu_peers.start(1 << 31)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kernel", ALGORITHMS, ids=lambda kernel: kernel.name)
def test_cugraph_agrees(kernel: ComparedKernel, directed: bool) -> None:
    for seed, num_edges in ((1, 2500), (2, 20_000)):
        random = np.random.default_rng(seed)
        ends = random_edges(seed, 2000, num_edges, directed, 2).edges
        weights = random.integers(1, 99, len(ends)).tolist()
        edges = EdgeList("random", tuple((*end[:2], weight) for end, weight in zip(ends, weights, strict=True)), directed)
        graph = to_device(graph_of(edges, random.permutation(edges.ids).tolist(), np.int32))
        if not kernel.runs_on(graph):
            continue
        for way in (gpu_peers.Pylibcugraph(graph, np.dtype(np.float32)), gpu_peers.CuGraph(graph, np.dtype(np.float32))):
            for peer in way.peers(kernel.name):
                for inputs in kernel.inputs(graph, 2):
                    answer = kernel.solve(graph, *inputs)
                    asked = (answer.iterations,) if isinstance(answer, Scores) else inputs
                    assert peer.agrees(peer.solve(*asked), answer), f"{way.name} {peer.note}"
