"""The scratch folder of local workers is removed at the end of its run, or by the next run if it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from pipeline.cluster.dask.scratch import LOCK, PREFIX, scratch

KILLED = """
import os, signal
from pipeline.cluster.dask.scratch import scratch
with scratch() as folder:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text("of a worker")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def around(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_is_private_and_removed_with_its_run(around):
    with pytest.raises(KeyError), scratch() as folder:
        assert folder.parent == around and folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").write_text("of a worker")
        raise KeyError
    assert not list(around.iterdir())


def test_what_a_killed_run_left_is_removed_by_the_next(around):
    killed = subprocess.run([sys.executable, "-c", KILLED], env=os.environ | {"TMPDIR": str(around)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = around.iterdir()
    assert (left / "inner" / "file").exists()
    with scratch() as folder:
        assert list(around.iterdir()) == [folder]


def test_folders_of_others_are_kept(around):
    mine, linked = around / f"{PREFIX}projects", around / f"{PREFIX}link"
    mine.mkdir()
    (mine / "letter").write_text("dear")
    (around / "elsewhere").mkdir()
    (around / "elsewhere" / LOCK).write_text("")
    linked.symlink_to(around / "elsewhere")
    with scratch() as alive:
        (alive / "file").write_text("of a worker")
        with scratch():
            assert (alive / "file").exists()
    assert sorted(around.iterdir()) == sorted([around / "elsewhere", linked, mine])
    assert (mine / "letter").exists() and (around / "elsewhere" / LOCK).exists()
