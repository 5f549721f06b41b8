"""Table `paths`: for each yes the path of table `bfs`, from a run and from the command."""

import shutil
from itertools import pairwise
from pathlib import Path

import duckdb
import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.reachability.paths import cpu
from pipeline.config.graph import GraphConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadConfig, Damaged, ProofFailed, TooLarge
from pipeline.run import run
from pipeline.steps import paths
from pipeline.steps.reach import reach_into
from pipeline.store import manifest
from pipeline.tables import files as tables
from tests.pipeline.reach.inputs import layered, write_pairs
from tests.pipeline.runs.commands import graphmill


@pytest.fixture(scope="module")
def asked(small, tmp_path_factory) -> tuple[Path, str, list[tuple[int, int]]]:
    """A run, a file with all pairs and one that is not in the graph, in three row groups; and the pairs that are reachable."""
    output, ids, closure = small
    pairs = np.random.default_rng(1).permutation([(src, dst) for src in ids for dst in ids]).tolist()
    pairs.insert(100, [10**6, ids[0]])
    file = write_pairs(tmp_path_factory.mktemp("asked") / "pairs.parquet", *zip(*pairs, strict=True), row_group_size=4_000)
    return output, file, [tuple(pair) for pair in pairs if tuple(pair) in closure]


def answer(asked: tuple[Path, str, object], folder: Path, **options: object) -> manifest.Folder:
    reach_into(asked[0], asked[1], folder / "answers", unknown="null", witness=folder / "paths", **options)
    return manifest.read(folder / "paths")


def test_each_yes_has_its_path(asked, tmp_path, monkeypatch):
    output, file, reachable = asked
    found = answer(asked, tmp_path)
    rows, arcs = tables.read(found.path).to_pylist(), pq.read_table(output.parent / "arcs.parquet").to_pylist()
    assert [(row["src"], row["dst"]) for row in rows] == reachable
    pairs, stored = pq.read_table(file).to_pylist(), {(arc["src"], arc["dst"]) for arc in arcs}
    for row in rows:
        assert pairs[row["query"]] == {"src": row["src"], "dst": row["dst"]}
        assert (row["path"][0], row["path"][-1], len(row["path"])) == (row["src"], row["dst"], row["length"] + 1)
        assert set(pairwise(row["path"])) <= stored
    facts = found.facts
    assert (facts["paths"], facts["vertices"]) == (len(rows), sum(len(row["path"]) for row in rows))
    assert facts["longest"] == max(row["length"] for row in rows)
    manifest.check(found)
    assert answer(asked, tmp_path).manifest == found.manifest  # it is kept
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 4_000)
    (tmp_path / "files").mkdir()
    in_files = answer(asked, tmp_path / "files")
    assert len(in_files.manifest.files) == 3
    assert tables.read(in_files.path).to_pylist() == rows


@pytest.mark.parametrize("cores", [1, 3])
def test_the_bytes_depend_on_the_paths_only(asked, tmp_path, monkeypatch, cores):
    """Not on how many cores search, nor on how many paths are found together; a row group has so many vertices."""
    monkeypatch.setattr(paths, "GROUP_VERTICES", 700)
    (tmp_path / "first").mkdir()
    expected = answer(asked, tmp_path / "first")
    monkeypatch.setattr(cpu, "cores", lambda: cores)
    monkeypatch.setattr(cpu, "QUERIES", 17)
    found = answer(asked, tmp_path)
    assert found.manifest.files == expected.manifest.files
    file = pq.ParquetFile(found.path / "part-00000.parquet")
    sizes = [sum(map(len, file.read_row_group(group)["path"].to_pylist())) for group in range(file.num_row_groups)]
    assert len(sizes) > 5 and all(700 <= size < 720 for size in sizes[:-1])


def test_readers_open_the_table(asked, tmp_path):
    path = answer(asked, tmp_path).path
    rows = tables.read(path).to_pylist()
    read = pandas.read_parquet(path)
    assert [*map(list, read.path)] == [row["path"] for row in rows]
    vertices = duckdb.sql(f"SELECT query, unnest(path) FROM '{path}/*.parquet'").fetchall()
    assert vertices == [(row["query"], vertex) for row in rows for vertex in row["path"]]


def test_wrong_paths_publish_nothing(asked, tmp_path, monkeypatch):
    """A path over what is no arc, the path of another pair, and none."""
    true = cpu._find

    def forged(wrong):
        def find(*arguments):
            done, begins, nodes = true(*arguments), arguments[-2], arguments[-1]
            wrong(begins, nodes)
            return done

        return find

    def none(begins, nodes):
        begins[1:] -= begins[1]

    def shifted(begins, nodes):
        nodes[:-1] = nodes[1:].copy()

    def no_arc(begins, nodes):
        long = int(np.flatnonzero(np.diff(begins) > 2)[0])
        nodes[begins[long] + 1] = nodes[begins[long]]

    for wrong in (none, shifted, no_arc):
        monkeypatch.setattr(cpu, "_find", forged(wrong))
        with pytest.raises(ProofFailed, match=r"paths: [0-9]+ was found to reach [0-9]+, but no path of stored arcs shows it"):
            answer(asked, tmp_path)
        assert not (tmp_path / "paths").exists() and not list(tmp_path.glob(".*"))


