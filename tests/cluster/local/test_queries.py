"""Queries on workers: the same bytes as without workers, in the file's order, even if workers are killed."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.cluster.start import started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.products.closeness import ClosenessConfig
from pipeline.config.products.matrix import MatrixOptions
from pipeline.config.products.nearest import NearestConfig
from pipeline.config.run import RunConfig
from pipeline.config.stages import ReachabilityConfig
from pipeline.errors import BadConfig, BadInput
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.products import nearest, tabulating
from pipeline.steps.products.closeness import tabulate_closeness
from pipeline.steps.products.matrix import tabulate_matrix
from pipeline.steps.reach import reach, reach_into
from pipeline.steps.runtime import Runtime
from pipeline.store import manifest
from pipeline.store.manifest import Folder, check
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import DeadlyWrites, results
from tests.cluster.local.conftest import LOCAL
from tests.cluster.processes import local_workers
from tests.flows.processes import ROOT
from tests.pipeline.products.calls import listed

ROWS, PER_FILE, FILES = 70_000, 10_000, 7
KILLS = 2


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Folder:
    """The index of a layered graph, where some queries need a search."""
    work = tmp_path_factory.mktemp("layers")
    src = np.repeat(np.arange(11 * 500), 3)
    dst = (src // 500 + 1) * 500 + np.random.default_rng(1).integers(0, 500, len(src))
    pq.write_table(pa.table({"src": src, "dst": dst}), work / "layers.parquet")
    edges = ingest(GraphConfig(source=str(work / "layers.parquet"), directed=True), work)
    return build_index(lay_out(edges, LayoutConfig(), Runtime(work)), ReachabilityConfig(), Runtime(work))


def write_pairs(path: Path, rows: int = ROWS, group: int = PER_FILE // 2, unknown: int | None = None) -> str:
    src, dst = np.random.default_rng(2).integers(0, 5500, (2, rows))
    if unknown is not None:
        dst[unknown] = 99_999
    pq.write_table(pa.table({"src": src, "dst": dst}), path, row_group_size=group)
    return str(path)


@pytest.fixture
def small_files(monkeypatch) -> None:
    monkeypatch.setattr(tables, "ROWS_PER_FILE", PER_FILE)


def test_answers_are_the_same_with_and_without_workers(index, cluster, small_files, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet")
    there = reach(index, pairs, tmp_path / "there", oracle=True, runtime=Runtime(tmp_path, cluster=cluster))
    here = reach(index, pairs, tmp_path / "here", oracle=True, runtime=Runtime(tmp_path, cluster=LocalThreads()))
    assert there.manifest.files == here.manifest.files
    assert len(tables.files(there.path)) == FILES
    check(there)
    timeless = [{name: fact for name, fact in folder.facts.items() if name != "seconds"} for folder in (there, here)]
    assert timeless[0] == timeless[1]
    assert there.facts["oracle"] == FILES * 1000 and there.facts["rows"] == ROWS
    assert there.facts["decided"]["search"] > 0
    found, asked = tables.read(there.path), pq.read_table(pairs)
    assert found.select(["src", "dst"]).equals(asked.cast(found.select(["src", "dst"]).schema))
    one_file = reach(
        index, write_pairs(tmp_path / "one.parquet", group=ROWS), tmp_path / "one", runtime=Runtime(tmp_path, cluster=cluster)
    )
    assert len(tables.files(one_file.path)) == 1
    assert tables.read(one_file.path).equals(found)


def test_products_are_the_same_with_and_without_workers(index, cluster, tmp_path, monkeypatch):
    """Each has several tasks, and the matrix several files."""
    monkeypatch.setattr(tabulating, "PER_TASK", 4)
    monkeypatch.setattr(nearest, "PER_TASK", 2)
    edges, graph = (manifest.read(index.path.with_name(step)) for step in ("edges", "graph"))
    (tmp_path / "facilities.csv").write_text("".join(f"{vertex}\n" for vertex in range(5000, 5005)))
    sources = np.arange(0, 900, 60)
    asked = [
        (tabulate_closeness, ClosenessConfig(sources=listed(tmp_path, sources))),
        (nearest.tabulate_nearest, NearestConfig(facilities=str(tmp_path / "facilities.csv"), count=3)),
    ]
    made = []
    for place, workers in (("there", cluster), ("here", LocalThreads())):
        runtime = Runtime(tmp_path / place, cluster=workers)
        with monkeypatch.context() as patched:
            patched.setattr(tables, "ROWS_PER_FILE", 60)
            options = MatrixOptions(output=tmp_path / place / "m")
            matrix = tabulate_matrix(graph, [sources, np.arange(2000, 2020)], options, runtime)
        products = [matrix, *(step(edges, graph, table, runtime) for step, table in asked)]
        made.append([product.manifest.files for product in products])
        assert len(matrix.manifest.files) == len(sources) // 3
        check(matrix)
    assert made[0] == made[1]


def test_an_empty_file_of_pairs_has_an_empty_answer(index, cluster, tmp_path):
    answers = reach(
        index, write_pairs(tmp_path / "none.parquet", 0), tmp_path / "out", runtime=Runtime(tmp_path, cluster=cluster)
    )
    assert answers.facts["rows"] == 0 and len(tables.files(answers.path)) == 1


def test_each_worker_opens_the_index_once(index, cluster):
    found = results(cluster, partial(worker_tasks.where_an_index, index), range(20), "cpu", one_at_a_time=True)
    assert [item for item, _, _ in found] == list(range(20))
    assert {process for _, process, _ in found} == {worker.pid for worker in local_workers()}
    assert len({(process, placed) for _, process, placed in found}) == 2


def test_the_row_of_an_unknown_vertex_counts_from_the_first_file(index, cluster, small_files, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", unknown=43_210)
    with pytest.raises(BadInput, match=r"pairs\.parquet: row 43210: dst 99999 is not in the graph"):
        reach(index, pairs, tmp_path / "out", runtime=Runtime(tmp_path, cluster=cluster))
    assert list(tmp_path.iterdir()) == [tmp_path / "pairs.parquet"]
    answers = reach(index, pairs, tmp_path / "out", "null", runtime=Runtime(tmp_path, cluster=cluster))
    assert tables.read(answers.path)["reachable"].null_count == answers.facts["unknown"] == 1


def test_answers_are_right_even_if_workers_are_killed(index, small_files, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.parquet", 500_000, 50_000)
    (tmp_path / "there").mkdir()
    with started(ClusterConfig(scheduler="local", workers=2, lost_workers=KILLS), "cpu") as cluster:
        deadly = DeadlyWrites(cluster, tmp_path / "deaths", KILLS)
        found = reach(index, pairs, tmp_path / "there" / "out", runtime=Runtime(tmp_path / "there", cluster=deadly))
    assert deadly.left == 0
    assert found.manifest.files == reach(index, pairs, tmp_path / "here").manifest.files
    assert [path.name for path in found.path.glob(".*")] == []


def test_a_run_and_the_command_answer_on_workers(small_files, tmp_path):
    votes = np.loadtxt(ROOT / "data" / "wiki-Vote.txt.gz", np.int64)
    pq.write_table(pa.table({"src": votes[:, 1], "dst": votes[:, 0]}), tmp_path / "pairs.parquet", row_group_size=50_000)
    pairs = str(tmp_path / "pairs.parquet")
    asked = {"graph": GraphConfig(source=str(ROOT / "data" / "wiki-Vote.txt.gz")), "stages": ["reachability"]}
    published = run(RunConfig(**asked, output=tmp_path / "out", queries={"pairs": pairs, "witness": True}, cluster=LOCAL))
    assert len(tables.files(published.path / "reached")) == 3
    alone = reach_into(tmp_path / "out", pairs, tmp_path / "alone", witness=tmp_path / "alone-paths")
    for folder, table in ((alone.path, "reached"), (tmp_path / "alone-paths", "paths")):
        assert [path.read_bytes() for path in tables.files(folder)] == [
            path.read_bytes() for path in tables.files(published.path / table)
        ]
    (tmp_path / "run.toml").write_text('[cluster]\nscheduler = "local"\nworkers = 1\n')
    command = [sys.executable, "-m", "pipeline.cli", "reach", tmp_path / "out", pairs, "--out", tmp_path / "command"]
    command += ["--cluster", tmp_path / "run.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "cluster: 1 workers" in done.stderr
    assert done.stdout.split()[-1] == str(tmp_path / "command" / "part-00000.parquet")
    assert tables.read(tmp_path / "command").equals(tables.read(alone.path))
    with pytest.raises(BadConfig, match="cluster"):
        reach_into(tmp_path / "out", pairs, tmp_path / "more", cluster={"scheduler": "tcp://10.0.0.5:8786"})
