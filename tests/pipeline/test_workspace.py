"""One run at a time in an output folder, and nothing of a dead one left."""

from __future__ import annotations

import os
import signal

import pytest

from pipeline.errors import BadConfig, Busy
from pipeline.store.workspace import workspace


def test_the_second_run_is_refused_and_told_who_is_there(tmp_path):
    with workspace(tmp_path), pytest.raises(Busy, match=f"process {os.getpid()}"), workspace(tmp_path):
        pass
    with workspace(tmp_path) as work:
        assert work == tmp_path / "steps"


def test_a_failed_run_lets_go(tmp_path):
    with pytest.raises(ZeroDivisionError), workspace(tmp_path):
        raise ZeroDivisionError
    with workspace(tmp_path):
        pass


def test_a_killed_run_lets_go(tmp_path):
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


def test_leftovers_go_and_whole_folders_stay(tmp_path):
    for name in ("steps/.bfs-1234", "steps/bfs", "runs/.20260101T000000Z-00000000-abcd", "runs/20260101T000000Z-00000000"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "part-00000.parquet").write_text(name)
    (tmp_path / "runs" / ".20260101T000000Z-00000000-abcd-latest").symlink_to("runs/20260101T000000Z-00000000")
    with workspace(tmp_path):
        assert [path.name for path in (tmp_path / "steps").iterdir()] == ["bfs"]
        assert [path.name for path in (tmp_path / "runs").iterdir()] == ["20260101T000000Z-00000000"]


@pytest.mark.parametrize("place", ["file", "file/below", "steps-is-a-file"])
def test_an_output_that_cannot_be_a_folder_is_one_clear_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "steps-is-a-file").mkdir()
    (tmp_path / "steps-is-a-file" / "steps").write_text("")
    with pytest.raises(BadConfig, match=f"{place}: cannot be the output folder"), workspace(tmp_path / place):
        pass


def test_a_run_that_is_refused_leaves_the_holder_its_lock(tmp_path, monkeypatch):
    """Also one that looked for the folder before the holder made it."""
    with workspace(tmp_path / "out"):
        monkeypatch.setattr(type(tmp_path), "exists", lambda _path: False)
        with pytest.raises(Busy), workspace(tmp_path / "out"):
            pass
        assert (tmp_path / "out" / ".lock").is_file()
        assert (tmp_path / "out" / "steps").is_dir()
