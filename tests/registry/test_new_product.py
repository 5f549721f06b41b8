"""A product is its modules, its entry and its section of the docs: docs/adding-a-product.md, applied to a copy."""

import json
import shutil
from pathlib import Path

import pandas
import pytest

from tests.project.docs import ROOT
from tests.registry.copies import blocks, call, copy_with

PAGE = (ROOT / "docs" / "adding-a-product.md").read_text(encoding="utf-8")
MODULES = {"configuration": "config", "step": "steps", "report": "report"}  # in `remotest`, and where they belong
TOUCHED = {"pipeline/registry/products.py": (")\nPRODUCTS = ",), "docs/tables.md": ("## `rejected`",)}
COMMAND = ("-m", "pipeline.cli")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    copy = copy_with(tmp_path_factory.mktemp("project"), PAGE, TOUCHED)
    for name, layer in MODULES.items():
        target = copy / "pipeline" / layer / "products" / "remotest.py"
        assert not target.exists()
        shutil.copy(Path(__file__).parent / "remotest" / f"{name}.py", target)
    return copy


@pytest.fixture
def run(tmp_path) -> Path:
    """A run's file in a folder of its own."""
    (tmp_path / "edges.csv").write_text("src,dst,weight\n1,2,5\n2,3,1\n2,4,1\n9,1,2\n")
    (tmp_path / "from.txt").write_text("9\n3\n1\n")
    path = tmp_path / "run.toml"
    path.write_text('graph = {source = "edges.csv"}\noutput = "out"\nstages = ["wcc"]\n[remotest]\nsources = "from.txt"\n')
    return path


def test_two_files_are_touched_besides_its_own():
    names = [name for name, _ in blocks(PAGE)]
    assert len(names) == PAGE.count("\n```\n") == 2
    assert {*names} == {*TOUCHED}


def test_the_docs_and_the_rules_of_names_hold(project):
    call(project, "-m", "pipeline.config.reference")
    assert "sources" in (project / "docs" / "configuration.md").read_text().partition("`[remotest]`")[2]
    assert "RemotestConfig" in (project / "conf" / "graphmill.schema.json").read_text()
    tests = ("tests/pipeline/test_tables.py", "tests/project/test_named_by_hand.py")
    said = call(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "docs or no_other")
    assert " passed" in said
    lines = [" ".join(line.split()) for line in call(project, *COMMAND, "--help").splitlines()]
    assert "• remotest: vertex that is farthest from each source; columns source, vertex, distance" in lines


def test_a_run_has_its_table_its_proof_and_its_part_of_the_report(project, run):
    call(project, *COMMAND, "run", run)
    latest = run.with_name("out") / "latest"
    assert pandas.read_parquet(latest / "remotest").to_dict("list") == {
        "source": [1, 3, 9], "vertex": [3, 3, 3], "distance": [6, 0, 8]
    }  # fmt: skip
    facts = json.loads((latest / "manifest.json").read_text())["facts"]
    assert facts["proofs"]["remotest"]["holds"] and facts["proofs"]["remotest"]["rules"]
    assert facts["tables"]["remotest"]["rows"] == 3
    page = (latest / "report.html").read_text()
    assert "<h3>Remotest vertices</h3>" in page and "at most 8 (sum of weights) from a source" in page


def test_an_estimate_counts_its_trees(project, run):
    said = call(project, *COMMAND, "estimate", run, "--json")
    assert json.loads(said[said.index("{") :])["seconds"]["remotest"] > 0


def test_a_wrong_vertex_is_refused_before_the_stages(project, run):
    run.with_name("from.txt").write_text("9\n777\n")
    with pytest.raises(AssertionError, match=r"from\.txt: line 2: source 777 is not in the graph"):
        call(project, *COMMAND, "run", run)
    assert not (run.with_name("out") / "steps" / "wcc").exists()


def test_a_change_of_its_columns_repeats_its_step_and_no_other(project, run):
    call(project, *COMMAND, "run", run)
    entry = project / "pipeline" / "registry" / "products.py"
    text = entry.read_text()
    steps = {}
    for unit in ("sum of weights", "metres"):
        head, found, tail = text.partition('name="remotest"')
        entry.write_text(head + found + tail.replace('"sum of weights"', f'"{unit}"', 1))
        call(project, *COMMAND, "run", run)
        steps[unit] = json.loads((run.with_name("out") / "latest" / "manifest.json").read_text())["facts"]["steps"]
    entry.write_text(text)
    assert steps["sum of weights"]["remotest"]["reused"]
    assert {step for step, of in steps["metres"].items() if not of["reused"]} == {"remotest", "report"}
