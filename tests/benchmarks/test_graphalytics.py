"""The benchmark of Graphalytics: no time of an answer that is not valid, and a line for each library."""

import sys

import numpy as np
import pytest

from benchmarks.graphalytics import bench
from benchmarks.graphalytics.bench import LibraryResult, Reference, table
from benchmarks.graphalytics.inputs import BenchmarkGraph
from kernels.generators import graph500
from pipeline.config.loading import checked
from pipeline.graphalytics.generated import GeneratedFiles, GenerateOptions


def test_an_answer_that_is_not_valid_has_no_time():
    reference = Reference(np.arange(3), {"wcc": np.array([5, 5, 7]), "lcc": np.array([0.5, 0.0, 1.0])})
    values = {"wcc": np.array([1, 1, 0]), "lcc": np.array([0.5, 0.1, 1.0])}
    result = reference.checked(LibraryResult("other 1.0"), {"wcc": [3.0, 0.001, 0.5], "lcc": [1.0]}, values)
    assert result.seconds == {"wcc": 0.5}
    assert result.notes == ["lcc is not valid: vertex 1 is 0.1, not 0.0, as in the reference"]
    lines = table("graph500-24", [result]).splitlines()
    assert "| other 1.0: processing |  |  | 500.0 |  |  |  |  |  |  |  |" in lines
    assert "| best published, 2023, other machines | 6.0 | 32.0 | 15.0 | 220.0 | 373.0 |  | | | | |" in lines
    assert lines[-1] == "* other 1.0: lcc is not valid: vertex 1 is 0.1, not 0.0, as in the reference"


def test_libraries_are_validated_on_a_generated_graph(tmp_path, monkeypatch):
    folder = tmp_path / "graphs" / "graph500-7"
    GeneratedFiles("graph500-7", checked(GenerateOptions, "options", out=folder, backend="cpu")).write(graph500(7), True)
    options = ["--scales", "7", "--runs", "1", "--graphs", str(folder.parent), "--cpu", "--only", "igraph"]
    monkeypatch.setattr(sys, "argv", ["bench", *options, "--out", str(tmp_path / "made.md")])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    bench.main()
    rows = [line.split("|") for line in (tmp_path / "made.md").read_text().splitlines() if ": processing" in line]
    given = {row[1].split()[0]: [cell.strip() != "" for cell in row[2:8]] for row in rows}
    assert given["graphmill"] == [True] * 6
    assert given["igraph"] == [True, False, True, False, True, True]


def test_ranks_are_those_of_a_dense_matrix(tmp_path):
    folder = tmp_path / "graph500-5"
    GeneratedFiles("graph500-5", checked(GenerateOptions, "options", out=folder, backend="cpu")).write(graph500(5), False)
    graph = BenchmarkGraph.read(folder)
    count = len(graph.ids)
    dense = np.zeros((count, count))
    dense[graph.src, graph.dst] = dense[graph.dst, graph.src] = 1
    scores = np.full(count, 1 / count)
    for _ in range(10):
        scores = 0.15 / count + 0.85 * (dense / dense.sum(axis=0)) @ scores
    assert graph.ranks() == pytest.approx(scores, rel=1e-12)
    (offsets, heads), (into, tails) = graph.sides()
    assert np.repeat(np.arange(count), np.diff(offsets)).tolist() == sorted(graph.src.tolist())
    assert sorted(heads.tolist()) == sorted(graph.dst.tolist())
    assert len(tails) == into[-1] == len(graph.src)
