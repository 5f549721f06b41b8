"""The commands `matrix` and `trees`: any folder, any file of vertices, today's bytes, and nothing that is half written."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.trees import targets
from pipeline.cluster.protocol import Place
from pipeline.errors import BadConfig, BadInput, BadSource, Damaged
from pipeline.steps.products import sweeping
from pipeline.steps.products.closeness import tabulate_closeness
from pipeline.steps.products.commands import matrix_into, trees_into
from pipeline.steps.products.trees import tabulate_trees
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.store import manifest
from pipeline.store.graph import VERTICES
from tests.ingest.thrift import field, footer_of, with_footer
from tests.pipeline.products.conftest import SIDE, network, write_network
from tests.pipeline.products.test_products import DISTANCES, steps_of

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Where commands keep the graphs that they read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def rows_of(folder):
    return [tuple(row.values()) for row in pq.read_table(folder).to_pylist()]


def test_a_matrix_of_a_run_and_of_a_file(published, tmp_path):
    (tmp_path / "from.csv").write_text('"source"\n48\n0\n60\n0\n')
    pq.write_table(pa.table({"id": [61, 24, 7]}), tmp_path / "to.parquet")
    asked = {"sources": str(tmp_path / "from.csv"), "targets": str(tmp_path / "to.parquet"), "backend": "cpu"}
    write_network(tmp_path)
    one = matrix_into(str(published.path.parents[1]), tmp_path / "one", **asked)
    other = matrix_into(str(tmp_path / "e.parquet"), tmp_path / "other", **asked)
    assert one.manifest.files == other.manifest.files
    expected = [(src, dst, DISTANCES[src].get(dst)) for src in (0, 48, 60) for dst in (7, 24, 61)]
    assert rows_of(tmp_path / "one") == expected
    assert matrix_into(str(published.path), tmp_path / "one", **asked).reused
    matrix_into(str(published.path), tmp_path / "one", **asked, cutoff=7)
    assert rows_of(tmp_path / "one") == [row for row in expected if row[2] is not None and row[2] <= 7]


def test_a_matrix_with_a_sample_of_proofs(published, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "WORTH", 1)
    monkeypatch.setattr(targets, "_WORTH", 1)  # few vertices are worth a sweep of their own
    (tmp_path / "to.csv").write_text("3\n61\n")
    asked = {"targets": str(tmp_path / "to.csv"), "backend": "cpu"}
    made = [matrix_into(str(published.path), tmp_path / proof, **asked, proof=proof) for proof in ("every", "sample")]
    assert made[0].manifest.files == made[1].manifest.files
    assert [one.facts["proof"]["rules"][0] for one in made] == [sweeping.ALL_PROVED, sweeping.SOME_PROVED]


def test_all_vertices_without_files(published, tmp_path):
    matrix_into(str(published.path), tmp_path / "all", backend="cpu")
    vertices = sorted(network())
    assert rows_of(tmp_path / "all") == [(src, dst, DISTANCES[src].get(dst)) for src in vertices for dst in vertices]


@pytest.mark.parametrize("worth", [1, 1000], ids=["swept", "searched"])
def test_trees_have_the_bytes_of_sssp(published, tmp_path, monkeypatch, worth):
    """So do other products on a hierarchy, also where paths lead towards the sources."""
    monkeypatch.setattr(sweeping, "WORTH", worth)
    _, graph = steps_of(published)
    sources = [0, 7, 8, 60]
    made = tabulate_trees(graph, np.array(sources), tmp_path / "trees", Runtime(tmp_path))
    assert made.manifest.files == run_stage(graph, "sssp", sources, Runtime(tmp_path)).manifest.files
    assert (tmp_path / "hierarchy").exists() == (worth == 1)
    before = manifest.read(published.path.parents[1] / "steps" / "closeness")
    assert tabulate_closeness(graph, None, Runtime(tmp_path)).manifest.files == before.manifest.files
    towards = sweeping.Sweeps(graph, np.arange(SIDE), towards=True).prepared(Runtime(tmp_path))
    ((_, trees),) = towards.batches(Place("cpu"), range(SIDE), predecessors=True)
    ids = towards.graph_at(Place("cpu")).ids.tolist()
    assert [[d if d >= 0 else None for d in row] for row in trees.distances.tolist()] == [
        [DISTANCES[vertex].get(source) for vertex in ids] for source in range(SIDE)
    ]


def test_a_task_looks_up_its_own_sources_only(published, monkeypatch):
    """All sources for each task took two thirds of the time of New York's closeness."""
    _, graph = steps_of(published)
    looked_up, find = list[list[int]](), sweeping.rows_of_sources
    monkeypatch.setattr(sweeping, "rows_of_sources", lambda folder, sources: looked_up.append(sources) or find(folder, sources))
    batches = sweeping.Sweeps(graph, np.arange(SIDE)).batches(Place("cpu"), range(2, 5))
    assert [ids.tolist() for ids, _ in batches] == [[2, 3, 4]]
    assert looked_up == [[2, 3, 4]]


