"""Runs of stages that are computed on request only."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.registry import BY_NAME
from pipeline.cli.options import RunOptions
from pipeline.config.loading import run_config
from pipeline.config.stages import ClosureConfig, MaxFlowConfig
from pipeline.errors import BadConfig, BadInput, ProofFailed, TooLarge
from pipeline.run import run
from pipeline.steps import answers
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.manifest import make, read
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import write_pairs


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """A run over a cycle of three vertices, with a tail, and over a pair of others."""
    folder = tmp_path_factory.mktemp("votes")
    pq.write_table(pa.table({"src": [10, 20, 30, 30, 7], "dst": [20, 30, 10, 40, 8]}), folder / "arcs.parquet")
    source = {"source": str(folder / "arcs.parquet")}
    pairs = write_pairs(folder / "pairs.parquet", [10, 40, 7], [40, 10, 8])
    asked = {"stages": ["closure", "max_flow"], "max_flow": {"pairs": pairs}, "oracle": True, "backend": "cpu"}
    run(run_config("test", graph=source, output=folder / "out", **asked))
    return folder / "out"


def test_a_closure_is_published(votes):
    latest = read(votes / "latest")
    pairs = [(7, 8), *((vertex, other) for vertex in (10, 20, 30) for other in (10, 20, 30, 40))]
    table = tables.read(votes / "latest" / "closure")
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == pairs
    assert latest.facts["tables"]["closure"]["rows"] == 13
    assert latest.facts["proofs"]["closure"]["oracle"]["rules"]
    assert latest.facts["figures"]["closure: pairs"] == 13
    assert "13 pairs of 36 (36.11%)" in (votes / "latest" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("dropped", "reason"),
    [
        (0, "arc 7 -> 8: 7 does not reach 8"),
        (4, "vertices 20 and 10 reach each other, but not the same"),
        (None, "vertex 99 is not in the graph"),
    ],
)
def test_a_wrong_closure_is_not_proved(votes, tmp_path, dropped, reason):
    steps = votes / "steps"
    graph, true = read(steps / "graph"), read(steps / "closure")

    def write(folder):
        table = tables.read(true.path)
        keep = table.filter(pa.array(np.arange(13) != dropped)) if dropped is not None else table
        if dropped is None:
            keep = keep.set_column(1, table.schema.field(1), pa.array([99, *table["reached"].to_pylist()[1:]]))
        tables.write(folder, "closure", None, keep.to_batches())
        return true.facts | {"rows": keep.num_rows}

    wrong = make(tmp_path / "closure", "closure", {"graph": graph.digest}, {"wrong": dropped}, write)
    with pytest.raises(ProofFailed, match=reason):
        prove(graph, wrong, False, Runtime(tmp_path))


def test_flows_are_published(votes):
    latest = read(votes / "latest")
    rows = [
        {"query": 0, "src": 10, "dst": 40, "flow": 1, "vertices": 1, "cut_src": [10], "cut_dst": [20]},
        {"query": 1, "src": 40, "dst": 10, "flow": 0, "vertices": 1, "cut_src": [], "cut_dst": []},
        {"query": 2, "src": 7, "dst": 8, "flow": 1, "vertices": 1, "cut_src": [7], "cut_dst": [8]},
    ]
    assert tables.read(votes / "latest" / "max_flow").to_pylist() == rows
    assert sorted(path.name for path in (votes / "latest" / "max_flow").iterdir()) == ["part-00000.parquet"]
    assert latest.facts["proofs"]["max_flow"]["oracle"]["rules"]
    assert latest.facts["figures"]["max_flow: flow"] == 2
    assert "3 pairs, 1 without a flow; 2 arcs in the cuts" in (votes / "latest" / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("flow", [1, 0, 2], "pair 2, 7 to 8: the source sends 1, not 2"),
        ("src", [10, 40, 10], "the pairs are not those that were asked for"),
        ("vertices", [1, 1, 2], "the source's side has 1 vertices"),
        ("cut_src", [[10], [], [8]], "arc 7 -> 8 is not at its place in the cut"),
        ("cut_src", [[10, 20], [], []], "one end only"),
    ],
)
def test_a_wrong_flow_is_not_proved(votes, tmp_path, column, values, reason):
    steps = votes / "steps"
    graph, true = read(steps / "graph"), read(steps / "max_flow")

    def write(folder):
        for path in true.path.glob("*.npy"):
            (folder / path.name).write_bytes(path.read_bytes())
        table = tables.read(true.path)
        place = table.schema.get_field_index(column)
        changed = table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))
        tables.write(folder, "max_flow", None, changed.to_batches())
        return true.facts

    inputs = {"graph": graph.digest, "pairs": ""}
    wrong = make(tmp_path / "max_flow", "max_flow", inputs, {"wrong": [column, values]}, write)
    with pytest.raises(ProofFailed, match=reason):
        prove(graph, wrong, False, Runtime(tmp_path))


@pytest.mark.parametrize(
    ("src", "dst", "words"),
    [
        ([10, 20], [20, 99], "row 1: dst 99 is not in the graph .6 vertices."),
        ([10, 20], [20, 20], "row 1: src and dst are both 20; a flow needs two vertices"),
        (["a"], ["b"], "column 'src' is string, but the ids of this graph are integers"),
    ],
)
def test_wrong_pairs_are_refused(votes, tmp_path, src, dst, words):
    pairs = write_pairs(tmp_path / "pairs.parquet", src, dst)
    graph = read(votes / "steps" / "graph")
    with pytest.raises(BadInput, match=words):
        run_stage(graph, "max_flow", (), Runtime(tmp_path), MaxFlowConfig(pairs=pairs))
    assert not (tmp_path / "max_flow").exists()


def test_no_pair_gives_an_empty_table(votes, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", pa.array([], pa.int64()), pa.array([], pa.int64()))
    graph = read(votes / "steps" / "graph")
    answer = run_stage(graph, "max_flow", (), Runtime(tmp_path), MaxFlowConfig(pairs=pairs))
    assert tables.read(answer.path).num_rows == 0
    assert prove(graph, answer, True, Runtime(tmp_path)).facts["holds"]


def test_a_closure_beyond_its_limit_or_free_memory_is_refused(votes, tmp_path, monkeypatch):
    graph = read(votes / "steps" / "graph")
    with pytest.raises(TooLarge, match=r"closure: the graph has at least 9 pairs .* the limit is 8; .* stage reachability"):
        run_stage(graph, "closure", (), Runtime(tmp_path), ClosureConfig(limit=8))
    monkeypatch.setattr(answers, "free_memory", lambda backend="cpu": 64 * 12)
    with pytest.raises(TooLarge, match=r"closure: the graph has at least 13 pairs .* the limit is 12;"):
        run_stage(graph, "closure", (), Runtime(tmp_path), ClosureConfig())
    monkeypatch.setattr(answers, "free_memory", lambda backend="cpu": 64 * (12 if backend == "gpu" else 50))
    limits = [answers._within_memory(BY_NAME["closure"], {"limit": 99}, backend)["limit"] for backend in ("gpu", "cpu")]
    assert limits == [12, 50]


def test_flows_and_pairs_need_each_other(tmp_path):
    with pytest.raises(BadConfig, match="max_flow: stage max_flow needs pairs: name their file"):
        run_config("test", graph={"source": "g"}, output="o", stages=["max_flow"])
    for options in (RunOptions(out=tmp_path, pairs=tmp_path), RunOptions(out=tmp_path, stages="wcc", pairs=tmp_path)):
        with pytest.raises(BadConfig, match=r"max_flow\.pairs: has no effect: stage max_flow does not run \(.*wcc"):
            options.config("g.csv")


def test_pairs_are_an_option(tmp_path):
    options = RunOptions(out=tmp_path, stages="max_flow", pairs=tmp_path / "pairs.parquet")
    assert options.config("g.csv").max_flow == MaxFlowConfig(pairs=str(tmp_path / "pairs.parquet"))


def test_pairs_and_cuts_have_the_names_of_the_source(tmp_path):
    arcs = {"src": ["a", "b", "c"], "dst": ["b", "c", "d"], "weight": [0.5, 0.25, 3.0]}
    pq.write_table(pa.table(arcs), tmp_path / "arcs.parquet")
    asked = {"stages": ["max_flow"], "max_flow": {"pairs": write_pairs(tmp_path / "pairs.parquet", ["a"], ["d"])}}
    source = {"source": str(tmp_path / "arcs.parquet"), "ids": "string"}
    published = run(run_config("test", graph=source, output=tmp_path / "out", named=True, backend="cpu", **asked))
    (row,) = tables.read(published.path / "max_flow").to_pylist()
    names = {name: row[name] for name in ("src_name", "dst_name", "flow", "vertices", "cut_src_name", "cut_dst_name")}
    assert [*names.values()] == ["a", "d", 0.25, 2, ["b"], ["c"]]
