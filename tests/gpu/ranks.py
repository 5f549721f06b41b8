"""One process per GPU and rank for the communicator's tests; the processes have to be able to import what they run."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.managers import SyncManager
from pathlib import Path
from typing import Any

import numpy as np

from kernels.bfs.sharded import bfs
from kernels.distributed import Communicator, PeerLost, ShardAnswer
from kernels.graph import Graph
from pipeline.errors import BadInput
from tests.gpu.shards import on_gpu
from tests.sharded.collectives import check_collectives
from tests.sharded.shards import even_bounds, split

DEADLINE = 40.0  # seconds: several tests may share a GPU
LOST = 3.0  # seconds after which a rank is lost


def on_gpus(size: int, work: Callable[[Communicator], Any]) -> list[Any]:
    """The result or the error of `work` on each rank; BrokenProcessPool for a rank that was killed."""
    spawn = multiprocessing.get_context("spawn")
    with spawn.Manager() as manager:
        ids = manager.Queue()
        pools = [ProcessPoolExecutor(1, spawn) for _ in range(size)]
        running = [pool.submit(_be_rank, rank, size, ids, work) for rank, pool in enumerate(pools)]
        ended = [rank.exception(2 * DEADLINE) or rank.result() for rank in running]
        for pool in pools:
            pool.shutdown()
    return ended


def _be_rank(rank: int, size: int, ids: SyncManager.Queue, work: Callable[[Communicator], Any]) -> Any:
    import cupy

    from kernels.distributed.gpu.nccl import BetweenGpus, unique_id

    cupy.cuda.Device(rank).use()
    if rank == 0:
        made = unique_id()
        for _ in range(size):
            ids.put(made)
    with BetweenGpus(ids.get(), rank, size, DEADLINE) as ranks:
        return work(ranks)


def collectives(ranks: Communicator) -> tuple[int, int]:
    """Check all collectives on CuPy and on NumPy arrays."""
    import cupy

    return check_collectives(ranks, cupy.asarray), check_collectives(ranks, np.copy)


def be_lost(ending: str, ranks: Communicator) -> tuple[str, float, str]:
    """Exchange a hundred times while the last rank ends; return the error, the seconds to it, and the error of the next call."""
    import cupy

    sent = [cupy.arange(100_000 * (ranks.rank + 1)) for _ in range(ranks.size)]
    ranks._there._deadline = LOST
    begun = time.monotonic()
    try:
        for turn in range(100):
            if turn == 50:
                begun = time.monotonic()
                if ranks.rank == ranks.size - 1:
                    if ending == "kill":
                        os.kill(os.getpid(), signal.SIGKILL)
                    if ending == "stop":
                        time.sleep(3 * LOST)
            ranks.exchange(sent)
    except PeerLost as lost:
        seconds = time.monotonic() - begun
        try:
            ranks.total(np.zeros(1))
        except PeerLost as again:
            cupy.cuda.Device().synchronize()  # no kernel is left running
            assert float(cupy.arange(10).sum()) == 45
            return str(lost), seconds, str(again)
    return "all went well", time.monotonic() - begun, ""


def swap(ranks: Communicator, ending: str) -> int:
    """As `tests.cluster.tasks.swap`, on GPUs."""
    import cupy

    for turn in range(100):
        if (ranks.rank, turn) == (ranks.size - 1, 50):
            if ending == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if ending == "fail":
                raise BadInput("graph.csv", "is no graph")
            if ending == "return":
                return 0
        received = ranks.exchange([cupy.full(ranks.rank + to, 10 * ranks.rank + to + turn) for to in range(ranks.size)])
        for source, array in enumerate(received):
            assert array.tolist() == [10 * source + ranks.rank + turn] * (source + ranks.rank)
    return int(ranks.total(np.array([ranks.rank]))[0])


def connection(ranks: Communicator, item: int) -> bytes:
    """The id of the connection of all ranks."""
    return ranks.unique_id


def pool_and_pointers(ranks: Communicator, item: int) -> tuple[int, set[int]]:
    """Bytes of CuPy's pool, and the addresses of arrays that were allocated one after the other."""
    import cupy

    return cupy.get_default_memory_pool().total_bytes(), {cupy.empty(1 << 20).data.ptr for _ in range(5)}


def swap_at_last(once: Path, ranks: Communicator, item: int) -> int:
    """As `swap`, but the first time a rank is killed meanwhile."""
    if once.exists():
        return swap(ranks, "go on")
    ranks.total(np.zeros(1))  # all ranks have checked
    once.touch()
    return swap(ranks, "kill")


def search(ranks: Communicator, graph: Graph) -> tuple[str, ShardAnswer[Any]]:
    """Breadth-first search from row 0, and the communicator's type."""
    shard = split(graph, even_bounds(graph, ranks.size))[ranks.rank]
    return type(ranks).__name__, on_gpu(bfs)(shard, ranks, 0)


killed = partial(be_lost, "kill")
stopped = partial(be_lost, "stop")
