"""An algorithm is its folder, its entry, its test and its section of the docs: docs/adding-an-algorithm.md, applied to a copy."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from tests.project.docs import ROOT

PAGE = ROOT / "docs" / "adding-an-algorithm.md"
BLOCK = re.compile(r"^`([^`]+)`(?:, [^\n]*)?\n\n```(?:python no-run|markdown|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ENTRY, SECTION, TEST = "kernels/registry.py", "docs/tables.md", "tests/cpu/test_degrees.py"
COPIED = ("kernels", "pipeline", "flows", "tests", "docs/tables.md", "pyproject.toml")
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project to which the page was applied."""
    copy = tmp_path_factory.mktemp("project")
    tracked = subprocess.check_output(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard", *COPIED], cwd=ROOT, text=True)
    compiled = (path.relative_to(ROOT).as_posix() for path in (ROOT / "kernels").rglob("__pycache__/*.nb?"))
    for name in (*filter(None, tracked.split("\0")), *compiled):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)  # with its time, by which Numba knows what it compiled
    for name, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        path = copy / name
        if name == ENTRY:
            insert(path, text, before=")\nBY_NAME")
        elif name == SECTION:
            insert(path, text + "\n", before="## `forest`")
        else:
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return copy


def insert(path: Path, text: str, before: str) -> None:
    head, found, tail = path.read_text(encoding="utf-8").partition(before)
    assert found, f"{path}: no {before!r}"
    path.write_text(head + text + found + tail, encoding="utf-8")


def run(project: Path, *command: object, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=project, text=True, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=os.environ | {"PYTHONPATH": str(project), "COLUMNS": "300"} | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_the_page_touches_its_folder_its_entry_its_test_and_its_section():
    names = [name for name, _ in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]
    assert len(names) == len(set(names)) == PAGE.read_text(encoding="utf-8").count("\n```\n")
    assert {name for name in names if not name.startswith("kernels/degrees/")} == {ENTRY, SECTION, TEST}


def test_its_test_and_the_test_of_the_docs_pass(project):
    tests = (TEST, "tests/pipeline/test_tables.py::test_the_docs_describe_every_table")
    assert " passed" in run(project, "-m", "pytest", "-q", *tests, "-k", "degrees or docs")


def test_help_lists_it(project):
    lines = [" ".join(line.split()) for line in run(project, "-m", "pipeline.cli", "--help").splitlines()]
    line = "• degrees: number of arcs that leave and enter every vertex; columns vertex, out_degree, in_degree"
    assert line in lines
    assert ", degrees. Default: all" in run(project, "-m", "pipeline.cli", "run", "--help")


@pytest.mark.parametrize("options", [[], ["--shards", 2]], ids=["one rank", "two ranks"])
def test_a_run_has_its_table_its_proof_and_its_part_of_the_report(project, tmp_path, options):
    edges = tmp_path / "edges.csv"
    edges.write_text("src,dst\n7,3\n7,20\n3,20\n20,7\n")
    command = ("-m", "pipeline.cli", "run", edges, "--stages", "degrees", "--oracle", "--out", tmp_path / "out", *options)
    assert "degrees" in run(project, *command)
    latest = tmp_path / "out" / "latest"
    table = pandas.read_parquet(latest / "degrees")
    assert table.to_dict("list") == {"vertex": [3, 7, 20], "out_degree": [1, 2, 1], "in_degree": [1, 1, 2]}
    facts = json.loads((latest / "manifest.json").read_text())["facts"]
    assert facts["tables"]["degrees"]["rows"] == 3
    assert facts["steps"]["degrees"].get("shards") == (2 if options else None)
    proof = facts["proofs"]["degrees"]
    assert proof["holds"]
    assert "every vertex is the tail of out_degree in-arcs, and the head of in_degree out-arcs" in proof["rules"]
    assert proof["oracle"]["rules"] == ["degrees are the sums of the rows and columns of a scipy.sparse.csr_array"]
    report = (latest / "report.html").read_text()
    assert "vertex 7 has the highest out_degree, 2" in report
    assert "vertex 20 has the highest in_degree, 2" in report
    assert "<h3>Degrees</h3>" in report
