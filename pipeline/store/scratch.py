"""Hidden folders for unfinished files, removed at the end of their block, or by a later run if the process was killed.

A folder is recognised as ours by its name, its user and the lock file in it, which the kernel unlocks when the owner ends.
Nothing is removed through a link.

A task may run twice at the same time, because a worker that was given up for lost may still be writing when its task runs again
elsewhere. So each attempt writes under a name of its own.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import numpy as np

from kernels.distributed.communicator import Communicator
from pipeline.signals import cleaned, undisturbed

_NAME = re.compile(r"\.graphmill-[0-9a-f]{16}")
_FILES, _REMOVED, _LOCK = "files", "removed", "owner.lock"
_ATTEMPTS = 20  # to remove what a thread is still writing


@contextmanager
def scratch(around: Path) -> Iterator[Path]:
    """Give a new private folder below `around`, which is made if need be; it is removed with all that was not moved away.

    The error of a failed write, such as on a full disk, may not name the file; then it gets the name of `around`.
    """
    owner, locks = around / f".graphmill-{secrets.token_hex(8)}", list[int]()
    try:
        with cleaned(partial(_release, owner, locks)):
            with undisturbed():
                around.mkdir(parents=True, exist_ok=True)
                while not locks:
                    locks += _owned(owner)
                (owner / _FILES).mkdir()
            yield owner / _FILES
    except OSError as error:
        if error.errno is not None:  # without one, a name would hide the text
            error.filename = error.filename or str(around)
        raise


def remove_dead(around: Path) -> None:
    """Remove the folders in `around` whose owners have ended."""
    with suppress(OSError), ExitStack() as opened:
        parent = _open_folder(opened, around)
        for name in filter(_NAME.fullmatch, _names(parent)):
            with suppress(OSError, RecursionError), ExitStack() as of_name:  # its owner runs, or it is not ours
                folder = _open_folder(of_name, name, parent)
                if os.fstat(folder).st_uid != os.geteuid():
                    continue
                if _LOCK in _names(folder):
                    lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
                    of_name.callback(os.close, lock)
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(name, parent, of_name)
                else:
                    os.rmdir(name, dir_fd=parent)  # only if it is empty: its owner was killed before it made the lock


def _release(owner: Path, locks: list[int]) -> None:
    """Remove a folder of this process."""
    with suppress(OSError, RecursionError), ExitStack() as opened:  # a later run tries again
        _remove(owner.name, _open_folder(opened, owner.parent), opened)
    for lock in locks:
        os.close(lock)


def _owned(folder: Path) -> list[int]:
    """Make a folder and give its lock; none if another process has removed the folder before it was locked."""
    folder.mkdir(0o700)
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileNotFoundError:
        return []
    with suppress(OSError):  # a file system without locks: no process ever gets one, so what a killed run left stays
        fcntl.flock(lock, fcntl.LOCK_EX)
    if os.fstat(lock).st_nlink:
        return [lock]
    os.close(lock)
    return []


def _open_folder(opened: ExitStack, path: str | Path, parent: int | None = None) -> int:
    """Open a folder until `opened` exits; in the open folder `parent` no link is followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | (0 if parent is None else os.O_NOFOLLOW), dir_fd=parent)
    opened.callback(os.close, descriptor)
    return descriptor


def _names(folder: int) -> list[str]:
    return [entry.name for entry in os.scandir(folder)]


def _remove(name: str, parent: int, opened: ExitStack) -> None:
    """Remove a folder of ours, its lock last: what cannot be removed now keeps its mark."""
    folder = _open_folder(opened, name, parent)
    if _FILES in _names(folder):  # under another name threads of abandoned work open no more files in it
        os.rename(_FILES, _REMOVED, src_dir_fd=folder, dst_dir_fd=folder)
    attempts = 0
    while _REMOVED in _names(folder):
        try:
            shutil.rmtree(_REMOVED, dir_fd=folder)
        except OSError:
            if (attempts := attempts + 1) == _ATTEMPTS:
                raise
    with suppress(FileNotFoundError):
        os.unlink(_LOCK, dir_fd=folder)
    os.rmdir(name, dir_fd=parent)


def replace_text(path: Path, text: str) -> None:
    """Write a file as a whole: who reads it meanwhile, or after this process was killed, finds it as it was before."""
    with scratch(path.parent) as unfinished:
        file = unfinished / path.name
        file.write_text(text, encoding="utf-8")
        file.replace(path)


def attempts_beside(folder: Path) -> Path:
    """A new folder for the attempts at the files of a step, next to the unfinished `folder` that the step was given."""
    attempts = folder.with_name("attempts")
    attempts.mkdir()
    return attempts


def new_attempt(attempts: Path) -> Path:
    """A path in `attempts` that no other attempt has."""
    return attempts / uuid4().hex


def shared_attempt(attempts: Path, communicator: Communicator) -> Path:
    """A path in `attempts` that all ranks of this attempt share and no other attempt has. A collective."""
    drawn = communicator.gather(np.frombuffer(uuid4().bytes, np.uint8))
    return attempts / bytes(drawn[0]).hex()


def link_or_copy(source: Path, target: Path) -> None:
    """Hard-link a file; copy it where links are not possible: across file systems, or on one without links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)
