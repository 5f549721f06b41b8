"""Pieces of work that misbehave, for workers to run: they have to be importable there."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path

from pipeline.cluster import Place
from pipeline.errors import BadInput


def where(place: Place, item: int) -> tuple[int, int, int]:
    """The item, who ran it, and what stands for the graph there."""
    time.sleep(0.1)
    return item, os.getpid(), id(place.graph)


def die(place: Place, item: Path) -> None:
    """Die of it, and say so."""
    with item.open("a") as file:
        file.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def sleep_once(place: Place, item: Path) -> int:
    """Sleep long the first time, as a process that hangs; then be quick."""
    if item.exists():
        return os.getpid()
    item.write_text(str(os.getpid()))
    time.sleep(300)
    raise AssertionError("nobody ended this piece")


def fail(place: Place, item: int) -> int:
    """Fail as a piece may that finds bad input, or a full disk."""
    if item == 3:
        raise BadInput("graph.csv", "is no graph", line=3)
    if item == 4:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "table")
    return item
