"""An output folder has one run at a time; what a dead run left is removed."""

from __future__ import annotations

import os
import signal

import pytest

from pipeline.errors import BadConfig, Busy
from pipeline.store.workspace import workspace


def test_a_second_run_is_refused_with_the_process_of_the_first(tmp_path):
    with workspace(tmp_path), pytest.raises(Busy, match=f"process {os.getpid()}"), workspace(tmp_path):
        pass
    with workspace(tmp_path) as work:
        assert work == tmp_path / "steps"


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


def test_leftovers_are_removed_and_complete_folders_kept(tmp_path):
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


def test_a_refused_run_does_not_take_the_lock(tmp_path, monkeypatch):
    """Not even if it looked for the folder before the first run created it."""
    with workspace(tmp_path / "out"):
        monkeypatch.setattr(type(tmp_path), "exists", lambda _path: False)
        with pytest.raises(Busy), workspace(tmp_path / "out"):
            pass
        assert (tmp_path / "out" / ".lock").is_file()
        assert (tmp_path / "out" / "steps").is_dir()
