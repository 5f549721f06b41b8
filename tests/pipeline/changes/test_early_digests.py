"""`graphmill change` computes digests of the state before it holds the output folder: damage is found whenever it happens."""

import os
import re

import pytest

from pipeline import changes as applied
from pipeline.changes import change
from pipeline.command import app
from pipeline.errors import BadConfig, Busy, Damaged
from pipeline.run import run
from pipeline.store import digests, early, manifest
from pipeline.store.facts.run import RunFacts
from tests.pipeline.changes.histories import differing
from tests.pipeline.changes.test_changes import CHANGED, CHANGES, base, config, file_of, out

__all__ = ["base", "out"]  # fixtures
MORE = "op,src,dst,weight\ndelete,1,2,\n"


@pytest.fixture(autouse=True)
def long_ago(monkeypatch):
    """All files were written long ago, so that early digests are not left out."""
    clock = digests.time.time_ns
    monkeypatch.setattr("pipeline.store.digests.time.time_ns", lambda: clock() + 10**10)


def command(out, name="changes.csv"):
    app(["change", str(out), str(out.with_name(name)), "--backend", "cpu"], result_action="return_value")
    return manifest.read((out / "latest").resolve())


@pytest.fixture
def then(monkeypatch):
    """Do something between the early digests and everything else."""

    def register(act):
        class Hooked(early.EarlyDigests):
            def __init__(self, find):
                super().__init__(find)
                assert self._begun.result()
                act()

        monkeypatch.setattr(early, "EarlyDigests", Hooked)

    return register


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def make_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


DAMAGES = {
    "its SHA-256 differs from the manifest's": flip,
    "bytes, the manifest says": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "missing": lambda path: path.unlink(),
    "not in the manifest": lambda path: path.with_name("more.npy").write_bytes(b"1"),
    "is not a file": make_a_pipe,
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_state_is_refused(message, late, out, then):
    file_of(out, CHANGES)
    path = out / "steps" / "graph" / "rows_by_id.npy"
    if late:
        then(lambda: DAMAGES[message](path))
    else:
        DAMAGES[message](path)
    before = (out / "latest").resolve()
    with pytest.raises(Damaged, match=rf"{re.escape(str(path.parent))}/(rows_by_id|more).npy: .*{message}"):
        command(out)
    assert (out / "latest").resolve() == before


def test_each_file_of_the_state_is_read_once(out, then, monkeypatch):
    read, true = [], digests._digest_of_block
    monkeypatch.setattr(digests, "_digest_of_block", lambda block: read.append(block[0]) or true(block))
    file_of(out, CHANGES)
    graph = manifest.read(out / "steps" / "graph")
    stored = sorted(graph.path / name for name in graph.manifest.files)
    then(lambda: stored.append(stored == sorted(read)))
    assert differing(command(out).path, run(config(out.parent, CHANGED, "rebuilt")).path) == []
    assert stored.pop()
    assert sorted(path for path in read if path in stored) == stored


def test_a_state_that_was_replaced_in_the_meantime_is_read_again(out, then):
    """The third state is in the folder of the first one."""
    change(out, file_of(out, CHANGES))
    rows = (MORE, "op,src,dst,weight\ninsert,1,2,8\n")
    between = [file_of(out, content, f"{number}.csv") for number, content in enumerate(rows)]
    then(lambda: [change(out, path) for path in between])
    file_of(out, "op,src,dst,weight\nupdate,1,2,5\n", "last.csv")
    published = command(out, "last.csv")
    assert RunFacts.of(published).graph.state.number == 4
    assert differing(published.path, run(config(out.parent, CHANGED, "rebuilt")).path) == []


def test_a_run_that_is_published_just_before_the_folder_is_held_is_noticed(out, monkeypatch):
    file_of(out, CHANGES)
    more, true = file_of(out, MORE, "more.csv"), applied.locate

    def late(url):
        monkeypatch.setattr(applied, "locate", true)
        change(out, more)
        return true(url)

    monkeypatch.setattr(applied, "locate", late)
    with pytest.raises(Busy, match="another run was published in the meantime"):
        command(out)


def no_run(out):
    (out / "latest").unlink()


def no_manifest(out):
    manifest.file_of((out / "latest").resolve()).write_text("{")


def no_steps(out):
    (out / "steps").rename(out / "other")


@pytest.mark.parametrize(
    ("lose", "error", "message"),
    [
        (no_run, BadConfig, "is not a link to a run"),
        (no_manifest, Damaged, "no readable manifest"),
        (no_steps, BadConfig, "changes need the edges that this run was made from"),
        (lambda out: out.rename(out.with_name("elsewhere")), BadConfig, "is not a link to a run"),
    ],
)
def test_what_cannot_be_found_early_is_reported_later(lose, error, message, out):
    file_of(out, CHANGES)
    lose(out)
    with pytest.raises(error, match=message):
        command(out)
