"""A format is its module, its line in the list and its row of the docs: docs/adding-a-format.md, applied to a copy."""

import gzip
import json
import re
import runpy
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.config.formats import FORMATS as LISTED
from pipeline.ingest.formats import FORMATS
from tests.project.docs import ROOT
from tests.registry.copies import blocks, call, copy_with

PAGE = (ROOT / "docs" / "adding-a-format.md").read_text(encoding="utf-8")
MODULE, TEST = "pipeline/ingest/formats/placed_arcs.py", "tests/ingest/test_placed_arcs.py"
TOUCHED = {"pipeline/config/formats.py": ("}\n",), "docs/formats.md": ('\n"First line" skips',)}
ROW = re.compile(r"^\| (`.+?`) \| .*? \| (.*?) \|", re.MULTILINE)
COMMAND = ("-m", "pipeline.cli")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    return copy_with(tmp_path_factory.mktemp("project"), PAGE, TOUCHED)


@pytest.fixture(scope="module", params=["roads.parcs", "roads.gz"])
def roads(request, project, tmp_path_factory) -> Path:
    """A file as its suffix says, and a compressed one without it."""
    data = runpy.run_path(str(project / TEST))["content"]()
    path = tmp_path_factory.mktemp("roads") / request.param
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_the_page_touches_two_files_besides_its_own():
    names = [name for name, _ in blocks(PAGE)]
    assert len(names) == len(set(names)) == PAGE.count("\n```\n")
    assert {*names} - {*TOUCHED} == {MODULE, TEST}


def test_formats_and_suffixes_of_the_docs_are_those_of_the_code():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").partition('"First line" skips')[0]
    stated = {}
    for row in ROW.findall(text):
        names, suffixes = (re.findall(r"`\.?(.+?)`", cell) for cell in row)
        stated |= dict(zip(names, [tuple(suffixes)] if len(names) == 1 else [(suffix,) for suffix in suffixes], strict=True))
    del stated["format"]  # the heading of the column
    assert stated == {name: entry.suffixes for name, entry in FORMATS.items()}
    assert [*FORMATS] == [*LISTED]


def test_its_test_and_those_of_the_docs_pass(project):
    call(project, "-m", "pipeline.config.reference")
    tests = (TEST, "tests/registry/test_new_format.py::test_formats_and_suffixes_of_the_docs_are_those_of_the_code")
    assert " passed" in call(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    assert "tsv, gra, parquet, placed-arcs. Default" in call(project, *COMMAND, "run", "--help")
    assert '"placed-arcs"' in (project / "conf" / "graph.schema.json").read_text()


def test_a_run_has_its_coordinates_in_table_and_map(project, roads, tmp_path):
    said = call(project, *COMMAND, "check", roads, "--json")
    assert json.loads(said[said.index("{") :])["input"]["format"] == "placed-arcs"
    call(project, *COMMAND, "run", roads, "--stages", "sssp,wcc", "--source=13.4,52.5", "--out", tmp_path / "out")
    latest = tmp_path / "out" / "latest"
    vertices = pq.read_table(latest / "vertices", columns=["vertex", "x", "y"]).to_pydict()
    assert vertices == {"vertex": [3, 5, 8], "x": [9.2, 13.4, 11.6], "y": [48.8, 52.5, 48.1]}
    assert pq.read_table(latest / "coordinates", columns=["vertex"]).to_pydict() == {"vertex": [3, 5, 8]}
    distances = pq.read_table(latest / "sssp", columns=["distance"]).to_pydict()
    assert distances == {"distance": [600, 0, 800]}
    assert "<figure" in (latest / "report.html").read_text() and "No map" not in (latest / "report.html").read_text()
    assert not [*latest.parent.glob("steps/edges/tmp*")]


def test_init_and_estimate_read_it(project, roads, tmp_path):
    shown = call(project, *COMMAND, "init", roads, "--to", tmp_path / "conf")
    assert "placed-arcs" in shown and "src 5, dst 3, weight 600" in shown
    assert "road_network" in (tmp_path / "conf" / "roads.deployment.yaml").read_text()
    call(project, *COMMAND, "estimate", roads, "--out", tmp_path / "out")
