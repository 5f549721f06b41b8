"""Tasks for workers, many of which misbehave; a module, because workers must be able to import them."""

import errno
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
from distributed import Worker, WorkerPlugin

from kernels.bfs.sharded import bfs
from kernels.distributed import Communicator, ShardAnswer
from kernels.distributed.communicator import OverExchange
from kernels.graph import Graph
from kernels.registry import BY_NAME
from pipeline.cluster.dask.worker_state import STATE
from pipeline.cluster.protocol import TaskContext
from pipeline.errors import BadInput
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables
from pipeline.tables.forms import form_of
from tests.memory import grown
from tests.sharded.collectives import check_collectives
from tests.sharded.shards import even_bounds, split

TURNS = 20
SMALL = 100_000, 300_000  # rows of a row group and of a file


def where(graph: Folder, context: TaskContext, item: int) -> tuple[int, int, int]:
    """The item, the process that ran it, and the identity of the graph in that process."""
    time.sleep(0.1)
    return item, os.getpid(), id(context.whole_graph(graph).graph)


def where_an_index(index: Folder, context: TaskContext, item: int) -> tuple[int, int, int]:
    """The same for an index."""
    time.sleep(0.1)
    return item, os.getpid(), id(context.index(index))


def die(context: TaskContext, item: Path) -> None:
    """Note the process id and kill the process."""
    with item.open("a") as file:
        file.write(f"{os.getpid()}\n")
    os.kill(os.getpid(), signal.SIGKILL)


def take_memory(context: TaskContext, item: int) -> None:
    """Take this number of bytes until the nanny ends the process."""
    taken = np.ones(item, np.uint8)
    time.sleep(10**6)
    del taken


def take_memory_slowly(context: TaskContext, item: int) -> None:
    """Take this number of bytes again and again until the worker ends."""
    taken = []
    while True:
        taken.append(np.ones(item, np.uint8))
        time.sleep(0.005)


def write_at_once(path: Path, text: str) -> None:
    """Write a file that nobody sees empty."""
    unfinished = path.with_name(f".{path.name}-{os.getpid()}")
    unfinished.write_text(text)
    unfinished.replace(path)


def sleep_once(context: TaskContext, item: Path) -> int:
    """Note the process id and hang the first time; later return at once."""
    if item.exists():
        return os.getpid()
    write_at_once(item, str(os.getpid()))
    threading.Event().wait()
    raise AssertionError("this task was not ended")


def fail(context: TaskContext, item: int) -> int:
    """Fail for bad input (item 3) or a full disk (item 4)."""
    if item == 3:
        raise BadInput("graph.csv", "is no graph", line=3)
    if item == 4:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "table")
    return item


def search(ranks: Communicator, graph: Graph) -> ShardAnswer[Any]:
    """Breadth-first search from row 0 over as many shards as there are ranks."""
    return bfs(split(graph, even_bounds(graph, ranks.size))[ranks.rank], ranks, 0)


def linger(ranks: Communicator, folder: Path) -> int:
    """Write `begun-RANK`, and exchange with the other ranks until there is a file `go`."""
    write_at_once(folder / f"begun-{ranks.rank}", str(os.getpid()))
    while not ranks.most(np.array([(folder / "go").exists()]))[0]:
        time.sleep(0.01)
    return os.getpid()


@dataclass(frozen=True)
class Death:
    """When a rank's process is killed: `delay` seconds after its exchange number `exchange`; `marker` records that it was."""

    rank: int
    exchange: int
    delay: float
    marker: Path


def mortal(function: Any, deaths: list[Death], context: TaskContext, item: Any) -> Any:
    """Call `function`, with the first death that has not happened yet."""
    due = next((death for death in deaths if not death.marker.exists()), None)
    ranks = context.communicator
    return function(replace(context, communicator=Mortal(ranks, due)) if due and due.rank == ranks.rank else context, item)


