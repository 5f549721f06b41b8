"""What opens all of a graph on a worker though ranks hold it in shards: products, stages of one worker, and those of users."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.registry import ALGORITHMS
from pipeline.config.loading import run_config
from pipeline.errors import TooLarge
from pipeline.fitting import require_fit
from pipeline.run import run
from pipeline.steps.products import whole_graphs
from pipeline.store.manifest import read
from pipeline.tables import files as tables

_DEGREES = """
import numpy as np

def solve(graph, options):
    return {"degree": np.diff(graph.out.offsets)}
"""
STEPS = {
    "closeness": "closeness",
    "closure": "closure",
    "max_flow": "max_flow",
    "betweenness": "betweenness",
    "degrees": "custom-degrees",
}


@pytest.fixture
def asked(request, tmp_path):
    """A run whose only work besides `wcc` needs the whole graph: a star, a path, parallel edges, self-loops, vertices alone."""
    edges = [(0, leaf, 3) for leaf in range(1, 9)] + [(9, 10, 2), (10, 11, 5), (11, 12, 2), (9, 10, 4), (9, 9, 1), (14, 14, 7)]
    columns = dict(zip(("src", "dst", "weight"), zip(*edges, strict=True), strict=True))
    pq.write_table(pa.table({name: np.array(values) for name, values in columns.items()}), tmp_path / "graph.parquet")
    pq.write_table(pa.table({"src": [1, 9, 1], "dst": [2, 12, 9]}), tmp_path / "pairs.parquet")
    (tmp_path / "degrees.py").write_text(_DEGREES)
    stages = ["wcc", *({request.param} & {algorithm.name for algorithm in ALGORITHMS})]
    more = {
        "closeness": {"closeness": {}},
        "max_flow": {"max_flow": {"pairs": str(tmp_path / "pairs.parquet")}},
        "degrees": {"custom": [{"name": "degrees", "file": str(tmp_path / "degrees.py"), "columns": {"degree": "int64"}}]},
    }
    graph = {"source": str(tmp_path / "graph.parquet"), "directed": False}
    return request.param, {"graph": graph, "stages": stages, "backend": "cpu", **more.get(request.param, {})}


@pytest.mark.parametrize("asked", STEPS, indirect=True)
@pytest.mark.parametrize("shards", [2, 3, 4])
def test_the_tables_are_those_of_one_process_and_the_manifest_says_what_was_opened(asked, shards, tmp_path, caplog):
    name, asked = asked
    caplog.set_level("INFO")
    one = run(run_config("test", **asked, output=tmp_path / "one"))
    assert "all of the graph" not in caplog.text
    many = run(run_config("test", **asked, output=tmp_path / "many", cluster={"shards": shards}))
    assert f"{name}: workers open all of the graph, 0 MiB each, not only shards" in caplog.text
    assert tables.read(many.path / name).equals(tables.read(one.path / name))
    found = [read(tmp_path / where / "steps" / STEPS[name]) for where in ("one", "many")]
    assert found[0].manifest.files == found[1].manifest.files
    graph = tmp_path / "many" / "steps" / "graph"
    assert "whole_graph" not in found[0].facts
    assert found[1].facts["whole_graph"] == sum(path.stat().st_size for path in graph.rglob("*.npy"))
    assert many.facts["steps"][STEPS[name]]["whole_graph"] == found[1].facts["whole_graph"]


@pytest.mark.parametrize("asked", ["max_flow"], indirect=True)
def test_stages_of_whole_graphs_are_last_over_shards(asked, tmp_path):
    """Opening a whole graph closes the shards of its process, so stages over ranks would load them again."""
    _, asked = asked
    asked |= {"stages": ["max_flow", "bfs", "reachability", "pagerank"], "reachability": {"method": "dfs"}}
    orders = []
    for shards in (0, 2):
        order = list[str]()

        def call(name, step, *arguments, order=order):
            order += [name] * (name in asked["stages"])
            return step(*arguments)

        run(run_config("test", **asked, output=tmp_path / str(shards), cluster={"shards": shards}), call)
        orders.append(order)
    assert sorted(orders[0]) == sorted(orders[1])
    assert {*orders[1][2:]} == {"max_flow", "reachability"}


@pytest.mark.parametrize("asked", ["max_flow"], indirect=True)
@pytest.mark.parametrize("oracle", [False, True])
def test_proofs_on_the_whole_graph_say_so(oracle, asked, tmp_path):
    _, asked = asked
    asked |= {"stages": ["wcc", "bfs", "max_flow"], "oracle": oracle}
    for shards in (0, 2):
        many = run(run_config("test", **asked, output=tmp_path / str(shards), cluster={"shards": shards}))
        whole = sum(path.stat().st_size for path in (tmp_path / str(shards) / "steps" / "graph").rglob("*.npy"))
        said = {stage: many.facts["proofs"][stage].get("whole_graph") for stage in asked["stages"]}
        assert said == {stage: whole if shards and (oracle or stage == "max_flow") else None for stage in said}


@pytest.mark.parametrize("asked", STEPS, indirect=True)
def test_what_does_not_fit_a_worker_is_refused_before_the_source_is_read(asked, tmp_path, monkeypatch):
    name, asked = asked
    asked |= {"output": tmp_path / "out", "cluster": {"shards": 2}}
    words = f"^{name}: each worker needs all of the graph, {{}}0 MiB, not only its shard, and 0 MiB are free o"
    monkeypatch.setattr(whole_graphs, "free_memory", lambda backend: 10)
    with pytest.raises(TooLarge, match=words.format("at least ")):
        run(run_config("test", **asked))
    assert not (tmp_path / "out" / "steps" / "edges").exists()
    monkeypatch.setattr(whole_graphs, "free_memory", lambda backend: 150)  # enough for the arcs, not for all arrays
    with pytest.raises(TooLarge, match=words.format("")):
        run(run_config("test", **asked))
    assert (tmp_path / "out" / "steps" / "graph").exists() and not (tmp_path / "out" / "steps" / "wcc").exists()


@pytest.mark.parametrize("asked", ["betweenness"], indirect=True)
@pytest.mark.parametrize(("parallel", "cluster"), [("count", {}), ("lightest", {"scheduler": "tcp://127.0.0.1:1"})])
def test_nothing_is_refused_here_that_may_fit(parallel, cluster, asked, tmp_path, monkeypatch):
    """Merged arcs may be few, and a worker elsewhere has a memory of its own."""
    _, asked = asked
    asked["graph"] |= {"parallel": parallel}
    monkeypatch.setattr(whole_graphs, "free_memory", lambda backend: 10)
    require_fit(run_config("test", **asked, output=tmp_path / "out", cluster={"shards": 2, **cluster}), "cpu")


def test_what_opens_the_whole_graph_besides_stages_and_products_is_named(tmp_path):
    asked = {
        "graph": {"source": "a.csv"},
        "output": tmp_path,
        "stages": ["wcc", "reachability"],
        "reachability": {"method": "dfs"},
    }
    asked |= {"queries": {"pairs": "p.parquet", "witness": True}, "oracle": True}
    named = whole_graphs.on_whole_graphs(run_config("test", **asked, cluster={"shards": 2}))
    assert named == ["reachability", "the oracle", "paths"]
    assert whole_graphs.on_whole_graphs(run_config("test", **asked)) == []


@pytest.mark.parametrize("asked", ["closure"], indirect=True)
def test_ranks_exchange_positions_of_pairs_in_blocks(asked, tmp_path, monkeypatch):
    _, asked = asked
    for module in ("kernels.closure.certificate.ranks", "pipeline.cluster.shared_graph"):
        monkeypatch.setattr(f"{module}._BLOCK", 2)
    one, many = (
        run(run_config("test", **asked, output=tmp_path / name, **more)).path
        for name, more in (("one", {}), ("many", {"cluster": {"shards": 3}}))
    )
    assert tables.read(many / "closure").equals(tables.read(one / "closure"))


@pytest.mark.parametrize("asked", ["max_flow"], indirect=True)
def test_the_limit_of_a_local_worker_is_named_with_its_key(asked, tmp_path):
    _, asked = asked
    cluster = {"shards": 2, "scheduler": "local", "memory": "10 B"}
    with pytest.raises(TooLarge, match=r"0 MiB are the limit of a worker \(\[cluster\] memory\); leave them out"):
        run(run_config("test", **asked, output=tmp_path / "out", cluster=cluster))
    assert not (tmp_path / "out" / "steps" / "edges").exists()
