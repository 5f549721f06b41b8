"""Sources, ends and edges of betweenness, from a configuration to the tables; what is refused before the stages run."""

import networkx as nx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cluster.threads import LocalThreads
from pipeline.config.loading import load_run, run_config
from pipeline.config.stages import EdgeBetweennessConfig
from pipeline.errors import BadConfig, BadSource, TooLarge
from pipeline.inspection.check import check
from pipeline.inspection.estimate import estimate
from pipeline.inspection.inputs import InputFile
from pipeline.inspection.memory import memory_of
from pipeline.inspection.products import TreesOfProduct
from pipeline.run import run
from pipeline.runtime import memory
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store import manifest
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables

TIES = [("ana", "bob", 3), ("bob", "cem", 1), ("ana", "cem", 2), ("cem", "dora", 4), ("dora", "bob", 1), ("gus", "hal", 5)]
STAGES = ["betweenness", "edge_betweenness"]


@pytest.fixture
def asked(tmp_path):
    (tmp_path / "ties.csv").write_text("src,dst,weight\n" + "".join(f"{src},{dst},{weight}\n" for src, dst, weight in TIES))
    graph = {"source": str(tmp_path / "ties.csv"), "directed": False}
    return {"graph": graph, "output": tmp_path / "out", "stages": STAGES, "named": True, "backend": "cpu", "oracle": True}


@pytest.fixture
def network():
    plain: nx.Graph[str] = nx.Graph()
    plain.add_weighted_edges_from(TIES)
    return plain


@pytest.mark.parametrize("shards", [0, 3])
@pytest.mark.parametrize("given", ["list", "file"])
def test_given_sources(asked, network, shards, given, tmp_path):
    (tmp_path / "some.csv").write_text("vertex\ngus\nbob\n")
    sources = {"sources": ["gus", "bob"] if given == "list" else str(tmp_path / "some.csv")}
    of_vertices, of_edges = sources | {"normalized": True}, sources | {"weights": False}
    asked |= {"cluster": {"shards": shards}} if shards else {}
    published = run(run_config("test", **asked, betweenness=of_vertices, edge_betweenness=of_edges))
    expected = nx.betweenness_centrality_subset(network, ["gus", "bob"], [*network], normalized=True, weight="weight")
    table = tables.read(published.path / "betweenness").to_pylist()
    assert {row["vertex_name"]: row["betweenness"] for row in table} == pytest.approx(expected)
    expected = nx.edge_betweenness_centrality_subset(network, ["gus", "bob"], [*network])
    table = tables.read(published.path / "edge_betweenness").to_pylist()
    found = {frozenset((row["src_name"], row["dst_name"])): row["edge_betweenness"] for row in table}
    assert found == pytest.approx({frozenset(ends): value for ends, value in expected.items()})
    proofs = RunFacts.of(published).proofs
    assert all(proofs[stage].rules[-1].endswith("the 2 given vertices were the sources: what their paths contribute is exact")
               for stage in STAGES)  # fmt: skip
    stored = manifest.read(published.path.parents[1] / "steps" / "betweenness").facts
    assert len(stored["options"]["sources"]) == 2 and stored["options"]["normalized"]
    report = (published.path / "report.html").read_text()
    assert "has the highest edge_betweenness" in report


def test_a_run_with_other_sources_computes_again(asked):
    keys = []
    for sources in (["ana"], ["ana"], ["bob"]):
        published = run(run_config("test", **asked, edge_betweenness={"sources": sources}))
        keys.append(RunFacts.of(published).steps["edge_betweenness"].key)
    assert keys[0] == keys[1] != keys[2]


def test_wrong_sources_are_refused_before_the_stages(asked, tmp_path):
    (tmp_path / "some.csv").write_text("bob\nzoe\n")
    for sources, words in (
        (["bob", "zoe"], r"edge_betweenness.sources: .*zoe"),
        (str(tmp_path / "some.csv"), r"some.csv: line 2: .*zoe"),
    ):
        config = run_config("test", **asked, edge_betweenness={"sources": sources})
        for way in (check, run):
            with pytest.raises(BadSource, match=words):
                way(config)
        assert not (tmp_path / "out" / "steps" / "betweenness").exists()
    with pytest.raises(BadConfig, match=r"edge_betweenness\.sources: bob is given twice"):
        run_config("test", **asked, edge_betweenness={"sources": ["bob", "bob"]})


def test_keys_of_drawn_sources_have_no_effect_beside_given_ones(tmp_path):
    (tmp_path / "run.toml").write_text(
        'output = "out"\nstages = ["betweenness"]\n[graph]\nsource = "g.csv"\n[betweenness]\nsources = "s.csv"\nepsilon = 0.2\n'
    )
    with pytest.raises(BadConfig, match=r"betweenness.epsilon: has no effect: the sources are given"):
        load_run(tmp_path / "run.toml")
    text = (tmp_path / "run.toml").read_text().replace("epsilon = 0.2\n", "")
    (tmp_path / "run.toml").write_text(text)
    assert load_run(tmp_path / "run.toml").files_by_key == {"betweenness.sources": str(tmp_path / "s.csv")}


def test_check_and_estimate_count_the_sources(asked, tmp_path):
    pq.write_table(pa.table({"vertex": ["ana", "bob", "cem"]}), tmp_path / "some.parquet")
    given = {"edge_betweenness": {"sources": ["ana"]}, "betweenness": {"sources": str(tmp_path / "some.parquet")}}
    config = run_config("test", **asked, **given)
    listed = InputFile("edge_betweenness.sources", "", 1, "vertices that the configuration lists, or its text file")
    files = check(config).files
    assert listed in files and "betweenness.sources" in {file.key for file in files}
    all_of_them = estimate(run_config("test", **asked)).seconds
    few = estimate(config).seconds
    assert few["edge_betweenness"] < all_of_them["edge_betweenness"] and few["betweenness"] < all_of_them["betweenness"]


def test_a_rank_needs_memory_for_the_whole_graph(asked, tmp_path, monkeypatch):
    graph = manifest.read(run(run_config("test", **asked)).path.parents[1] / "steps" / "graph")
    monkeypatch.setattr(memory, "free_memory", lambda backend="cpu": 100)
    with pytest.raises(TooLarge, match=r"the whole graph, which each rank needs .* and 0 MiB are free o"):
        run_stage(graph, "edge_betweenness", (), Runtime(tmp_path, cluster=LocalThreads(2)), EdgeBetweennessConfig())
    shape, cluster = memory.Shape(10**7, 10**8, 0, False), {"scheduler": "local", "workers": 4, "shards": 4}
    need = memory_of(run_config("test", **asked, cluster=cluster), "cpu", shape, False, {})
    alone = memory_of(run_config("test", **{**asked, "stages": ["bfs"]}, cluster=cluster), "cpu", shape, False, {})
    assert need.steps["edge_betweenness"] > 1.5 * alone.steps["bfs"]  # and maps of the whole graph
    assert need.mapped > alone.mapped
    trees = {"closeness": TreesOfProduct(1, 0.0, "closeness")}
    with_product = memory_of(run_config("test", **{**asked, "stages": ["bfs"]}, cluster=cluster), "cpu", shape, False, trees)
    assert with_product.mapped >= alone.mapped and "closeness" in with_product.steps  # with maps of the whole graph
