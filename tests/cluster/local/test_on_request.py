"""Stages on request over shards that worker processes hold: the bytes of one process, on shapes that ranks share badly."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import run_config
from pipeline.config.stages import MaxFlowConfig
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import Folder, read
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import write_pairs

STAR = [(0, leaf) if leaf % 3 else (leaf, 0) for leaf in range(1, 30)]
PATH = [(100 + step * 7 % 31, 100 + (step + 1) * 7 % 31) for step in range(30)]
OTHERS = [(200, 200), (201, 201), (202, 203), (202, 203), (203, 202), (204, 29), (130, 29)]  # loops, parallel edges, a bridge
PROGRAM = "import numpy as np\n\ndef solve(graph, options):\n    return {'degree': np.diff(graph.out.offsets)}\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("shapes") / "shapes.parquet"
    src, dst = zip(*STAR, *PATH, *OTHERS, strict=True)
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": [end % 5 for end in dst]}), file)
    return str(file)


@pytest.fixture(scope="module", params=[True, False], ids=["arcs", "edges"])
def graph(request, source, tmp_path_factory) -> Folder:
    work = tmp_path_factory.mktemp("stored")
    return lay_out(ingest(GraphConfig(source=source, directed=request.param), work), LayoutConfig(), Runtime(work))


@pytest.mark.parametrize("shards", [2, 3, 4])
def test_ranks_of_two_workers_find_the_communities(shards, graph, cluster, tmp_path, monkeypatch):
    expected = run_stage(graph, "communities", (), Runtime(tmp_path / "here"))
    monkeypatch.setattr(cluster, "shards", shards)
    there = Runtime(tmp_path / "there", cluster=cluster)
    found = run_stage(graph, "communities", (), there)
    assert found.manifest.files == expected.manifest.files and found.facts["shards"] == shards
    assert prove(graph, found, True, there).facts["rules"] == prove(graph, expected, False, there).facts["rules"]


@pytest.mark.parametrize(
    ("elsewhere", "shards", "ranks"), [(False, 0, 0), (True, 0, 2), (False, 2, 2)], ids=["one worker", "two machines", "shards"]
)
def test_workers_list_the_closure(elsewhere, shards, ranks, graph, cluster, tmp_path, monkeypatch):
    """Workers of several machines have a part each, as ranks do; of those of one machine, with the same cores, one has all."""
    expected = run_stage(graph, "closure", (), Runtime(tmp_path / "here"))
    monkeypatch.setattr(cluster, "shards", shards)
    if elsewhere:
        monkeypatch.setattr(cluster, "_config", ClusterConfig(scheduler="tcp://127.0.0.1:1"))
    there = Runtime(tmp_path / "there", cluster=cluster)
    assert cluster.sharing("cpu") == ranks
    found = run_stage(graph, "closure", (), there)
    assert found.manifest.files == expected.manifest.files and ("whole_graph" in found.facts) == (shards > 0)
    assert prove(graph, found, True, there).facts["rules"] == prove(graph, expected, False, there).facts["rules"]


def test_workers_that_hold_a_whole_graph_find_the_flows(graph, cluster, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    asked = MaxFlowConfig(pairs=write_pairs(tmp_path / "pairs.parquet", [1, 100, 0, 130, 202], [2, 130, 29, 4, 203]))
    expected = run_stage(graph, "max_flow", (), Runtime(tmp_path / "here"), asked)
    monkeypatch.setattr(cluster, "shards", 3)
    there = Runtime(tmp_path / "there", cluster=cluster)
    found = run_stage(graph, "max_flow", (), there, asked)
    assert found.manifest.files == expected.manifest.files and found.facts["whole_graph"] > 0
    assert "shards" not in prove(graph, found, True, there).facts


def test_a_run_of_everything_over_three_workers_has_the_tables_of_one_process(source, tmp_path):
    (tmp_path / "degrees.py").write_text(PROGRAM)
    asked = {
        "graph": {"source": source},
        "stages": ["wcc", "betweenness", "communities", "closure", "max_flow"],
        "betweenness": {"weights": False},
        "max_flow": {"pairs": write_pairs(tmp_path / "pairs.parquet", [1, 100, 0], [2, 130, 29])},
        "custom": [{"name": "degrees", "file": str(tmp_path / "degrees.py"), "columns": {"degree": "int64"}}],
        "closeness": {},
        "backend": "cpu",
    }
    cluster = {"scheduler": "local", "workers": 3, "shards": 3}
    one, many = (run(run_config("test", **asked, output=tmp_path / name, **more)).path
                 for name, more in (("one", {}), ("many", {"cluster": cluster})))  # fmt: skip
    for name in (*asked["stages"], "degrees", "closeness"):
        assert tables.read(many / name).equals(tables.read(one / name)), name
    facts = {step: read(tmp_path / "many" / "steps" / step).facts for step in (*asked["stages"], "custom-degrees", "closeness")}
    assert {step for step, of in facts.items() if "whole_graph" in of} == {*facts} - {"wcc", "communities"}
    assert facts["communities"]["shards"] == 3
