"""The folder for the files of attempts: a task may run twice at the same time, so each attempt writes under a name of its own.

A worker that was given up for lost may still be writing when its task runs again elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import numpy as np

from kernels.distributed.communicator import Communicator


@contextmanager
def attempts_at(step: str, work: Path) -> Iterator[Path]:
    """Give a hidden folder in `work` for the attempts at the files of `step`; it is removed with all that was not moved away."""
    with TemporaryDirectory(prefix=f".{step}-files-", dir=work, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def new_attempt(attempts: Path) -> Path:
    """A path in `attempts` that no other attempt has."""
    return attempts / uuid4().hex


def shared_attempt(attempts: Path, communicator: Communicator) -> Path:
    """A path in `attempts` that all ranks of this attempt share and no other attempt has. A collective."""
    drawn = communicator.gather(np.frombuffer(uuid4().bytes, np.uint8))
    return attempts / bytes(drawn[0]).hex()
