"""Folders with a manifest are written completely or not at all, and reused only while unchanged."""

import inspect
import json
import os
import shutil
import sys
from itertools import count

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import BadConfig, Damaged
from pipeline.store import manifest
from tests.steps import identity


def write_numbers(folder):
    (folder / "inner").mkdir()
    (folder / "inner" / "numbers.txt").write_text("1 2 3")
    (folder / "more.txt").write_text("4")
    return {"count": 4, "by_id": {7: "a", 10: "b"}, "pair": (1, 2), "share": 0.1}


def never(_):
    raise AssertionError("written again")


@pytest.fixture
def folder(tmp_path):
    return manifest.make(tmp_path / "numbers", "numbers", {"source": "abc"}, {"limit": 5}, write_numbers)


def again(folder, write, inputs=None, parameters=None):
    return manifest.make(folder.path, "numbers", inputs or {"source": "abc"}, parameters or {"limit": 5}, write)


def test_a_folder_reads_back_as_written(folder):
    found = manifest.read(folder.path)
    manifest.check(found)
    assert found.facts == {"count": 4, "by_id": {"7": "a", "10": "b"}, "pair": [1, 2], "share": 0.1}
    assert set(found.manifest.files) == {"inner/numbers.txt", "more.txt"}
    assert found.digest == folder.digest


def test_a_valid_folder_is_reused(folder):
    reused = again(folder, never)
    assert reused.reused
    assert reused.digest == folder.digest


@pytest.mark.parametrize("change", [{"inputs": {"source": "abd"}}, {"parameters": {"limit": 6}}])
def test_a_folder_with_another_key_is_written_again(folder, change):
    fresh = again(folder, lambda _: {"count": 0}, **change)
    assert not fresh.reused
    assert manifest.read(folder.path).facts == {"count": 0}
    assert [path.name for path in folder.path.iterdir()] == [manifest.FILE]


def interrupting(lines):
    """A trace function that raises KeyboardInterrupt, as Ctrl-C does, after `lines` lines of `manifest`."""

    def trace(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != manifest.__file__:
            return None
        lines -= event == "line"
        if lines < 0:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    return trace


@pytest.mark.parametrize("before", [None, "old"])
def test_an_interrupt_at_any_line_leaves_the_old_or_the_new_folder(before, tmp_path):
    path, found = tmp_path / "numbers", []
    for lines in count():
        if before:
            manifest.make(path, "numbers", {}, {"is": before}, write_numbers)
        else:
            shutil.rmtree(path, ignore_errors=True)
        sys.settrace(interrupting(lines))
        try:
            manifest.make(path, "numbers", {}, {"is": "new"}, write_numbers)
            break
        except KeyboardInterrupt:
            found.append(manifest.read(path).manifest.parameters["is"] if path.exists() else None)
        finally:
            sys.settrace(None)
        assert [left.name for left in tmp_path.iterdir() if left != path] == []
        if path.exists():
            manifest.check(manifest.read(path))
    assert found[0] == before and found[-1] == "new" and set(found) == {before, "new"}


def harm_content(path):
    (path / "more.txt").write_text("5")


def harm_size(path):
    (path / "more.txt").write_text("44")


def harm_missing(path):
    (path / "inner" / "numbers.txt").unlink()


def harm_extra(path):
    (path / "extra.txt").write_text("")


@pytest.mark.parametrize("harm", [harm_content, harm_size, harm_missing, harm_extra])
def test_a_changed_folder_is_damaged_and_written_again(folder, harm):
    harm(folder.path)
    with pytest.raises(Damaged, match=r"\.txt"):
        manifest.check(manifest.read(folder.path))
    assert not again(folder, write_numbers).reused
    manifest.check(manifest.read(folder.path))


def test_a_manifest_with_a_flipped_bit_never_reads_as_another(folder):
    path = folder.path / manifest.FILE
    intact = path.read_bytes()
    expected = manifest.read(folder.path).manifest
    for bit in range(8 * len(intact)):
        content = bytearray(intact)
        content[bit // 8] ^= 1 << bit % 8
        path.unlink()  # faster than overwriting, which some file systems flush
        path.write_bytes(content)
        try:
            assert manifest.read(folder.path).manifest == expected  # a flip may turn a space into a tab
        except Damaged:
            continue


def test_a_manifest_truncated_at_any_byte_is_damaged(folder):
    path = folder.path / manifest.FILE
    intact = path.read_bytes()
    for length in range(len(intact) - 1):  # the last byte is a newline
        path.unlink()
        path.write_bytes(intact[:length])
        with pytest.raises(Damaged):
            manifest.read(folder.path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "3", "null", '"text"', '{"files": []}', '{"seal": 1}'])
def test_a_manifest_of_another_shape_is_damaged(folder, text):
    (folder.path / manifest.FILE).write_text(text)
    with pytest.raises(Damaged, match="no readable manifest"):
        manifest.read(folder.path)


def test_a_manifest_with_a_file_outside_its_folder_is_damaged(folder):
    outside = folder.path.parent / "outside.txt"
    outside.write_text("4")
    content = json.loads((folder.path / manifest.FILE).read_text())
    content["files"]["../outside.txt"] = content["files"]["more.txt"]
    del content["seal"]
    manifest.seal(folder.path, content)
    with pytest.raises(Damaged, match="outside"):
        manifest.check(manifest.read(folder.path))


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt(), SystemExit(1)])
def test_a_step_that_fails_leaves_the_old_folder_and_nothing_else(folder, error):
    def fail(fresh):
        (fresh / "half.txt").write_text("half")
        raise error

    with pytest.raises(type(error)):
        again(folder, fail, parameters={"limit": 6})
    manifest.check(manifest.read(folder.path))
    assert [path.name for path in folder.path.parent.iterdir()] == [folder.path.name]


