"""Pieces of work that misbehave, for workers to run: they have to be importable there."""

from __future__ import annotations

import errno
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernels.graph import Graph
from kernels.sharded.bfs import bfs
from kernels.sharded.communicator import Communicator
from kernels.sharded.shard import Part, even_bounds, split
from pipeline.cluster import Place
from pipeline.errors import BadInput

TURNS = 20


def where(place: Place, item: int) -> tuple[int, int, int]:
    """The item, who ran it, and what stands for the graph there."""
    time.sleep(0.1)
    return item, os.getpid(), id(place.graph)


def where_an_index(place: Place, item: int) -> tuple[int, int, int]:
    """The same where an index was placed."""
    time.sleep(0.1)
    return item, os.getpid(), id(place.index)


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


def search(ranks: Communicator, graph: Graph) -> Part[Any]:
    """Breadth-first search from row 0 over as many shards as there are ranks."""
    return bfs(split(graph, even_bounds(graph, ranks.size))[ranks.rank], ranks, 0)


def swap(ranks: Communicator, ending: str) -> int:
    """Exchange many times; rank 1 ends in the middle as it is told."""
    for turn in range(TURNS):
        if (ranks.rank, turn) == (1, TURNS // 2):
            if ending == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if ending == "fail":
                raise BadInput("graph.csv", "is no graph")
            if ending == "return":
                return 0
        received = ranks.exchange([np.full(ranks.rank + to, 10 * ranks.rank + to + turn) for to in range(ranks.size)])
        for source, array in enumerate(received):
            assert array.tolist() == [10 * source + ranks.rank + turn] * (source + ranks.rank)
            array.fill(0)  # its own
    return int(ranks.total(np.array([ranks.rank]))[0])