def test_a_wrong_yes_is_refused(asked, tmp_path, monkeypatch):
    """Also one that labels gave."""
    from pipeline.steps import queries

    true = queries.reach_with_proof

    def generous(*arguments):
        proved = true(*arguments)
        proved.answers.reachable[:] = True
        return proved

    monkeypatch.setattr(queries, "reach_with_proof", generous)
    with pytest.raises(ProofFailed, match="but no path of stored arcs shows it"):
        answer(asked, tmp_path)


def test_limits_refuse_with_figures(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "MOST_VERTICES", 1_000)
    monkeypatch.setattr(cpu, "QUERIES", 10)
    with pytest.raises(TooLarge, match=r"the first [0-9]+ paths have 1,0[0-9]{2} vertices, and 1,000 is the limit of a table"):
        answer(asked, tmp_path)
    monkeypatch.setattr(paths, "memory_of_paths", lambda *_, **__: 2**50)
    with pytest.raises(TooLarge, match=r"paths: searching in a graph of 98 vertices takes up to 1,073,741,824 MiB of memory"):
        answer(asked, tmp_path)
    assert not (tmp_path / "paths").exists()


def test_the_stored_graph_has_to_be_that_of_the_index(asked, tmp_path):
    copy = tmp_path / "out"
    shutil.copytree(asked[0], copy, symlinks=True)
    there = copy / "latest", *asked[1:]
    for folder in (copy / "latest" / "reachability_index", copy / "steps" / "reachability_index"):
        (tmp_path / folder.parent.name).mkdir()
        assert answer((folder, *asked[1:]), tmp_path / folder.parent.name).facts["paths"]
    row = next((copy / "steps" / "graph").rglob("out-indices.npy"))
    content = bytearray(row.read_bytes())
    content[-1] ^= 1
    row.write_bytes(content)
    with pytest.raises(Damaged, match="its BLAKE3 digest differs"):
        answer(there, tmp_path)
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "arcs.parquet")
    run(RunConfig(graph=GraphConfig(source=str(tmp_path / "arcs.parquet")), output=copy, stages=["wcc"]))
    there = next(path for path in (copy / "runs").iterdir() if (path / "reachability_index").exists()), *asked[1:]
    with pytest.raises(BadConfig, match="paths need the stored graph that this index was made from"):
        answer(there, tmp_path)
    assert not (tmp_path / "answers").exists()


def test_the_folders_must_be_two(asked, tmp_path):
    for witness in (tmp_path / "answers", tmp_path / "answers" / "paths", tmp_path):
        with pytest.raises(BadConfig, match="must be another one than that of the answers"):
            reach_into(asked[0], asked[1], tmp_path / "answers", witness=witness)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    with pytest.raises(BadConfig, match="was not written by this command"):
        reach_into(asked[0], asked[1], tmp_path / "answers", witness=tmp_path / "mine")


def test_a_run_publishes_paths_and_the_command_writes_them(tmp_path):
    source = layered(tmp_path / "arcs.parquet", 5, 4)
    pairs = write_pairs(tmp_path / "pairs.parquet", [1, 1, 1, 49], [1, 49, 58, 1])
    asked = {"graph": GraphConfig(source=source), "output": tmp_path / "out", "stages": ["bfs", "reachability"], "sources": [1]}
    published = run(RunConfig(**asked, queries={"pairs": pairs, "witness": True}))
    table = tables.read(published.path / "paths")
    facts = published.facts
    assert facts["tables"]["paths"]["rows"] == facts["paths"]["paths"] == len(table) < 4
    assert f"{len(table)} witness paths with " in (published.path / "report.html").read_text()
    predecessor = {row["vertex"]: row["predecessor"] for row in tables.read(published.path / "bfs").to_pylist()}
    for path in table["path"].to_pylist():
        assert path[0] == 1 and all(predecessor[head] == tail for tail, head in pairwise(path))
    command = ["reach", published.path, pairs, "--out", tmp_path / "answers", "--witness", tmp_path / "paths"]
    done = graphmill(*command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == str(tmp_path / "paths" / "part-00000.parquet")
    assert (tmp_path / "paths" / "part-00000.parquet").read_bytes() == (
        published.path / "paths" / "part-00000.parquet"
    ).read_bytes()


def test_a_run_over_ranks_has_the_same_paths(asked, tmp_path):
    expected = answer(asked, tmp_path)
    source = GraphConfig(source=str(asked[0].parent / "arcs.parquet"))
    queries = {"pairs": asked[1], "unknown": "null", "witness": True}
    shards = {"graph": source, "stages": ["reachability"], "queries": queries, "cluster": {"shards": 3}}
    published = run(RunConfig(output=tmp_path / "out", **shards))
    assert published.facts["steps"]["reachability_index"]["shards"] == 3
    (file,) = tables.files(published.path / "paths")
    assert file.read_bytes() == (expected.path / "part-00000.parquet").read_bytes()
