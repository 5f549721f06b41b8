"""Betweenness and communities, from an edge list to the published run: options, proofs and refusals."""

import json

import networkx as nx
import pyarrow as pa
import pyarrow.csv
import pytest

from kernels.betweenness.parameters import checked
from pipeline.config.loading import run_config
from pipeline.config.stages import BetweennessConfig
from pipeline.errors import BadInput
from pipeline.run import run
from pipeline.tables import files as tables

EDGES = [(1, 2, 2), (2, 3, 2), (1, 3, 4), (3, 4, 1), (4, 5, 1), (5, 6, 1), (4, 6, 1), (7, 8, 3)]


@pytest.fixture
def graph(tmp_path):
    def make(edges):
        pyarrow.csv.write_csv(
            pa.table(dict(zip(("src", "dst", "weight"), zip(*edges, strict=True), strict=True))), tmp_path / "g.csv"
        )
        return {"source": str(tmp_path / "g.csv"), "directed": False}

    return make


def test_options_are_part_of_the_answer(graph, tmp_path):
    plain: nx.Graph[int] = nx.Graph()
    plain.add_weighted_edges_from(EDGES)
    asked = {"graph": graph(EDGES), "output": tmp_path / "out", "stages": ["betweenness", "communities"], "oracle": True}
    found = []
    for weights in (True, False, True):
        published = run(run_config("test", **asked, betweenness={"weights": weights})).path
        expected = nx.betweenness_centrality(plain, normalized=False, weight="weight" if weights else None)
        table = tables.read(published / "betweenness").to_pylist()
        assert {row["vertex"]: row["betweenness"] for row in table} == pytest.approx(expected, abs=1e-9)
        facts = json.loads((published / "manifest.json").read_text())["facts"]
        assert facts["configuration"]["values"]["betweenness"]["weights"] == weights
        assert facts["proofs"]["betweenness"]["rules"][-1].endswith("every vertex was a source: the values are exact")
        assert facts["proofs"]["communities"]["rules"][-1].startswith("modularity is ")
        assert {row["labels"] for row in tables.read(published / "communities").to_pylist()} <= set(plain)
        found.append((facts["steps"]["betweenness"]["key"], facts["steps"]["communities"]["key"]))
        report = (published / "report.html").read_text()
        assert "Largest communities" in report and "has the highest betweenness" in report
    assert found[0] == found[2] != found[1] and found[0][1] == found[1][1]


def test_an_edge_without_length_is_refused(graph, tmp_path):
    asked = {"graph": graph([*EDGES, (6, 7, 0)]), "output": tmp_path / "out", "stages": ["betweenness"]}
    with pytest.raises(BadInput, match=r"betweenness: vertex [67] is reached by a shortest path whose last arc has no length"):
        run(run_config("test", **asked))
    assert not (tmp_path / "out" / "latest").exists()
    assert run(run_config("test", **asked, betweenness={"weights": False}))


def test_the_defaults_are_those_of_the_kernel():
    assert checked(**BetweennessConfig().model_dump()) == checked()


@pytest.mark.parametrize("shards", [0, 2])
def test_cores_and_labels_of_some_rounds(graph, tmp_path, shards):
    asked = {"graph": graph(EDGES), "output": tmp_path / "out", "stages": ["cores", "cdlp"], "oracle": True}
    asked |= {"cluster": {"shards": shards}} if shards else {}
    published = run(run_config("test", **asked, cdlp={"iterations": 1})).path
    plain: nx.Graph[int] = nx.Graph()
    plain.add_weighted_edges_from(EDGES)
    assert {row["vertex"]: row["core"] for row in tables.read(published / "cores").to_pylist()} == nx.core_number(plain)
    labels = {row["vertex"]: row["labels"] for row in tables.read(published / "cdlp").to_pylist()}
    assert labels == {vertex: min(plain[vertex]) for vertex in plain}
    facts = json.loads((published / "manifest.json").read_text())["facts"]
    assert facts["configuration"]["values"]["cdlp"]["iterations"] == 1
    assert "labels are those of 1 rounds" in facts["proofs"]["cdlp"]["rules"][1] and facts["proofs"]["cores"]["oracle"]
    report = (published / "report.html").read_text()
    assert "has the highest core" in report and "Label propagation (CDLP)" in report
