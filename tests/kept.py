"""Files and folders that several test processes share: the first one makes them."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

# What is compiled serves every copy of the project, and is named after all that it is made of.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphmill"


def kept(path: Path, make: Callable[[Path], object]) -> Path:
    """Return `path`, made by one process while the others wait; if `make` raises, nothing is left."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                unfinished = path.with_suffix(f".{os.getpid()}")
                make(unfinished)
                unfinished.replace(path)
    return path
