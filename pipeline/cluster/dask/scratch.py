"""A folder for the files of local workers, removed with its run; what killed runs left of theirs goes with the next one."""

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
LOCK = "owner.lock"  # held by who made the folder; the kernel drops it when the holder dies, however it dies


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a new folder among the machine's temporary files."""
    around = Path(tempfile.gettempdir())
    for left in around.glob(f"{PREFIX}*"):
        _remove_if_dead(left)
    folder = around / f"{PREFIX}{secrets.token_hex(8)}"
    unlocked = folder.with_name(f".{folder.name}")  # nobody takes it for a dead run's before it is locked
    try:
        unlocked.mkdir(0o700)
        with (unlocked / LOCK).open("w") as lock:
            with suppress(OSError):  # a file system has no locks: then nobody ever gets one, and the folder stays
                fcntl.flock(lock, fcntl.LOCK_EX)
            unlocked.rename(folder)
            yield folder
    finally:
        for path in (unlocked, folder):
            shutil.rmtree(path, ignore_errors=True)


def _remove_if_dead(folder: Path) -> None:
    with suppress(OSError):  # its owner lives, or it belongs to another user
        found = folder.lstat()
        if not S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return
        with (folder / LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
