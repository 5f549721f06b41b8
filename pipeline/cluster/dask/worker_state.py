"""The state that a worker process keeps between tasks: the only module-level state of the pipeline.

A worker has no other owner for it: Dask calls functions, and they find what they share here.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Any

from kernels.graph import Array
from pipeline.cluster.open_graphs import OpenGraphs

if TYPE_CHECKING:
    from distributed import Worker

    from kernels.distributed.gpu.nccl import BetweenGpus


class Session:
    """A worker's part of a group of ranks that run together. Used on the worker's event loop only.

    Attributes:
        placement: The workers' addresses in rank order.
        until: The worker's ranks, each with the last exchange that it completed without an error when it ended; `inf` while it
            runs.
        mailbox: Messages that arrived or are waited for, by receiver, round and sender.
        under_way (set of tasks): Exchanges of the worker's ranks.
        running: Done when the worker's ranks have ended.
    """

    def __init__(self, name: str, placement: Sequence[str], worker: "Worker") -> None:
        self.name, self.placement, self.worker = name, placement, worker
        self.until = {rank: inf for rank, address in enumerate(placement) if address == worker.contact_address}
        self.mailbox: defaultdict[tuple[int, int, int], asyncio.Future[Array]]
        self.mailbox = defaultdict(asyncio.get_running_loop().create_future)
        self.under_way: set[asyncio.Task[Any]] = set()
        self.running: asyncio.Future[Any] | None = None


class WorkerState:
    """State of one worker process, for the life of the process.

    Attributes:
        gpu: Held by the task, or the ranks, that use the GPU.
        sessions: Groups of ranks that run now, by name.
        nccl: The NCCL communicator that was used last, by the addresses of all workers in rank order.
    """

    def __init__(self) -> None:
        self.open_graphs = OpenGraphs()
        self.gpu = Lock()
        self.sessions: dict[str, Session] = {}
        self.nccl: dict[tuple[str, ...], BetweenGpus] = {}


STATE = WorkerState()
