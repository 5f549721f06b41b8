"""Graphs that a GPU generates, lays out and proves in its own memory are those of files of the same edges."""
# ruff: noqa: E402  (the imports below need CuPy)

import io
from dataclasses import replace

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.one_gpu import drawn, generated
from kernels.bfs import bfs
from kernels.distributed import SingleRank
from kernels.forest import minimum_spanning_forest
from kernels.generators import Drawing, ends, graph500, weights
from kernels.generators.distinct import distinct_edges
from kernels.gpu.transfer import on_host
from kernels.graph import Graph
from kernels.layout import cuda
from kernels.layout.building import build_csr
from kernels.layout.certificate import certify_layout
from kernels.layout.rules import Edges
from kernels.pagerank import pagerank
from kernels.sssp import sssp
from kernels.wcc import wcc
from tests.gpu.inputs import poison

STAGES = ["bfs", "sssp", "mst", "wcc", "pagerank"]
GRAPH = ["edges drawn once", "drawn and laid out"]
BFS = ["bfs", "bfs, the slowest", "bfs, the fastest"]
RANKS = ["pagerank, plan", "pagerank, an iteration"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1, 8, 11, *(pytest.param(scale, marks=pytest.mark.nightly) for scale in (12, 13, 14))])
def test_the_stored_graph_of_a_generated_file(monkeypatch, scale, weighted):
    """With edges that are drawn in blocks, and rows in several ranges: a file has each edge once."""
    drawing = graph500(scale, seed=3)
    columns = [np.concatenate(column) for column in zip(*distinct_edges(drawing), strict=True)]
    expected = _on_host(Edges(*columns, _weights(drawing, *columns) if weighted else None))
    edges, graph, claim = _drawn(monkeypatch, drawing, weighted)
    found = on_host(graph)
    assert found.out is found.into
    pairs = [(found.ids, expected.ids), (found.rows_by_id, expected.rows_by_id)]
    pairs += [(found.out.offsets, expected.out.offsets), (found.out.indices, expected.out.indices)]
    pairs += [(found.out.weights, expected.out.weights)] if weighted else []
    for array, other in pairs:
        assert array.dtype == other.dtype
        assert array.tobytes() == other.tobytes()
    assert weighted == (found.out.weights is not None)
    assert certify_layout(edges, drawn.RULES, claim, graph, SingleRank()).holds
    for other in (replace(edges, drawing=graph500(scale, seed=4)), replace(edges, weighted=not weighted)):
        assert not certify_layout(other, drawn.RULES, claim, graph, SingleRank()).holds


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [8, pytest.param(11, marks=pytest.mark.nightly)])
def test_the_answers_of_a_cpu(monkeypatch, scale, weighted):
    """From all drawn edges, parallel ones and self-loops included, as of a file that is written as drawn."""
    drawing = graph500(scale, seed=5)
    columns = ends(drawing, 0, drawing.num_edges)
    expected = _on_host(Edges(*columns, _weights(drawing, *columns) if weighted else None))
    _, graph, _ = _drawn(monkeypatch, drawing, weighted)
    source = int(expected.rows_by_id[0])
    for solve, fields in (
        (lambda graph: bfs(graph, source), ("distance", "predecessor")),
        (lambda graph: sssp(graph, source), ("distance", "predecessor")),
        (minimum_spanning_forest, ("src", "dst", "weights", "labels")),
        (wcc, ("labels",)),
    ):
        found, right = solve(graph), solve(expected)
        for field in fields:
            array, other = cupy.asnumpy(getattr(found, field)), getattr(right, field)
            assert array.dtype == other.dtype
            assert array.tobytes() == other.tobytes()
    assert abs(cupy.asnumpy(pagerank(graph).scores) - pagerank(expected).scores).sum() < 1e-6
    assert drawn.levels(graph, bfs(graph, source).distance) == _levels(expected, bfs(expected, source).distance)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_benchmark(monkeypatch, weighted):
    """Prints a row for each step, with arcs in either memory; a plan that does not fit sends the arcs to the host."""
    monkeypatch.setattr(generated, "machine", lambda: "a GPU")
    monkeypatch.setattr(generated, "milliseconds", _called)
    options = ["--scale", "7", "--searches", "2", "--block", "700", *(["--weights"] if weighted else [])]
    assert _steps(options) == [*GRAPH, *BFS, *STAGES[1:4], *RANKS, "pagerank, proof"]
    plan_of, full = generated.plan_of, [True]

    def plan_that_does_not_fit(graph):
        if full.pop() if full else False:
            raise MemoryError("Out of memory")
        return plan_of(graph)

    monkeypatch.setattr(generated, "plan_of", plan_that_does_not_fit)
    moved = ["pagerank", "arcs to the host", *RANKS, "arcs to the device"]
    assert _steps([*options, "--stages", "mst", "pagerank"]) == [*GRAPH, "mst", *moved, "pagerank, proof"]
    monkeypatch.setattr(generated, "plan_of", plan_of)
    monkeypatch.setattr(generated, "free_bytes", lambda: 2_000_000)
    steps = _steps([*options, "--arcs", "host", "--memory", "0.001"])
    assert steps == [*GRAPH, "arcs to the host", "memory taken", *BFS, *STAGES[1:4], *RANKS, "pagerank, proof"]


def test_a_refused_answer(monkeypatch):
    """Ends the benchmark with the certificate's reason."""
    monkeypatch.setattr(generated, "machine", lambda: "a GPU")

    def shifted(graph):
        forest = minimum_spanning_forest(graph)
        return replace(forest, weights=forest.weights + 1)

    monkeypatch.setattr(generated, "minimum_spanning_forest", shifted)
    with pytest.raises(SystemExit, match=r"weight|edge"):
        _steps(["--scale", "6", "--weights", "--stages", "mst"])


def _drawn(monkeypatch, drawing: Drawing, weighted: bool):
    """The edges in three blocks, the graph and its claim, laid out in several ranges."""
    monkeypatch.setattr(cuda, "_SMALL", 0)
    monkeypatch.setattr(cuda, "free_bytes", lambda: 5 * drawing.num_edges * (16 if weighted else 8) // 3)
    poison()
    edges = drawn.DrawnEdges(drawing, -(-drawing.num_edges // 3), weighted)
    return edges, *drawn.laid_out(edges)


def _on_host(edges: Edges) -> Graph:
    found = build_csr(edges, drawn.RULES, 2**62, SingleRank())
    out = found.whole("out")
    return Graph(found.ids, found.rows_by_id, out, out, found.directed)


def _weights(drawing: Drawing, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    return weights(src, dst, drawing.seed).astype(np.int32)


def _levels(graph: Graph, distance: np.ndarray) -> list[tuple[int, int]]:
    reached = distance[distance >= 0]
    degrees = np.diff(graph.out.offsets)[distance >= 0]
    return list(zip(np.bincount(reached).tolist(), np.bincount(reached, degrees).astype(int).tolist(), strict=True))


def _steps(options: list[str]) -> list[str]:
    printed = io.StringIO()
    generated.main(options, printed)
    return [line.split("|")[1].strip() for line in printed.getvalue().splitlines()[4:]]


def _called(call, inputs=((),), **_) -> list[float]:
    for one in inputs:
        call(*one)
    return [1.0] * max(len(inputs), 1)
