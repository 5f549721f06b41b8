"""The commands on published runs: a path, the list, removal, and the difference of two runs."""

import datetime as dt
import json
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pipeline.cli.command import app
from pipeline.comparison import difference
from pipeline.comparison.versions import Version
from pipeline.config.loading import run_config
from pipeline.errors import BadConfig, BadSource, Busy, Damaged, GraphmillError, NoPath
from pipeline.inspection.path import shortest_path
from pipeline.inspection.runs import list_runs
from pipeline.run import run
from pipeline.steps.publication.retention import published_at
from pipeline.store.digests import digest_of_file
from pipeline.store.manifest import Folder
from pipeline.store.workspace import find_run, workspace
from pipeline.tables import files as tables
from pipeline.units import time_of
from tests.memory import allocated
from tests.steps import path_ids, path_steps


def command(capsys, *arguments) -> str:
    app([*map(str, arguments)], result_action="return_value", exit_on_error=False)
    return capsys.readouterr().out


@pytest.fixture
def output(tmp_path):
    return tmp_path / "output"


def test_a_path_follows_the_predecessors_over_row_groups_and_files(output, monkeypatch, capsys):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 4)
    ids = path_ids(20, 3).tolist()
    path_steps(output / "steps", vertices=20, weight=3, spread=3, files=3).publish(output)
    for table, length in (("bfs", 1), ("sssp", 3)):
        found = json.loads(command(capsys, "path", output, ids[0], ids[17], "--table", table, "--json"))
        assert [row["vertex"] for row in found["vertices"]] == ids[:18]
        assert [row["distance"] for row in found["vertices"]] == [length * n for n in range(18)]
        assert [row["x"] for row in found["vertices"]] == [id / 2 for id in ids[:1:-1]]
    lines = command(capsys, "path", output / "latest", ids[0], ids[1]).splitlines()
    assert lines[0].startswith(f"{ids[0]} to {ids[1]}: 3 (sssp: sum of weights), 1 arc; run ")
    assert [line.split() for line in lines[1:]] == [
        ["vertex", "distance", "x", "y"],
        [str(ids[0]), "0", str(ids[-1] / 2), "0.0"],
        [str(ids[1]), "3", str(ids[-2] / 2), "0.0"],
    ]
    assert len(shortest_path(find_run(output), str(ids[0]), str(ids[0])).vertices) == 1


def test_a_path_that_does_not_exist_is_one_clear_error(output, tmp_path):
    ids = path_ids(5).tolist()
    run = path_steps(output / "steps", vertices=5).publish(output)
    with pytest.raises(BadSource, match=rf"{ids[1]} is not a source of this run; its sources are {ids[0]}; run with --source"):
        shortest_path(run, str(ids[1]), str(ids[2]))
    with pytest.raises(BadSource, match="vertex 99 is not in the graph"):
        shortest_path(run, str(ids[0]), "99")
    with pytest.raises(BadSource, match=r"'1\.5' is not an integer; the ids of this graph are integers"):
        shortest_path(run, "1.5", "2")
    with pytest.raises(BadConfig, match=r"--table wcc: .* are bfs, sssp"):
        shortest_path(run, str(ids[0]), str(ids[1]), "wcc")
    rows = tables.read(run.path / "sssp").to_pylist()
    rewrite(run, "sssp", [row | ({"distance": None, "predecessor": None} if row["vertex"] == ids[4] else {}) for row in rows])
    with pytest.raises(NoPath, match=f"no path leads from {ids[0]} to {ids[4]}"):
        shortest_path(run, str(ids[0]), str(ids[4]))
    rewrite(run, "sssp", [row | ({"predecessor": ids[2]} if row["vertex"] == ids[1] else {}) for row in rows])
    with pytest.raises(Damaged, match="is not nearer"):
        shortest_path(run, str(ids[0]), str(ids[4]))
    (other,) = [path_steps(tmp_path / "few", stages=["wcc"]).publish(tmp_path / "few-out")]
    with pytest.raises(BadConfig, match="no table of shortest paths"):
        shortest_path(other, "1", "2")
    with pytest.raises(BadConfig, match="no such run"):
        find_run(tmp_path / "absent")
    (tmp_path / "few-out" / "latest").unlink()
    with pytest.raises(BadConfig, match="few-out: no such run; this folder has runs, but no `latest`; name"):
        find_run(tmp_path / "few-out")
    with pytest.raises(BadConfig, match="folder of step graph"):
        find_run(output / "steps" / "graph")


