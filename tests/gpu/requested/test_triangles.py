"""Triangles and clustering coefficients on the GPU: the CPU's bytes."""

# ruff: noqa: E402  (the imports below need CuPy)
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from kernels.triangles import cuda, lcc, triangles
from kernels.triangles.certificate import certify_lcc, certify_triangles
from tests.answers import uncleaned
from tests.cpu.requested.test_triangles import GRAPHS
from tests.gpu.inputs import poison
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of

STAGES = {"triangles": (triangles, certify_triangles), "lcc": (lcc, certify_lcc)}


def check(graph: Graph) -> None:
    for solve, certify in STAGES.values():
        expected = solve(graph)
        poison()
        on_device = to_device(graph)
        found = solve(on_device)
        for name, array in vars(on_host(found)).items():
            assert array.tobytes() == getattr(expected, name).tobytes()
        verdict = certify(on_device, found)
        assert verdict.holds, verdict.reason
        assert verdict == certify(graph, expected)
        for name in vars(found):
            for wrong in (getattr(expected, name) + 1, getattr(expected, name)[1:], None):
                answer = replace(expected, **{name: wrong})
                there = replace(found, **{name: None if wrong is None else cupy.asarray(wrong)})
                assert certify(on_device, there) == certify(graph, answer)


def check_without_bits(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "_bit_rows", lambda *_: 3)
    check(graph)


@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 500], ids=lambda edges: edges.name)
def test_named_graphs(edges):
    check(graph_of(edges, edges.ids[::-1]))
    check(uncleaned(edges))


@pytest.mark.parametrize("name", GRAPHS)
def test_as_on_the_cpu(name):
    check(GRAPHS[name]())


def test_lists_without_bits(monkeypatch):
    check_without_bits(GRAPHS["crowd"](), monkeypatch)


def test_a_row_that_a_block_reads():
    """And lists of several groups of 32."""
    random = np.random.default_rng(5)
    ends = [(hub, hub + 1 + i) for hub in range(60) for i in range(5000)]
    ends += [tuple(pair) for pair in random.integers(60, 5000, (4000, 2)).tolist()]
    for directed in (False, True):
        check(graph_of(EdgeList("hubs", tuple(ends), directed)))
