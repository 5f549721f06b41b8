"""Graphs that a GPU generates, lays out and proves in its own memory are those of files of the same edges."""
# ruff: noqa: E402  (the imports below need CuPy)

import io
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu import generated
from kernels.distributed import SingleRank
from kernels.generators import graph500
from kernels.generators.distinct import distinct_edges
from kernels.gpu.transfer import on_host
from kernels.layout import cuda
from kernels.layout.building import build_csr
from kernels.layout.certificate import certify_layout
from kernels.layout.rules import Edges
from tests.gpu.inputs import poison


@pytest.mark.parametrize("scale", [1, 8, 11, *(pytest.param(scale, marks=pytest.mark.nightly) for scale in (12, 13, 14))])
def test_the_stored_graph_of_a_generated_file(monkeypatch, scale):
    """With edges that are drawn in blocks, and rows in several ranges."""
    drawing = graph500(scale, seed=3)
    columns = (np.concatenate(column) for column in zip(*distinct_edges(drawing), strict=True))
    expected = build_csr(Edges(*columns, None), generated.RULES, 2**62, SingleRank())
    monkeypatch.setattr(cuda, "_SMALL", 0)
    monkeypatch.setattr(cuda, "free_bytes", lambda: 5 * drawing.num_edges * 8 // 3)
    poison()
    edges = generated.DrawnEdges(drawing, block=-(-drawing.num_edges // 3))
    graph, claim = generated.laid_out(edges)
    found, out = on_host(graph), expected.whole("out")
    assert found.out is found.into
    pairs = [(found.ids, expected.ids), (found.rows_by_id, expected.rows_by_id)]
    pairs += [(found.out.offsets, out.offsets), (found.out.indices, out.indices)]
    for array, other in pairs:
        assert array.dtype == other.dtype
        assert array.tobytes() == other.tobytes()
    assert certify_layout(edges, generated.RULES, claim, graph, SingleRank()).holds
    other = replace(edges, drawing=graph500(scale, seed=4))
    assert not certify_layout(other, generated.RULES, claim, graph, SingleRank()).holds


def test_the_benchmark(monkeypatch):
    """Prints a row for each step, with arcs in either memory; a plan that does not fit sends the arcs to the host."""
    monkeypatch.setattr(generated, "machine", lambda: "a GPU")
    monkeypatch.setattr(generated, "milliseconds", _called)
    printed = io.StringIO()
    generated.main(["--scale", "7", "--searches", "2", "--block", "700"], printed)
    steps = [line.split("|")[1].strip() for line in printed.getvalue().splitlines()[4:]]
    graph = ["edges drawn once", "drawn and laid out"]
    ranks = ["pagerank, plan", "pagerank, an iteration"]
    assert steps == [*graph, "bfs", "wcc", *ranks, "pagerank, proof"]
    plan_of, full = generated.plan_of, [True]

    def plan_that_does_not_fit(graph):
        if full.pop() if full else False:
            raise MemoryError("Out of memory")
        return plan_of(graph)

    monkeypatch.setattr(generated, "plan_of", plan_that_does_not_fit)
    printed = io.StringIO()
    generated.main(["--scale", "7", "--searches", "2", "--block", "700"], printed)
    steps = [line.split("|")[1].strip() for line in printed.getvalue().splitlines()[4:]]
    moved = ["pagerank", "arcs to the host", *ranks, "arcs to the device"]
    assert steps == [*graph, "bfs", "wcc", *moved, "pagerank, proof"]
    assert "iterations, arcs on the host" in printed.getvalue()
    monkeypatch.setattr(generated, "plan_of", plan_of)
    monkeypatch.setattr(generated, "free_bytes", lambda: 2_000_000)
    printed = io.StringIO()
    generated.main(["--scale", "7", "--searches", "2", "--block", "700", "--arcs", "host", "--memory", "0.001"], printed)
    steps = [line.split("|")[1].strip() for line in printed.getvalue().splitlines()[4:]]
    assert steps == [*graph, "arcs to the host", "memory taken", "bfs", "wcc", *ranks, "pagerank, proof"]


def _called(call, inputs=((),), **_) -> list[float]:
    for one in inputs:
        call(*one)
    return [1.0]