def test_a_path_between_vertices_with_names(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("src,dst,weight\nana,bob,2\nbob,cem,1\ncem,ana,3\ndora,ana,9\n")
    graph = {"source": str(tmp_path / "people.csv")}
    run(run_config("test", graph=graph, output=tmp_path / "out", stages=["sssp"], sources=["ana", "cem"], backend="cpu"))
    lines = [line.split() for line in command(capsys, "path", tmp_path / "out", "ana", "cem").splitlines()]
    assert lines[0][:4] == ["ana", "to", "cem:", "3"]
    assert lines[1:] == [["vertex", "id", "distance"], ["0", "ana", "0"], ["1", "bob", "2"], ["2", "cem", "3"]]
    for asked, words in (
        (("bob", "ana"), "bob is not a source of this run; its sources are ana, cem; run with --source bob"),
        (("ana", "eve"), "vertex 'eve' is not in the graph"),
        (("ana", "dora"), "no path leads from ana to dora"),
    ):
        with pytest.raises(GraphmillError, match=words):
            shortest_path(find_run(tmp_path / "out"), *asked)


def rewrite(run: Folder, table: str, rows: list[dict[str, object]]) -> None:
    (file,) = tables.files(run.path / table)
    schema = tables.schema(table, "int32")
    tables.write_file(file, table, "int32", pa.Table.from_pylist(rows, schema).to_batches())


def test_runs_are_listed_also_damaged_ones(output, capsys):
    steps = path_steps(output / "steps", stages=["bfs", "wcc"])
    first, second = steps.publish(output).path, steps.publish(output).path
    listed = list_runs(output)
    assert [(run.id, run.name, run.stages, run.links) for run in listed] == [
        (first.name, "path", ("bfs", "wcc"), ()), (second.name, "path", ("bfs", "wcc"), ("latest",)),
    ]  # fmt: skip
    assert listed[0].bytes == sum(
        path.stat().st_size for path in first.rglob("*") if path.is_file() and path.name != "manifest.json"
    )
    (first / "manifest.json").write_text("{}")
    lines = command(capsys, "runs", output).splitlines()
    assert first.name in lines[1] and "no readable manifest" in lines[1]
    assert lines[2].split()[-2:] == ["bfs,wcc", "latest"]
    assert lines[3].startswith("2 runs, ")
    found = json.loads(command(capsys, "runs", output, "--json"))
    assert [run["problem"] is None for run in found["runs"]] == [False, True]
    with pytest.raises(BadConfig, match="is not the output folder"):
        list_runs(output / "steps")


@pytest.mark.parametrize("text", ["", "10", "-1h", "1e3s", "0.5", "1w", "10 m", "inf", "9" * 10 + "d", "\u0661m"])
def test_a_time_that_prune_does_not_know_is_refused(output, text, capsys):
    path_steps(output / "steps").publish(output)
    with pytest.raises(BadConfig, match=r"--at-least .*: is not a time such as"):
        command(capsys, "prune", output, "--keep", 1, f"--at-least={text}")


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("0s", 0), ("90s", 90), ("0.4m", 24), ("2.5h", 9000), ("1d", 86400)])
def test_times_that_prune_knows(text, seconds):
    assert time_of(text) == dt.timedelta(seconds=seconds)


