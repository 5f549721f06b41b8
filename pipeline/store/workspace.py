"""Exclusive use of an output folder by one run; the unfinished folders of killed runs are removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import BadConfig, Busy


@contextmanager
def workspace(output: Path) -> Iterator[Path]:
    """Hold `output` for one run and give the folder of its steps. Raises Busy while another process holds it.

    A run that made the folder and left nothing in it leaves no folder either.
    """
    steps = output / "steps"
    found = output.exists()
    try:
        steps.mkdir(parents=True, exist_ok=True)
        lock = os.open(output / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise BadConfig(f"{output}: cannot be the output folder: {error.strerror}") from None
    try:
        try:
            # The kernel releases the lock when the process ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
            raise Busy(f"{output}: another run works here (process {holder})") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        _remove_leftovers(output)
        try:
            yield steps
        finally:
            if not found:
                _remove_empty(output)  # while this run holds the lock: a refused run must not remove the lock of its holder
    finally:
        os.close(lock)


def _remove_empty(output: Path) -> None:
    """Remove what `workspace` made, if nothing was added to it."""
    with contextlib.suppress(OSError):
        (output / "steps").rmdir()
        (output / ".lock").unlink()
        output.rmdir()


def _remove_leftovers(output: Path) -> None:
    """Remove the unfinished hidden folders and links of a killed run."""
    for folder in (output / "steps", output / "runs"):
        for leftover in folder.glob(".*"):
            if leftover.is_symlink():
                leftover.unlink()
            else:
                shutil.rmtree(leftover, ignore_errors=True)
