"""Whose turn it is to compile ahead on this machine: a lock on a file beside the code, which ends with who holds it."""

import fcntl
import hashlib
import os
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUESTS = Path(__file__).parent / "requests.json"


def folder() -> Path:
    """Where CuPy keeps compiled code."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or "~/.cupy/kernel_cache").expanduser()


@cache
def _stem() -> Path:
    """The path of the lock and of the note that all is compiled, without endings: for one set of sources and of versions."""
    content = hashlib.sha256()
    for path in (REQUESTS, *sorted(ROOT.rglob("*.cu*"))):
        content.update(path.read_bytes())
    with suppress(metadata.PackageNotFoundError):  # built from source
        content.update(metadata.version("cupy-cuda13x").encode())
    return folder() / f"graphmill-{content.hexdigest()[:32]}"


def is_done(architecture: str) -> bool:
    """Whether everything was compiled for an architecture such as "9.0", and need not be again."""
    return _note(architecture).exists()


def note_done(architecture: str) -> None:
    """Keep that everything was compiled. Raises OSError."""
    _note(architecture).touch()


def _note(architecture: str) -> Path:
    return _stem().with_suffix(f".{architecture}")


def take() -> int | None:
    """The file descriptor of the lock, which its copies in other processes hold, too; None if it is held or cannot be made."""
    try:
        folder().mkdir(parents=True, exist_ok=True)
        lock = os.open(_stem().with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def is_compiling() -> bool:
    """Whether a process of this machine holds the lock."""
    try:
        lock = os.open(_stem().with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