def test_prune_keeps_the_newest_the_linked_and_those_that_are_still_read(output, capsys, tmp_path):
    steps = path_steps(output / "steps")
    ids = [steps.publish(output).path.name for _ in range(5)]
    for at_least in ([], ["--at-least", "10m"], ["--at-least", "1.5d"]):
        said = command(capsys, "prune", output, "--keep", 2, *at_least)
        assert "0 runs removed" in said and "5 runs left, 3 more" in said
        assert all(f"kept {run}: it was replaced" in said for run in ids[:3]) and f"kept {ids[3]}" not in said
    time.sleep(max(0, (published_at(ids[-1]) - dt.datetime.now(dt.UTC).replace(tzinfo=None)).total_seconds()))
    (output / "manual").symlink_to(f"runs/{ids[1]}")
    stranger, outside = output / "runs" / "letters", tmp_path / "outside"
    shutil.copytree(output / "runs" / ids[0], outside)
    (output / "runs" / "20200101T000000Z-00000000").symlink_to(outside)
    stranger.mkdir()
    with workspace(output), pytest.raises(Busy):
        command(capsys, "prune", output, "--keep", 2)
    lines = command(capsys, "prune", output, "--keep", 2, "--at-least", "0").splitlines()
    assert lines[:3] == [f"removed {ids[0]}", f"removed {ids[2]}", f"kept {ids[1]}: manual names it"]
    assert lines[3].startswith("2 runs removed, ") and "3 runs left, 1 more than --keep" in lines[3]
    assert {path.name for path in (output / "runs").iterdir()} == {ids[1], ids[3], ids[4], "letters", "20200101T000000Z-00000000"}
    assert any(outside.iterdir()) and find_run(output).path.name == ids[4]
    with pytest.raises(BadConfig, match="at least 1"):
        command(capsys, "prune", output, "--keep", 0)
    with pytest.raises(BadConfig, match="is not the output folder"):
        command(capsys, "prune", tmp_path, "--keep", 1)
    assert not (tmp_path / "steps").exists()


def test_two_runs_are_compared(output, capsys):
    first = path_steps(output / "steps", vertices=6, weight=3, stages=["bfs", "sssp", "wcc"]).publish(output).path.name
    path_steps(output / "steps", vertices=6, weight=4, stages=["bfs", "sssp", "mst"]).publish(output)
    said = command(capsys, "diff", output)
    last = (output / "latest").readlink().name
    assert said.splitlines()[0] == f"{first} -> {last}"
    for words in (
        "+ mst: this table is only in the new run", "- wcc: this table is only in the old run", "bfs: 6 rows, unchanged",
        "sssp: 6 rows: 0 added, 0 removed, 5 changed (distance 5 times by up to 5)", "~ source 1, vertex 2, distance 3 -> 4",
    ):  # fmt: skip
        assert words in said
    for arguments in ((output / first, output), (output / "runs" / first, last), (output / first, output / "latest")):
        assert command(capsys, "diff", *arguments) == said
    back = json.loads(command(capsys, "diff", output, first, "--examples", 1, "--json"))
    assert back["tables"]["sssp"]["examples"]["changed"] == [{"source": 1, "vertex": 2, "distance": [4, 3]}]
    with pytest.raises(BadConfig, match="no previous run"):
        command(capsys, "diff", output / first)


@pytest.mark.parametrize("rows", [1, 1000])
def test_vertices_whose_ids_are_strings_are_compared_by_them(tmp_path, capsys, monkeypatch, rows):
    """With the new vertex `abe`, all others have other numbers."""
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows)
    asked = {"output": tmp_path / "out", "stages": ["sssp", "wcc"], "sources": ["ana"], "backend": "cpu"}
    for lines in ("ana,bob,2\nbob,cem,1\ncem,dora,1\n", "ana,bob,2\nbob,cem,5\nabe,cem,1\nana,abe,1\n"):
        (tmp_path / "people.csv").write_text(f"src,dst,weight\n{lines}")
        run(run_config("test", graph={"source": str(tmp_path / "people.csv")}, **asked))
    found = json.loads(command(capsys, "diff", tmp_path / "out", "--json"))["tables"]
    assert found["sssp"]["examples"] == {
        "added": [{"source": "ana", "vertex": "abe"}],
        "removed": [{"source": "ana", "vertex": "dora"}],
        "changed": [{"source": "ana", "vertex": "cem", "distance": [3, 2], "predecessor": ["bob", "abe"]}],
    }
    assert (found["wcc"]["added"], found["wcc"]["removed"], found["wcc"]["changed"]) == (1, 1, 3)
    assert found["wcc"]["examples"]["changed"][0] == {"vertex": "ana", "labels": ["ana", "abe"]}
    (tmp_path / "numbers.csv").write_text("src,dst\n1,2\n")
    graph = {"source": str(tmp_path / "numbers.csv")}
    run(run_config("test", graph=graph, output=tmp_path / "other", stages=["wcc"], backend="cpu"))
    with pytest.raises(BadConfig, match="its ids are strings, but the other run's are integers"):
        command(capsys, "diff", tmp_path / "other", tmp_path / "out")


