"""Names for the files of attempts: a task may run twice at the same time, so each attempt writes under a name of its own.

A worker that was given up for lost may still be writing when its task runs again elsewhere.
"""

from pathlib import Path
from uuid import uuid4

import numpy as np

from kernels.distributed.communicator import Communicator


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
