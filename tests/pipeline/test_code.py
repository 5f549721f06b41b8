"""The version of the code that a step uses: other code does not change it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernels.registry import BY_NAME
from pipeline.store.code import ROOT, code_of, code_of_algorithm, sources_of


@pytest.fixture
def copy(tmp_path) -> Path:
    for package in ("kernels", "pipeline"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def with_a_comment(root: Path, path: str) -> None:
    with (root / path).open("a", encoding="utf-8") as file:
        file.write("\n/* changed */\n" if path.endswith((".cu", ".cuh", ".css")) else "\n# changed\n")


@pytest.mark.parametrize(
    "changed", ["pipeline/report/report.css", "pipeline/report/charts.py", "kernels/registry.py", "pipeline/cli.py"]
)
def test_what_ingest_and_layout_do_not_use_leaves_their_keys_as_they_are(changed, copy):
    steps = ("pipeline.ingest", "pipeline.steps.layout", "pipeline.steps.index")
    before = [code_of(step, root=copy) for step in steps]
    with_a_comment(copy, changed)
    assert [code_of(step, root=copy) for step in steps] == before


@pytest.mark.parametrize(
    ("step", "changed"),
    [
        ("pipeline.ingest", "pipeline/ingest/formats/rows.py"),
        ("pipeline.steps.layout", "kernels/layout/cleaning.py"),
        ("pipeline.steps.layout", "kernels/gpu/device.cuh"),
        ("pipeline.report", "pipeline/report/charts.py"),
        ("kernels.bfs", "kernels/bfs/cuda.py"),  # imported inside a function
    ],
)
def test_what_a_step_uses_changes_its_key(step, changed, copy):
    before = code_of(step, root=copy)
    assert code_of(step, root=copy) == before
    with_a_comment(copy, changed)
    assert code_of(step, root=copy) != before


def test_cuda_sources_are_used_by_the_modules_next_to_them_and_headers_by_their_sources():
    used = sources_of(["kernels.bfs"])
    assert {path for path in used if path.suffix == ".cu" and path.parent.name == "bfs"} == set(
        (ROOT / "kernels/bfs").glob("*.cu")
    )
    assert ROOT / "kernels/gpu/device.cuh" in used


def test_an_algorithm_uses_the_modules_of_its_entry_and_its_columns():
    bfs = BY_NAME["bfs"]
    version = code_of_algorithm(bfs)
    assert version == code_of_algorithm(replace(bfs, title="Another title", help="another help"))
    assert version != code_of_algorithm(replace(bfs, columns=bfs.columns[:2]))
    assert version != code_of_algorithm(BY_NAME["sssp"])


def test_modules_of_other_packages_add_nothing():
    assert code_of("tests.pipeline.test_code", "numpy") == code_of()
