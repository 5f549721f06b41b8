"""A stage with options, CUDA code and a longer proof: the second part of docs/adding-an-algorithm.md, applied to a copy."""

import json
from pathlib import Path

import pandas
import pytest

from tests import emulator
from tests.project.docs import ROOT
from tests.registry.copies import blocks, call, copy_with

_, _, PAGE = (ROOT / "docs" / "adding-an-algorithm.md").read_text(encoding="utf-8").partition("\n## A second stage")
TEST, EMULATED = "tests/cpu/requested/test_lowest.py", "tests/emulator/test_lowest.py"
TOUCHED = {
    "kernels/registry.py": (")\nBY_NAME",),
    "docs/tables.md": ("## `forest`",),
    "pipeline/config/stages.py": ("class MaxFlowConfig",),
    "pipeline/registry/stages.py": ("}\nSTAGES = ",),
}
COMMAND = ("-m", "pipeline.cli", "run")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return copy_with(tmp_path_factory.mktemp("project"), PAGE, TOUCHED)


@pytest.fixture
def edges(tmp_path) -> Path:
    (tmp_path / "edges.csv").write_text("src,dst\n9,7\n7,3\n3,2\n2,1\n")
    return tmp_path / "edges.csv"


def test_every_block_of_the_page_is_applied():
    assert len(blocks(PAGE)) == PAGE.count("\n```\n")


def test_its_test_and_those_of_the_docs_pass(project):
    call(project, "-m", "pipeline.config.reference")
    assert "steps" in (project / "docs" / "configuration.md").read_text().partition("`[lowest]`")[2]
    docs = (
        "tests/cpu/test_examples.py",
        "tests/pipeline/test_tables.py::test_the_docs_describe_every_table",
        "tests/registry/test_registry.py",
    )
    assert " passed" in call(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST, *docs)


@pytest.mark.skipif(bool(emulator.missing()), reason="the emulator cannot be used")
def test_its_kernel_runs_on_the_emulated_gpu(project):
    assert " passed" in call(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", EMULATED, EMULATED_GPU="1")


def test_a_run_takes_its_options(project, edges, tmp_path):
    (tmp_path / "run.toml").write_text(
        f'graph = {{ source = "{edges}" }}\noutput = "out"\nstages = ["lowest"]\n[lowest]\nsteps = 1\n'
    )
    call(project, *COMMAND, tmp_path / "run.toml")
    latest = tmp_path / "out" / "latest"
    assert pandas.read_parquet(latest / "lowest").to_dict("list") == {"vertex": [1, 2, 3, 7, 9], "lowest": [1, 1, 2, 3, 7]}
    assert json.loads((latest / "manifest.json").read_text())["facts"]["proofs"]["lowest"]["holds"]


def test_a_run_over_ranks_opens_the_whole_graph(project, edges, tmp_path):
    call(project, "-c", "from pipeline.config.run import STAGES; assert 'lowest' not in STAGES")
    for shards in (0, 2):
        call(project, *COMMAND, edges, "--shards", shards, "--stages", "lowest", "--out", tmp_path / str(shards))
    one, two = (tmp_path / name / "latest" for name in ("0", "2"))
    pandas.testing.assert_frame_equal(pandas.read_parquet(one / "lowest"), pandas.read_parquet(two / "lowest"))
    assert json.loads((two / "manifest.json").read_text())["facts"]["steps"]["lowest"]["whole_graph"] > 0
