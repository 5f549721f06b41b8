"""An algorithm is its folder, its entry, its test and its section of the docs: docs/adding-an-algorithm.md, applied to a copy."""

import json
from pathlib import Path

import pandas
import pytest

from tests.project.docs import ROOT
from tests.registry.copies import blocks, call, copy_with

PAGE = (ROOT / "docs" / "adding-an-algorithm.md").read_text(encoding="utf-8").partition("\n## A second stage")[0]
ENTRY, SECTION, TEST = "kernels/registry.py", "docs/tables.md", "tests/cpu/test_degrees.py"
ORACLE = "kernels/oracle/degrees_by_scipy.py"  # optional
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A copy of the project to which the page was applied."""
    return copy_with(tmp_path_factory.mktemp("project"), PAGE, {ENTRY: (")\nBY_NAME",), SECTION: ("## `forest`",)})


def test_the_page_touches_its_folder_its_entry_its_test_and_its_section():
    names = [name for name, _ in blocks(PAGE)]
    assert len(names) == len(set(names)) == PAGE.count("\n```\n")
    assert {name for name in names if not name.startswith("kernels/degrees/")} == {ENTRY, SECTION, TEST, ORACLE}


def test_its_test_and_the_test_of_the_docs_pass(project):
    tests = (TEST, "tests/cpu/test_examples.py", "tests/pipeline/test_tables.py::test_the_docs_describe_every_table")
    assert " passed" in call(project, "-m", "pytest", "-q", *tests, "-k", "degrees or docs")


def test_help_lists_it(project):
    lines = [" ".join(line.split()) for line in call(project, "-m", "pipeline.cli", "--help").splitlines()]
    line = "• degrees: number of arcs that leave and enter every vertex; columns vertex, out_degree, in_degree"
    assert line in lines
    assert ", degrees. Default: all" in call(project, "-m", "pipeline.cli", "run", "--help")


@pytest.mark.parametrize("options", [[], ["--shards", 2]], ids=["one rank", "two ranks"])
def test_a_run_has_its_table_its_proof_and_its_part_of_the_report(project, tmp_path, options):
    edges = tmp_path / "edges.csv"
    edges.write_text("src,dst\n7,3\n7,20\n3,20\n20,7\n")
    command = ("-m", "pipeline.cli", "run", edges, "--stages", "degrees", "--oracle", "--out", tmp_path / "out", *options)
    assert "degrees" in call(project, *command)
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
