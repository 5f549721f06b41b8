"""Files of a source that come, go or change while they are read, links among them, and what the commands say of them."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pipeline.ingest.edges
from pipeline.changes import change
from pipeline.changes.arrivals import apply_arrivals, arrived
from pipeline.cli.command import app
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.loading import load_run, run_config
from pipeline.errors import BadConfig, BadInput, Changed, Refused, Stopped
from pipeline.ingest import ingest
from pipeline.inspection.estimate import estimate
from pipeline.run import run
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.deltas.history import history_of
from pipeline.store.edges import HeldEdges
from pipeline.store.facts.run import RunFacts
from pipeline.tables import files as tables

KINDS = ("csv", "strings", "parquet")


def put(path, *edges):
    """A file of edges with weight 1, in the format that the name of the file states."""
    path.parent.mkdir(parents=True, exist_ok=True)
    src, dst = zip(*edges, strict=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"src": src, "dst": dst}), path, compression="none")
    else:
        path.write_text("\n".join(["src,dst", *(f"{a},{b}" for a, b in edges), ""]))


def feed(folder, kind):
    suffix, ids = ("parquet" if kind == "parquet" else "csv"), ("abcdef" if kind == "strings" else range(6))
    for number in range(5):
        put(folder / f"day={number}" / f"x.{suffix}", (ids[number], ids[number + 1]))
    return suffix, (ids[3], ids[0])


def changed(folder, way, suffix, edge):
    """Change the files of a feed; returns the name that an error must have."""
    path = folder / "day=3" / f"x.{suffix}"
    if way == "added":
        path = folder / "day=7" / f"x.{suffix}"
    if way == "removed":
        path.unlink()
    else:
        put(path, edge)
    return path


WAYS = ("added", "removed", "changed")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_files_that_come_go_or_change_during_ingest_are_named(kind, way, tmp_path, monkeypatch):
    suffix, edge = feed(tmp_path / "feed", kind)
    name, named = "collect" if kind == "strings" else "store", []
    read = getattr(pipeline.ingest.edges, name)

    def then(*arguments):
        result = read(*arguments)
        named.append(changed(tmp_path / "feed", way, suffix, edge))
        return result

    monkeypatch.setattr(pipeline.ingest.edges, name, then)
    with pytest.raises(Changed) as caught:
        ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work")
    assert caught.value.file == str(named[0])
    assert not [*(tmp_path / "work").iterdir()]


@pytest.mark.parametrize("way", WAYS)
def test_files_that_come_go_or_change_before_the_layout_are_named(way, tmp_path, monkeypatch):
    suffix, edge = feed(tmp_path / "feed", "parquet")
    monkeypatch.setattr("pipeline.store.edges.leave_enough", lambda *_: False)  # the layout reads the files again
    held = HeldEdges()
    edges = ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work", held)
    assert edges.facts["refers_to"]
    path = changed(tmp_path / "feed", way, suffix, edge)
    with pytest.raises(Changed) as caught:
        lay_out(edges, LayoutConfig(), Runtime(tmp_path / "work", "cpu", LocalThreads(), held))
    assert caught.value.file == str(path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_run_starts_again_and_reads_the_new_files(kind, way, tmp_path, monkeypatch):
    suffix, edge = feed(tmp_path / "feed", kind)
    name = "collect" if kind == "strings" else "store"
    read, calls = getattr(pipeline.ingest.edges, name), []

    def then(*arguments):
        result = read(*arguments)
        if not calls:
            calls.append(changed(tmp_path / "feed", way, suffix, edge))
        return result

    monkeypatch.setattr(pipeline.ingest.edges, name, then)
    config = {"graph": {"source": str(tmp_path / "feed")}, "stages": ["wcc"], "backend": "cpu"}
    published = run(run_config("test", output=tmp_path / "out", **config))
    assert calls
    clean = run(run_config("test", output=tmp_path / "clean", **config))
    assert [path.read_bytes() for path in tables.files(published.path / "wcc")] == [
        path.read_bytes() for path in tables.files(clean.path / "wcc")
    ]
    assert RunFacts.of(published).input.source == RunFacts.of(clean).input.source


def loop(folder):
    (folder / "inner").symlink_to(folder)


def nothing(folder):
    (folder / "b.csv").symlink_to(folder / "none.csv")


def twice(folder):
    (folder / "b.csv").symlink_to(folder / "a.csv")


LINKS = {
    loop: "inner: is a link to a folder around it",
    nothing: "b.csv: is a link to a file that does not exist",
    twice: "b.csv: is a file that the source names twice, also as .*a.csv",
    (lambda folder: os.mkfifo(folder / "b.csv")): "b.csv: is not a regular file",
    (lambda folder: os.open(os.fsencode(folder) + b"/\xff.csv", os.O_CREAT)): "its path is not UTF-8",
}


@pytest.mark.parametrize("make", LINKS)
def test_links_that_mean_a_file_twice_or_none_are_refused(make, tmp_path):
    put(tmp_path / "feed" / "a.csv", (1, 2))
    make(tmp_path / "feed")
    with pytest.raises(BadInput, match=LINKS[make]):
        ingest(GraphConfig(source=str(tmp_path / "feed")), tmp_path / "work")


def test_links_to_files_and_folders_elsewhere_are_followed(tmp_path):
    put(tmp_path / "a.csv", (1, 2))
    put(tmp_path / "elsewhere" / "b.csv", (2, 3))
    (tmp_path / "feed").mkdir()
    (tmp_path / "feed" / "a.csv").symlink_to(tmp_path / "a.csv")
    (tmp_path / "feed" / "b").symlink_to(tmp_path / "elsewhere")
    assert ingest(GraphConfig(source=str(tmp_path / "feed" / "**" / "*.csv")), tmp_path / "work").facts["edges"] == 2


def test_a_pattern_that_names_nothing_and_one_without_a_folder(tmp_path):
    put(tmp_path / "feed" / "a.csv", (1, 2))
    for source, message in (("feed/*.txt", "has no file to read$"), ("none/*.csv", "No such file"), ("none", "no such file")):
        with pytest.raises(BadInput, match=message):
            ingest(GraphConfig(source=str(tmp_path / source)), tmp_path / "work")


def command(*arguments):
    app([*map(str, arguments)], result_action="return_value", exit_on_error=False)


def test_commands_take_folders_patterns_and_lists(tmp_path, monkeypatch, capsys):
    feed(tmp_path / "feed", "csv")
    (tmp_path / "feed" / "_SUCCESS").touch()
    monkeypatch.chdir(tmp_path)
    for arguments in (["feed"], ["feed/*/*.csv"], ["feed/day=[0-2]", "feed/day=3/x.csv", "feed/**/day=4"]):
        command("check", *arguments, "--json", "--backend", "cpu")
        found = json.loads(capsys.readouterr().out)
        assert (found["vertices"], found["arcs"]) == (6, 5)
        assert found["input"]["source"]["files"]["count"] == 5
    command("check", "feed", "--backend", "cpu")
    assert "files                5, 60 bytes: day=0/x.csv to day=4/x.csv; 1 ignored" in capsys.readouterr().out
    command("init", "feed/day=0", "feed/day=1", "--name", "days", "--to", "made")
    shown = capsys.readouterr().out
    assert "files        2; the first one is shown" in shown
    assert "not read     day (a partition's key)" in shown
    assert load_run(tmp_path / "made" / "days.toml").graph.source == (str(tmp_path / "feed/day=0"), str(tmp_path / "feed/day=1"))
    command("run", "feed/day=0", "feed/day=1", "--out", "out", "--stages", "wcc", "--backend", "cpu")
    assert "2, 24 bytes: x.csv" in capsys.readouterr().out
    with pytest.raises(BadConfig, match=r"days.toml: is a configuration, and 2 arguments are given"):
        command("check", "feed", "made/days.toml")


def test_an_estimate_knows_all_files(tmp_path):
    feed(tmp_path / "parquet", "parquet")
    for number in range(3):
        put(tmp_path / "csv" / f"{number}.csv", *((vertex, vertex + 1) for vertex in range(100)))
    sizes = [
        estimate(run_config("test", graph={"source": str(tmp_path / kind)}, output=tmp_path / "out", backend="cpu")).sizes
        for kind in ("parquet", "csv")
    ]
    assert [(of.edges, of.exact) for of in sizes] == [(5, True), (300, False)]


def test_a_snapshot_may_be_of_several_files(tmp_path):
    feed(tmp_path / "feed", "csv")
    config = {"stages": ["wcc"], "backend": "cpu"}
    run(run_config("test", graph={"source": str(tmp_path / "feed")}, output=tmp_path / "out", **config))
    shutil.copytree(tmp_path / "feed", tmp_path / "next")
    put(tmp_path / "next" / "day=3" / "x.csv", (9, 0))
    published = change(tmp_path / "out", str(tmp_path / "next"), snapshot=True)
    state = RunFacts.of(published).graph.state
    assert (state.inserted, state.deleted, state.vertices, state.file) == (1, 1, 1, "next")


@pytest.fixture
def network(tmp_path):
    (tmp_path / "edges.csv").write_text("src,dst\n1,2\n2,3\n")
    for name in ("b/day=1/x.csv", "a/2.csv", "a/1.csv", "b/day=1/.y.csv", "b/day=1/z.csv.part", "c/3.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"op,src,dst\ninsert,1,{ord(name[-5]) + 100}\n")
    return tmp_path


def test_files_of_changes_may_arrive_in_several_folders(network):
    run_file = 'output = "out"\nstages = ["wcc"]\nbackend = "cpu"\n[graph]\nsource = "edges.csv"\n[changes]\narrivals = '
    (network / "run.toml").write_text(run_file + '["b/**/*.csv", "a"]\n')
    config = load_run(network / "run.toml")
    assert [source.name for source in arrived(config.changes.arrivals)] == ["1.csv", "2.csv", "day=1/x.csv"]
    for _ in range(2):
        published = apply_arrivals(config, None, lambda work: work())
        assert [applied.file for applied in history_of(published)] == ["1.csv", "2.csv", "day=1/x.csv"]
    (network / "b" / "2.csv").write_text("op,src,dst\n")
    with pytest.raises(Stopped, match=r"2\.csv: has the name of .*2\.csv, '2.csv', by which a file is known"):
        apply_arrivals(config, None, lambda work: work())


@pytest.mark.parametrize(
    ("source", "title"),
    [("in/feed.v2/", "feed"), ("in/feed/*.csv", "feed"), ("s3://b/feed/**/*", "feed"), ("*.csv", "*"), (("x/a.csv", "b"), "a")],
)
def test_a_feed_is_called_by_its_folder(source, title):
    assert GraphConfig(source=source).title == title


def test_an_expected_column_is_in_every_file(tmp_path):
    for number, columns in enumerate(["src,dst,note", "dst,src,note,more", "note,src,dst"]):
        (tmp_path / f"{number}.csv").write_text(f"{columns}\n{','.join('1' * len(columns.split(',')))}\n")
    config = {"graph": {"source": str(tmp_path / "*.csv")}, "output": tmp_path / "out", "stages": ["wcc"], "backend": "cpu"}
    published = run(run_config("test", expect={"columns": ["note"]}, **config))
    assert RunFacts.of(published).input.source.files.partly == {"more": str(tmp_path / "0.csv")}
    with pytest.raises(Refused, match=r"0\.csv has no column 'more', which other files have"):
        run(run_config("test", expect={"columns": ["more"]}, **config))
