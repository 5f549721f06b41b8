"""Runs whose PageRank has seeds: tables and proofs on threads, over ranks and workers; weights; reports; what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadInput, BadSource, ProofFailed
from pipeline.inspection.check import check
from pipeline.run import run
from pipeline.steps.runtime import Runtime
from pipeline.steps.seeded.rankings import tasks_of
from pipeline.steps.verify import prove
from pipeline.store import manifest
from pipeline.tables import files as tables

ENDS = 3 * np.random.default_rng(7).integers(1, 40, (90, 2))
ENDS = ENDS[ENDS[:, 0] != ENDS[:, 1]]  # a run drops self-loops
IDS = sorted({*ENDS.ravel().tolist()})
SEEDS = IDS[::4]


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    pq.write_table(pa.table({"src": ENDS[:, 0], "dst": ENDS[:, 1]}), folder / "graph.parquet")
    lines = "".join(f"{vertex},{vertex / 10},1.5\n" for vertex in IDS)
    (folder / "places.csv").write_text(f"vertex,x,y\n{lines}", "utf-8")
    return folder / "graph.parquet"


def configured(graph: Path, out: Path, pagerank: dict[str, Any], **keys: Any) -> Any:
    asked = {"source": str(graph), "coordinates": str(graph.with_name("places.csv")), "directed": True}
    return run_config("test", output=out, graph=asked, stages=["pagerank"], pagerank=pagerank, backend="cpu", **keys)


def table_of(out: Path) -> pa.Table:
    return pq.read_table(out / "latest" / "pagerank")


def by_networkx(weights: dict[int, float], damping: float = 0.85) -> list[float]:
    plain: nx.DiGraph[int] = nx.DiGraph()
    plain.add_nodes_from(IDS)
    plain.add_edges_from(ENDS.tolist())
    scores = nx.pagerank(plain, alpha=damping, personalization=weights, tol=1e-13, max_iter=10_000)
    return [scores[vertex] for vertex in IDS]


@pytest.fixture(scope="module")
def ranked(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("ranked") / "out"
    run(configured(graph, out, {"seeds": SEEDS[::-1]}, oracle=True))
    return out


def test_each_seed_has_the_ranking_of_networkx(ranked):
    table = table_of(ranked)
    assert table.schema.names == ["seed", "vertex", "pagerank"]
    assert table["seed"].to_pylist() == [seed for seed in SEEDS for _ in IDS] and table["vertex"].to_pylist() == IDS * len(SEEDS)
    scores = np.split(table["pagerank"].to_numpy(), len(SEEDS))
    for seed, of_seed in zip(SEEDS, scores, strict=True):
        np.testing.assert_allclose(of_seed, by_networkx({seed: 1.0}), rtol=0, atol=1e-5)
    footer = pq.read_metadata(next((ranked / "latest" / "pagerank").iterdir()))
    assert [column.column_index for column in footer.row_group(0).sorting_columns] == [0, 1]


def test_the_manifest_and_the_report_say_what_was_asked(ranked):
    facts = manifest.read(ranked / "steps" / "pagerank").facts
    assert facts["options"] == {
        "damping": 0.85, "tolerance": 1e-6, "iterations": None, "seeds": SEEDS, "together": False, "seed_weights": [],
    }  # fmt: skip
    proof = manifest.read(ranked / "steps" / "proof-pagerank").facts
    assert "a step of the iteration in doubles changes the scores of a seed by 2e-06" in proof["rules"][-1]
    assert "products with a scipy.sparse.csr_array" in proof["oracle"]["rules"][-1]
    columns = json.loads((ranked / "latest" / "manifest.json").read_text())["facts"]["tables"]["pagerank"]["columns"]
    assert [column["name"] for column in columns] == ["seed", "vertex", "pagerank"]
    page = (ranked / "latest" / "report.html").read_text()
    assert f"{len(SEEDS)} seeds, each with a value for every vertex" in page
    assert f"WHERE seed = {SEEDS[0]} ORDER BY pagerank DESC" in page


@pytest.mark.parametrize("cluster", [{"shards": 3}, {"scheduler": "local", "workers": 1, "threads": 1}], ids=["ranks", "workers"])
def test_the_table_has_the_same_bytes_everywhere(cluster, graph, ranked, tmp_path):
    run(configured(graph, tmp_path / "out", {"seeds": SEEDS}, cluster=cluster))
    (one,), (other,) = ([*(out / "latest" / "pagerank").iterdir()] for out in (ranked, tmp_path / "out"))
    assert one.read_bytes() == other.read_bytes()


def test_files_of_one_answer_each_and_tasks_of_several_files(graph, ranked, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_FILE", len(IDS))
    monkeypatch.setattr("pipeline.steps.seeded.rankings.COLUMNS", 4)
    assert [*map(len, tasks_of(10, len(IDS)))] == [4, 4, 2]
    run(configured(graph, tmp_path / "out", {"seeds": SEEDS}))
    assert len([*(tmp_path / "out" / "latest" / "pagerank").iterdir()]) == len(SEEDS)
    assert table_of(tmp_path / "out").equals(table_of(ranked))


def test_seeds_together_and_weights(graph, tmp_path):
    asked = {"seeds": [9, SEEDS[0]], "together": True, "damping": 0.7, "tolerance": 1e-9}
    for weights, expected in (([], {9: 1.0, SEEDS[0]: 1.0}), ([3, 1], {9: 3.0, SEEDS[0]: 1.0})):
        run(configured(graph, tmp_path / "out", {**asked, "seed_weights": weights}, oracle=True))
        table = table_of(tmp_path / "out")
        assert table.schema.names == ["vertex", "pagerank"]
        np.testing.assert_allclose(table["pagerank"].to_numpy(), by_networkx(expected, 0.7), rtol=0, atol=1e-8)


def test_files_and_places(graph, tmp_path):
    (tmp_path / "ids.txt").write_text(f"{IDS[5]}\n{IDS[2]}\n")
    run(configured(graph, tmp_path / "out", {"seeds": str(tmp_path / "ids.txt"), "iterations": 2}))
    assert table_of(tmp_path / "out")["seed"].unique().to_pylist() == [IDS[2], IDS[5]]
    at, file = [IDS[1], IDS[4], IDS[4]], tmp_path / "shops.csv"
    file.write_text("id,lon,lat,visits\n" + "".join(f"{n},{vertex / 10},1.5,{n}\n" for n, vertex in enumerate(at, 1)))
    asked = {"seeds": str(file), "together": True, "seed_weights": "visits", "tolerance": 1e-9}
    run(configured(graph, tmp_path / "out", asked, snap_to="any"))
    np.testing.assert_allclose(table_of(tmp_path / "out")["pagerank"].to_numpy(), by_networkx({at[0]: 1, at[1]: 5}), atol=1e-8)
    assert pq.read_table(tmp_path / "out" / "latest" / "places")["key"].to_pylist() == ["pagerank.seeds"] * 3
    run(configured(graph, tmp_path / "out", {"seeds": [f"{at[0] / 10},1.5"], "iterations": 1}, snap_to="any"))
    assert table_of(tmp_path / "out")["seed"].unique().to_pylist() == [at[0]]


@pytest.mark.parametrize(
    ("pagerank", "error", "message"),
    [
        ({"seeds": [3, 4]}, BadSource, "source 4 is not in the graph"),
        ({"seeds": ["3", 3]}, BadSource, "source 3 is vertex 3, which is given twice"),
        ({"seeds": [3], "together": True, "seed_weights": [1, 2]}, BadConfig, "has 2 seed_weights for 1 seeds"),
        ({"seeds": [3], "together": True, "seed_weights": "visits"}, BadConfig, "names a column, but no file of places"),
        (
            {"seeds": "{}", "together": True, "seed_weights": "visit"},
            BadConfig,
            "'visit': .* has the columns visits; did",
        ),
        ({"seeds": "{}", "together": True, "seed_weights": "visits"}, BadInput, "row 1: .*visits -1"),
        ({"damping": 1.0}, BadConfig, "pagerank.damping: .*less than 1"),
        ({"tolerance": 1e-12}, BadConfig, "pagerank.tolerance: .*greater than or equal to 0.000000001"),
    ],
)
def test_what_is_refused(pagerank, error, message, graph, tmp_path):
    file = tmp_path / "shops.csv"
    file.write_text(f"id,lon,lat,visits\n1,{IDS[1] / 10},1.5,2\n2,{IDS[2] / 10},1.5,-1\n")
    if isinstance(pagerank.get("seeds"), str):
        pagerank = {**pagerank, "seeds": str(file)}
    for call in (run, check):
        with pytest.raises(error, match=message):
            call(configured(graph, tmp_path / "out", pagerank, snap_to="any"))


@pytest.mark.parametrize("change", ["swapped", "noise", "seed"])
def test_a_wrong_table_is_refused(change, ranked, tmp_path):
    shutil.copytree(ranked / "steps", tmp_path / "steps")
    graph, answer = (manifest.read(tmp_path / "steps" / step) for step in ("graph", "pagerank"))
    (file,) = tables.files(answer.path)
    table = pq.read_table(file)
    seeds, vertices, scores = (column.to_numpy().copy() for column in table.columns)
    if change == "seed":
        seeds[0] = SEEDS[1]
    elif change == "swapped":
        scores[: 2 * len(IDS)] = np.roll(scores[: 2 * len(IDS)], len(IDS))
    else:
        scores[len(IDS) + 3] += 1e-4
    changed = pa.table([seeds, vertices, scores], schema=table.schema).to_batches(len(IDS))
    tables.write_rows(file, table.schema, ["seed", "vertex"], changed)
    with pytest.raises(ProofFailed, match=r"(seed|source) \d+: (rows of another source|a step changes|the scores sum to 1.0001)"):
        prove(graph, rewritten(answer), False, Runtime(tmp_path))


def rewritten(answer: manifest.Folder) -> manifest.Folder:
    """The folder with a manifest for its changed files."""

    def write(folder: Path) -> dict[str, Any]:
        for file in tables.files(answer.path):
            shutil.copy(file, folder / file.name)
        return dict(answer.facts)

    return manifest.make(answer.path.with_name("changed"), "pagerank", dict(answer.manifest.inputs), {"changed": 1}, write)


def test_rankings_are_skipped_when_nothing_has_changed(ranked, graph):
    before = manifest.read(ranked / "steps" / "pagerank").manifest.created
    run(configured(graph, ranked, {"seeds": SEEDS}))
    assert manifest.read(ranked / "steps" / "pagerank").manifest.created == before