class Mortal(OverExchange):
    """A communicator that kills its rank's process at a given exchange."""

    def __init__(self, ranks: Communicator, death: Death):
        self.rank, self.size = ranks.rank, ranks.size
        self._ranks, self._death, self._exchanges = ranks, death, 0

    def exchange(self, parts, buffers=None):
        self._exchanges += 1
        if self._exchanges == self._death.exchange:
            self._death.marker.touch()
            threading.Timer(self._death.delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return self._ranks.exchange(parts, buffers)


def die_writing(function: Any, deaths: Path, context: TaskContext, item: Any) -> Any:
    """Call `function`. While there is a file in `deaths`, a process that has written rows removes one, and is killed."""

    class Deadly(pq.ParquetWriter):
        def write_batch(self, *arguments: Any) -> None:
            super().write_batch(*arguments)
            for death in deaths.iterdir():
                with suppress(FileNotFoundError):  # another process may remove it at the same time
                    death.unlink()
                    os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(pq, "ParquetWriter", Deadly):
        return function(context, item)


def limit_rows(group: int, file: int) -> None:
    """Write tables with so many rows in a row group and in a file in this process."""
    tables.ROWS_PER_GROUP, tables.ROWS_PER_FILE = group, file


def measured(function: Any, notes: Path, limits: tuple[int, int], context: TaskContext, item: Any) -> Any:
    """Call `function` with small row groups and files, and note by how many bytes this process's peak memory grew."""
    limit_rows(*limits)
    with grown() as bytes_grown:
        result = function(context, item)
    (notes / f"{context.communicator.rank}").write_text(str(bytes_grown()))
    return result


def measured_single_rank(stage: str, folder: Folder, rows: list[int], context: TaskContext, item: int) -> int:
    """By how many bytes the peak memory grows when a single rank computes a stage and its table."""
    algorithm = BY_NAME[stage]
    held = context.graph(folder)
    with grown() as bytes_grown:
        answer = held.solver(algorithm)(*rows).answer
        list(held.batches(form_of(algorithm), answer, tables.schema(stage, "int64"), 0))
    return bytes_grown()


class FewRows(WorkerPlugin):
    """Limits the rows of a worker, also of one that starts later, as `limit_rows`, until it is unregistered."""

    name = "few rows"

    def __init__(self, group: int, file: int) -> None:
        self.limits, self.before = (group, file), (tables.ROWS_PER_GROUP, tables.ROWS_PER_FILE)

    def setup(self, worker: Worker) -> None:
        """Called by Dask."""
        limit_rows(*self.limits)

    def teardown(self, worker: Worker) -> None:
        """Called by Dask."""
        limit_rows(*self.before)


class AsOnSeveralMachines(WorkerPlugin):
    """Lets the ranks of a worker, also of one that starts later, communicate as if some of them were on another machine."""

    def setup(self, worker: Worker) -> None:
        """Called by Dask."""
        from pipeline.cluster.dask import ranks

        ranks.on_one_machine = lambda placement: False


def check(ranks: Communicator, _: None) -> int:
    """The number of comparisons of all collectives with NumPy."""
    return check_collectives(ranks, np.copy)


def swap(ranks: Communicator, ending: str) -> int:
    """Exchange many times; rank 1 ends half-way in the way that `ending` names."""
    for turn in range(TURNS):
        if (ranks.rank, turn) == (1, TURNS // 2):
            if ending == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if ending == "fail":
                raise BadInput("graph.csv", "is no graph")
            if ending == "return":
                return 0
        buffers = [np.empty(source + ranks.rank, int) for source in range(ranks.size)] if turn % 2 else None
        received = ranks.exchange([np.full(ranks.rank + to, 10 * ranks.rank + to + turn) for to in range(ranks.size)], buffers)
        for source, array in enumerate(received):
            assert array.tolist() == [10 * source + ranks.rank + turn] * (source + ranks.rank)
            array.fill(0)  # the receiver owns it
    return int(ranks.total(np.array([ranks.rank]))[0])


def wait_for(context: TaskContext, folder: Path) -> None:
    """Note that the task runs, and return when there is a file `go`."""
    (folder / f"task-{os.getpid()}").touch()
    while not (folder / "go").exists():
        time.sleep(0.01)


def swap_slowly(ranks: Communicator, size: int) -> tuple[list[int], int]:
    """Rank 0 sends `size` bytes while the worker of rank 1 cannot read for a second, then changes its array and ends.

    Returns how many bytes came from each rank, and how many of them were changed.
    """
    sent = [np.zeros(1 if ranks.rank else size, np.uint8) for _ in range(ranks.size)]
    if ranks.rank:
        ranks._worker.loop.call_later(0.2, time.sleep, 1.0)
    else:
        time.sleep(0.4)
    received = ranks.exchange(sent)
    sent[1].fill(1)
    return [len(part) for part in received], int(np.count_nonzero(received[0]))


def break_down(ranks: Communicator, notes: Path) -> None:
    """The worker of rank 0 fails in an exchange with an error that is not the loss of a peer; every start is noted."""

    async def fail(parts: Any) -> None:
        raise RuntimeError("the worker's own")

    if ranks.rank == 0:
        with notes.open("a") as file:
            file.write("started\n")
        ranks._exchange = fail
    ranks.total(np.zeros(1))


def run_until_allowed(context: TaskContext, item: Path) -> str:
    """The name of the folder; each run notes its process in `run-N` there, and ends when `go-N` exists."""
    number = len(list(item.glob("run-*")))
    write_at_once(item / f"run-{number}", str(os.getpid()))
    while not (item / f"go-{number}").exists():
        time.sleep(0.02)
    return item.name


def add_up(ranks: Communicator, times: int) -> int:
    """The sum of the ranks' numbers, exchanged several times."""
    for _ in range(times):
        found = ranks.sum(ranks.rank)
        time.sleep(0.01)
    return found


def number(context: TaskContext, item: int) -> int:
    """The item."""
    return item


def modules(context: TaskContext, item: None) -> set[str]:
    """What this process has imported."""
    return set(sys.modules)


def open_sessions() -> int:
    """How many groups of ranks this worker takes part in."""
    return len(STATE.sessions)
