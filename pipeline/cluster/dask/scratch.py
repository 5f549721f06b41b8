"""A folder for the files of local workers, removed at the end of the run; the next run removes the folders of killed runs."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR

PREFIX = "graphmill-workers-"
LOCK = "owner.lock"  # held by the owner of the folder; the kernel releases it when the process ends


@contextmanager
def scratch() -> Iterator[Path]:
    """Create a folder in the machine's folder for temporary files."""
    around = Path(tempfile.gettempdir())
    for left in around.glob(f"{PREFIX}*"):
        _remove_if_dead(left)
    folder = around / f"{PREFIX}{secrets.token_hex(8)}"
    unlocked = folder.with_name(f".{folder.name}")  # not mistaken for a killed run's folder before it is locked
    try:
        unlocked.mkdir(0o700)
        with (unlocked / LOCK).open("w") as lock:
            with suppress(OSError):  # a file system without locks: no process ever gets one, so the folder stays
                fcntl.flock(lock, fcntl.LOCK_EX)
            unlocked.rename(folder)
            yield folder
    finally:
        for path in (unlocked, folder):
            shutil.rmtree(path, ignore_errors=True)


def _remove_if_dead(folder: Path) -> None:
    with suppress(OSError):  # its owner runs, or it belongs to another user
        found = folder.lstat()
        if not S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return
        with (folder / LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