def test_facts_that_json_cannot_represent_are_refused(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        manifest.make(tmp_path / "nan", "nan", {}, {}, lambda _: {"share": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_other_users_may_read_the_folder(folder):
    assert folder.path.stat().st_mode & 0o055 == 0o055


@pytest.mark.parametrize("kind", ["folder", "file", "dangling", "link"])
def test_what_no_step_wrote_is_not_replaced(tmp_path, kind):
    path, mine = tmp_path / "numbers", tmp_path / "mine"
    mine.mkdir()
    (mine / "letter").write_text("dear")
    if kind == "folder":
        mine.rename(path)
    elif kind == "file":
        path.write_text("dear")
    else:
        path.symlink_to(mine if kind == "link" else "nowhere")
    before = identity(path)
    with pytest.raises(BadConfig, match="numbers: was not written by a step"):
        manifest.make(path, "numbers", {}, {}, never)
    assert identity(path) == before
    assert kind in ("file", "dangling") or (path / "letter").read_text() == "dear"


BROKEN = {
    "brackets": lambda path: (path / manifest.FILE).write_text("[" * 100_000),
    "objects": lambda path: (path / manifest.FILE).write_text('{"a":' * 100_000),
    "manifest is a fifo": lambda path: ((path / manifest.FILE).unlink(), os.mkfifo(path / manifest.FILE)),
    "manifest is a link": lambda path: (path / "manifest.json").symlink_to((path / "manifest.json").rename(path / "m")),
    "fifo": lambda path: os.mkfifo(path / "fifo"),
    "file is a fifo": lambda path: ((path / "more.txt").unlink(), os.mkfifo(path / "more.txt")),
    "dangling": lambda path: (path / "link").symlink_to("nowhere"),
    "file is dangling": lambda path: ((path / "more.txt").unlink(), (path / "more.txt").symlink_to("nowhere")),
    "file is a link": lambda path: (path / "more.txt").rename(path.with_name("m")) and (path / "more.txt").symlink_to("../m"),
    "link to a folder": lambda path: (path / "link").symlink_to("/"),
    "loop": lambda path: (path / "link").symlink_to("link"),
}


@pytest.mark.parametrize("harm", BROKEN)
def test_planted_files_damage_a_folder_and_nothing_else(folder, harm):
    BROKEN[harm](folder.path)
    with pytest.raises(Damaged):
        manifest.check(manifest.read(folder.path))
    assert not again(folder, write_numbers).reused
    manifest.check(manifest.read(folder.path))


def test_folders_deeper_than_recursion_goes_are_checked(folder):
    folders = [folder.path / "/".join("d" * depth) for depth in range(1, 300)]
    for path in folders:
        path.mkdir()
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 100)
        manifest.check(manifest.read(folder.path))
    finally:
        sys.setrecursionlimit(limit)
    for path in reversed(folders):
        path.rmdir()


def test_readers_of_parquet_do_not_see_the_manifest_beside_their_files(tmp_path):
    def write(folder):
        pq.write_table(pa.table({"vertex": [1, 2]}), folder / "part-00000.parquet")
        return {}

    made = manifest.make(tmp_path / "table", "reached", {}, {}, write)
    assert len(pd.read_parquet(made.path)) == pq.read_table(made.path).num_rows == 2
    assert pl.read_parquet(made.path / "*.parquet").height == len(duckdb.read_parquet(f"{made.path}/*.parquet")) == 2
    assert manifest.make(tmp_path / "table", "reached", {}, {}, write).reused
    (made.path / manifest.BESIDE_PARQUET).rename(made.path / manifest.FILE)  # as earlier versions wrote it
    assert manifest.make(tmp_path / "table", "reached", {}, {}, write).reused