def stored(folder: Path, table: str, frame: pa.Table) -> Version:
    """A table in two files."""
    half, place = len(frame) // 2, folder / table
    place.mkdir(parents=True)
    for number, part in enumerate((frame[:half], frame[half:])):
        tables.write_file(place / tables.file_name(number), table, "int64", part.cast(tables.schema(table, "int64")).to_batches())
    return Version({path: digest_of_file(path) for path in tables.files(place)})


def compared(folder: Path, table: str, old: pa.Table, new: pa.Table) -> difference.TableDifference:
    return difference.compare(table, stored(folder / "old", table, old), stored(folder / "new", table, new), 2)


@pytest.mark.parametrize("rows", [1, 3, 64])
@pytest.mark.parametrize("seed", range(4))
def test_a_difference_is_that_of_an_outer_join(tmp_path, monkeypatch, rows, seed):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", rows)
    random = np.random.default_rng(seed)

    def forest(count: int) -> pd.DataFrame:
        pairs = np.sort(random.choice(64, count, replace=False))
        return pd.DataFrame({"src": pairs // 8, "dst": pairs % 8, "weight": random.integers(0, 3, count), "labels": pairs // 32})

    old, new = forest(int(random.integers(0, 50))), forest(int(random.integers(0, 50)))
    found = compared(tmp_path, "mst", pa.Table.from_pandas(old), pa.Table.from_pandas(new))
    both = old.merge(new, "outer", ["src", "dst"], indicator="side")
    inner = both[both.side == "both"]
    weights = inner[inner.weight_x != inner.weight_y]
    assert (found.added, found.removed) == ((both.side == "right_only").sum(), (both.side == "left_only").sum())
    assert found.changed == ((inner.weight_x != inner.weight_y) | (inner.labels_x != inner.labels_y)).sum()
    assert found.columns == ({"weight": len(weights)} if len(weights) else {})
    assert found.largest == ({"weight": (weights.weight_x - weights.weight_y).abs().max()} if len(weights) else {})
    assert found.examples["added"] == both[both.side == "right_only"][["src", "dst"]].head(2).to_dict("records")
    assert found.equal == old.equals(new)


def test_rows_without_keys_nulls_and_lists_are_compared(tmp_path):
    answers = {"src": [1, 2, 3], "dst": [2, 3, 4], "reachable": [True, None, False], "decided": ["same", None, "search"]}
    other = answers | {"reachable": [True, True, False], "decided": ["same", "search", "search"]}
    found = compared(tmp_path / "reached", "reached", pa.table(answers), pa.table(other))
    assert found.examples["changed"] == [{"row": 1, "reachable": [None, True], "decided": [None, "search"]}]
    paths = {"query": [0, 1, 5], "src": [1, 1, 1], "dst": [2, 3, 4], "length": [1, 2, 2], "path": [[1, 2], [1, 2, 3], [1, 2, 4]]}
    other = paths | {"query": [0, 1, 6], "path": [[1, 2], [1, 7, 3], [1, 2, 4]]}
    found = compared(tmp_path / "paths", "paths", pa.table(paths), pa.table(other))
    assert (found.added, found.removed, found.changed, found.columns) == (1, 1, 1, {"path": 1})
    assert found.examples == {
        "added": [{"query": 6}], "removed": [{"query": 5}], "changed": [{"query": 1, "path": [[1, 2, 3], [1, 7, 3]]}],
    }  # fmt: skip


def test_a_difference_takes_no_memory_for_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(difference, "cores", lambda: 2)  # each has up to three row groups in memory
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 2**18)
    vertices = np.arange(5_000_000)
    tables_of = [pa.table({"vertex": vertices, "labels": vertices // 7 * 7 + (vertices % 1000 == n)}) for n in (0, 1)]
    old, new = (stored(tmp_path / str(n), "wcc", table) for n, table in enumerate(tables_of))
    size = tables_of[0].nbytes
    with allocated() as most:
        found = difference.compare("wcc", old, new, 3)
        assert 0 < most() < size  # of one of both
    assert found.changed == 10_000
