"""An output folder has one run at a time; what a dead run left is removed."""

import fcntl
import os
import signal
import stat

import pytest

from pipeline.errors import BadConfig, Busy
from pipeline.store import manifest
from pipeline.store.scratch import scratch
from pipeline.store.workspace import shared_workspace, workspace
from tests.pipeline.store.test_scratch import leave_behind
from tests.steps import identity


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path):
    with workspace(tmp_path), pytest.raises(Busy, match=f"process {os.getpid()}"), workspace(tmp_path):
        pass
    with workspace(tmp_path) as work:
        assert work == tmp_path / "steps"


@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_only_the_owner_may_open_the_lock(tmp_path, before):
    """Who can open a file can lock it; folders of earlier versions are repaired, also by a run that is refused."""
    lock, umask = tmp_path / ".lock", os.umask(0)
    try:
        if before:
            lock.write_text("4000000\n")
            lock.chmod(before)
        with workspace(tmp_path):
            assert stat.S_IMODE(lock.stat().st_mode) == 0o600
            lock.chmod(before or 0o600)
            with pytest.raises(Busy, match=f"process {os.getpid()}"), workspace(tmp_path):
                pass
            assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    finally:
        os.umask(umask)


def test_nothing_that_a_run_makes_can_be_locked_by_its_readers(tmp_path):
    """Of what runs lock: the lock of the output folder, and those of hidden folders."""
    with workspace(tmp_path) as work, scratch(work) as folder:
        locks = [tmp_path / ".lock", *folder.parent.glob("*.lock")]
        assert len(locks) == 2
        assert all(stat.S_IMODE(lock.stat().st_mode) == 0o600 for lock in locks)


def test_a_failed_run_releases_the_lock(tmp_path):
    with pytest.raises(ZeroDivisionError), workspace(tmp_path):
        raise ZeroDivisionError
    with workspace(tmp_path):
        pass


def test_a_killed_run_releases_the_lock(tmp_path):
    reader, writer = os.pipe()
    holder = os.fork()
    if holder == 0:
        try:
            with workspace(tmp_path):
                os.write(writer, b"held")
                signal.pause()
        finally:
            os._exit(1)
    os.read(reader, 4)
    with pytest.raises(Busy, match=f"process {holder}"), workspace(tmp_path):
        pass
    os.kill(holder, signal.SIGKILL)
    os.waitpid(holder, 0)
    with workspace(tmp_path):
        pass


def test_steps_of_a_held_folder_are_linked(tmp_path):
    """Not those that are not complete; one that is replaced while it is linked is recognised as damaged, and made again."""

    def one(folder, name):
        return manifest.make(folder / name, name, {}, {}, lambda new: {"bytes": (new / "x").write_text(name)})

    with workspace(tmp_path) as work:
        for name in ("whole", "damaged"):
            one(work, name)
        (work / "unfinished").mkdir()
        (work / "damaged" / "x").unlink()
        with shared_workspace(tmp_path) as private:
            assert private != work
            assert sorted(path.name for path in private.iterdir()) == ["damaged", "whole"]
            assert (private / "whole" / "x").samefile(work / "whole" / "x")
            assert one(private, "whole").reused
            assert not one(private, "damaged").reused
        assert not private.exists()
    with shared_workspace(tmp_path) as work:
        assert work == tmp_path / "steps"


def test_leftovers_of_a_killed_run_are_removed_and_all_else_is_kept(tmp_path):
    outside = tmp_path / "home"
    kept = ("steps/bfs", "steps/.git", "runs/20260101T000000Z-00000000", "runs/.ssh/keys", "runs/.20260101T000000Z-00000000")
    for folder in (*(tmp_path / "out" / name for name in kept), outside):
        folder.mkdir(parents=True)
        (folder / "letter").write_text("dear")
    (tmp_path / "out" / "steps" / ".linked").symlink_to(outside)
    before = sorted(tmp_path.rglob("*"))
    for place in ("steps", "runs"):
        leave_behind(tmp_path / "out" / place)
    assert len(list(tmp_path.rglob(".graphmill-*"))) == 2
    with workspace(tmp_path / "out"):
        assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "out" / ".lock"])


