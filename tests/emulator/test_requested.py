"""Betweenness and communities on the emulated GPU, on the graphs of the other kernels, against the CPU's answers, to the byte."""

# ruff: noqa: E402  (the imports below need the emulator)
import pytest

cupy = pytest.importorskip("cupy", reason="EMULATED_GPU=1 is not set")

from benchmarks.one_gpu.contests import equal
from kernels.betweenness import betweenness
from kernels.betweenness.certificate import certify_betweenness
from kernels.communities import communities
from kernels.communities.certificate import certify_communities
from kernels.gpu.loader import to_device
from kernels.gpu.transfer import on_device, on_host
from kernels.graph import Graph
from tests.emulator.test_kernels import crowd, roads
from tests.graphs import EdgeList, graph_of


def tail() -> Graph:
    """A long path, equally short ways around each of its rows, and a row of several parts at its end."""
    path = [(i, i + 1) for i in range(70)] + [pair for i in range(0, 70, 2) for pair in ((i, 2000 + i), (2000 + i, i + 2))]
    return graph_of(EdgeList("tail", tuple((*pair, 1 + (2 in pair)) for pair in path + [(70, 100 + i) for i in range(1100)])))


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("make", [lambda: roads(5), crowd, tail], ids=["roads", "crowd", "tail"])
def test_betweenness(make, weights):
    graph, asked = make(), {"weights": weights, "exact_below": 0, "epsilon": 0.5}
    on_device, expected = to_device(graph), betweenness(graph, **asked)
    found = betweenness(on_device, **asked)
    equal(found, expected)
    verdict = certify_betweenness(on_device, found, **asked)
    assert verdict.holds, verdict.reason


@pytest.mark.parametrize("make", [roads, crowd])
def test_communities(make):
    graph = make()
    on_device = to_device(graph)
    found, expected = communities(on_device), communities(graph)
    equal(found, expected)
    assert certify_communities(on_device, found) == certify_communities(graph, expected)


def test_copies_of_a_graph_derive_again_where_they_are():
    graph = roads(5)
    graph.positions  # noqa: B018  (derived from the original)
    copy = on_device(graph)
    assert isinstance(copy.positions, cupy.ndarray)
    assert on_host(copy).positions.tolist() == graph.positions.tolist()
