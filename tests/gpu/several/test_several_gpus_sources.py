"""The benchmark of work that is spread over workers: its parts run, and what they check is the same for any number of workers."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

from benchmarks.several_gpus import reachability as several_gpus_reachability
from benchmarks.several_gpus import sources as several_gpus_sources
from benchmarks.several_gpus.bench import SPREAD
from benchmarks.several_gpus.table import OURS, ShardRow, collect
from pipeline.cluster.threads import LocalThreads
from pipeline.tables import files as tables

LAYERS, WIDTH = 6, 20
ROW = ShardRow("layered", "", 1, OURS, "a GPU", "", "", "", "", 2)


@pytest.fixture
def few(monkeypatch):
    """Pieces so small that a kernel runs often, and not long."""
    monkeypatch.setattr(several_gpus_reachability, "LABELINGS", 2)
    monkeypatch.setattr(several_gpus_reachability, "BATCHES", 2)
    for module in (several_gpus_reachability, several_gpus_sources):
        monkeypatch.setattr(module, "BATCH", 200)
    monkeypatch.setattr(several_gpus_sources, "PIECE", 2)
    monkeypatch.setattr(several_gpus_sources, "FILES", 1)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 200)


def rows_of(work, parts, gpus):
    """What the parts write."""
    work.mkdir()
    asked = SimpleNamespace(graph=f"dag-{LAYERS}x{WIDTH}", only=",".join(parts), gpus=gpus, sources=4, work=work)
    several_gpus_sources.run(asked, LocalThreads(gpus), ROW)
    return collect(work)


def test_parts_run_and_their_checks_are_the_same_for_any_number_of_workers(few, tmp_path):
    one, two = (rows_of(tmp_path / str(gpus), SPREAD, gpus) for gpus in (1, 2))
    assert [row.failure for row in one + two] == [""] * 2 * len(SPREAD)
    assert all(row.vertices <= LAYERS * WIDTH and row.median > 0 and row.check > 0 for row in one)
    assert [row.check for row in one] == [row.check for row in two]
    for rows, searches, labelings, queries, pairs in ((one, 4, 2, 400, 200), (two, 8, 4, 800, 400)):
        assert [row.what for row in rows] == [
            f"bfs from {searches} sources", f"sssp from {searches} sources", f"{labelings} labelings", f"{queries} queries",
            f"reach, {pairs} queries",
        ]  # fmt: skip


@pytest.mark.parametrize(("part", "module"), [("queries", several_gpus_reachability), ("reach", several_gpus_sources)])
def test_answers_that_a_search_contradicts_are_a_failure(few, tmp_path, monkeypatch, part, module):
    search = module.reach_by_search
    monkeypatch.setattr(module, "reach_by_search", lambda *queries: ~search(*queries))
    (row,) = rows_of(tmp_path / "rows", [part], 1)
    assert "differs from the result of a search" in row.failure
    assert row.median is None


def test_labels_that_are_not_proved_are_a_failure(few, tmp_path, monkeypatch):
    label = several_gpus_reachability.label
    monkeypatch.setattr(several_gpus_reachability, "label", lambda nodes, seed: replace(label(nodes, seed=seed), seed=seed + 1))
    (row,) = rows_of(tmp_path / "rows", ["labels"], 1)
    assert "AssertionError" in row.failure
    assert row.median is None