@pytest.mark.parametrize("place", ["file", "file/below", "steps-is-a-file"])
def test_an_output_that_cannot_be_a_folder_is_one_clear_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "steps-is-a-file").mkdir()
    (tmp_path / "steps-is-a-file" / "steps").write_text("")
    with pytest.raises(BadConfig, match=f"{place}: cannot be the output folder"), workspace(tmp_path / place):
        pass


def test_a_refused_run_does_not_take_the_lock(tmp_path, monkeypatch):
    """Not even if it looked for the folder before the first run created it."""
    with workspace(tmp_path / "out"):
        monkeypatch.setattr(type(tmp_path), "exists", lambda _path: False)
        with pytest.raises(Busy), workspace(tmp_path / "out"):
            pass
        assert (tmp_path / "out" / ".lock").is_file()
        assert (tmp_path / "out" / "steps").is_dir()


PLANTS = {
    "link": lambda path, target: path.symlink_to(target),
    "hard link": lambda path, target: path.hardlink_to(target),
    "dangling": lambda path, _: path.symlink_to("nowhere"),
    "fifo": lambda path, _: os.mkfifo(path),
    "folder": lambda path, _: path.mkdir(),
    "file": lambda path, _: path.write_text("dear"),
}


@pytest.mark.parametrize("kind", PLANTS)
@pytest.mark.parametrize("content", ["dear", "123"])
def test_a_planted_lock_is_neither_followed_nor_written(tmp_path, kind, content):
    lock, target = tmp_path / "out" / ".lock", tmp_path / "target"
    lock.parent.mkdir()
    target.write_text(content)
    mode = stat.S_IMODE(target.stat().st_mode)
    PLANTS[kind](lock, target)
    if kind in ("file", "hard link"):
        with workspace(lock.parent), pytest.raises(Busy), workspace(lock.parent):
            pass
    else:
        with pytest.raises(BadConfig, match=r"\.lock"), workspace(lock.parent):
            pass
    assert target.read_text() == content and not (lock.parent / "nowhere").exists()
    assert kind != "file" or lock.read_text() == "dear"
    assert kind != "hard link" or stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "file"])
@pytest.mark.parametrize("name", ["steps", "runs"])
def test_a_planted_folder_is_refused_and_kept(tmp_path, name, kind):
    """A link would let a run replace folders of other places, such as `graph` in a home folder."""
    (tmp_path / "home" / "graph").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    PLANTS[kind](tmp_path / "out" / name, tmp_path / "home")
    before = identity(tmp_path / "out" / name)
    with (
        pytest.raises(BadConfig, match=r"is not a folder that a run made|cannot be the output folder"),
        workspace(tmp_path / "out"),
    ):
        pass
    assert identity(tmp_path / "out" / name) == before
    assert list((tmp_path / "home").iterdir()) == [tmp_path / "home" / "graph"]


def test_the_output_folder_may_be_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    with workspace(tmp_path / "out") as work:
        assert work.is_dir()


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder", "file"])
def test_a_latest_that_no_run_made_is_refused_before_work_begins(tmp_path, kind):
    PLANTS[kind](tmp_path / "latest", tmp_path)
    before = identity(tmp_path / "latest")
    with pytest.raises(BadConfig, match="latest: is"), workspace(tmp_path):
        pass
    assert identity(tmp_path / "latest") == before


def test_a_lock_removed_by_its_holder_is_not_held_by_another(tmp_path, monkeypatch):
    """A run that opened the lock just before the run that made it ended would otherwise hold a file that is no longer there."""
    real = fcntl.flock

    def after_removal(descriptor, operation):
        (tmp_path / ".lock").unlink()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", after_removal)
    with pytest.raises(Busy, match="start again"), workspace(tmp_path):
        pass