def test_the_command_and_names(tmp_path):
    (tmp_path / "roads.csv").write_text("src,dst,weight\nana,bob,2.5\nbob,cem,1.5\ncem,ana,1\n")
    (tmp_path / "who.csv").write_text("vertex\ncem\n")
    pq.write_table(pa.table({"name": ["bob", "ana"]}), tmp_path / "whom.parquet")
    command = [sys.executable, "-m", "pipeline.cli", "matrix", "roads.csv", "--sources", "who.csv", "--targets", "whom.parquet"]
    found = subprocess.run([*command, "--out", "m"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "2 rows from 1 source; every tree proved" in found.stdout
    assert rows_of(tmp_path / "m") == [(2, 0, 1.0), (2, 1, 3.5)]
    (tmp_path / "who.csv").write_text("vertex\nbub\n")
    with pytest.raises(BadSource, match=r"who\.csv: source 'bub' is not in the graph"):
        matrix_into(str(tmp_path / "roads.csv"), tmp_path / "m", sources=str(tmp_path / "who.csv"))
    assert rows_of(tmp_path / "m") == [(2, 0, 1.0), (2, 1, 3.5)]


def test_a_killed_matrix_leaves_nothing_that_is_trusted(published, tmp_path):
    out = tmp_path / "matrix"
    command = [sys.executable, "-m", "pipeline.cli", "matrix", str(ROOT / "data" / "rome99.gr.gz"), "--cutoff", "5000"]
    process = subprocess.Popen([*command, "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not [*tmp_path.glob(".*/*/attempts")] and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    assert [*tmp_path.glob(".*/*/attempts")]
    matrix_into(str(published.path), out, cutoff=1, backend="cpu")
    assert not [*tmp_path.glob(".*/*/attempts")]
    manifest.check(manifest.read(out))


def test_a_run_whose_graph_is_damaged_is_refused(published, tmp_path):
    vertices = published.path.parents[1] / "steps" / "graph" / VERTICES
    content = vertices.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    vertices.write_bytes(flipped)
    try:
        with pytest.raises(Damaged, match=r"vertices\.arrow: its SHA-256 differs from the manifest's"):
            trees_into(str(published.path), tmp_path / "out", backend="cpu")
    finally:
        vertices.write_bytes(content)


def test_what_is_refused(published, tmp_path):
    (tmp_path / "ids.csv").write_text("vertex\n7\n777\n")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine")
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "two.parquet")
    pq.write_table(pa.table({"a": [1, None]}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"a": [1.5]}), tmp_path / "float.parquet")
    pq.write_table(pa.table({"a": [7, 24]}), tmp_path / "short.parquet")
    run = str(published.path)
    content = (tmp_path / "short.parquet").read_bytes()
    footer = footer_of(content)
    field(footer, 3)[2] = 1  # rows of the file
    (tmp_path / "short.parquet").write_bytes(with_footer(content, footer))
    for file, error, words in (
        ("ids.csv", BadSource, "source 777 is not in the graph"),
        ("none.csv", BadInput, "none.csv: "),
        ("two.parquet", BadInput, r"has 2 columns \(a, b\); one column of ids is due"),
        ("null.parquet", BadInput, "row 1: the vertex is null"),
        ("short.parquet", BadInput, "is not a complete Parquet file"),
        ("float.parquet", BadInput, "column 'a' is double, not an integer type or string"),
    ):
        with pytest.raises(error, match=words):
            matrix_into(run, tmp_path / "out", sources=str(tmp_path / file), backend="cpu")
    with pytest.raises(BadConfig, match="holds what this command did not write"):
        trees_into(run, tmp_path / "taken")
    with pytest.raises(BadConfig, match=r"is inside .*, the folder of a run"):
        trees_into(run, published.path / "trees")
    with pytest.raises(BadConfig, match="is not a published run, but the folder of step graph"):
        matrix_into(str(published.path.parents[1] / "steps" / "graph"), tmp_path / "out")
    with pytest.raises(BadConfig, match=r"cutoff: .*greater than or equal to 0"):
        matrix_into(run, tmp_path / "out", cutoff=-1)
    assert not (tmp_path / "out").exists()
