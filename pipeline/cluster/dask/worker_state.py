"""What a worker process holds between the tasks that it runs: the only state at module level of the pipeline.

A worker has no other owner for it: Dask calls functions, and they find what they share here.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from kernels.graph import Array
from pipeline.cluster.open_graphs import OpenGraphs

if TYPE_CHECKING:
    from kernels.distributed.gpu.nccl import BetweenGpus


class Session:
    """The worker's part of a group of ranks that run together. Used on the worker's event loop only.

    Attributes
    ----------
    open : set of int
        The worker's ranks that have not ended.
    mailbox : dict
        Messages that arrived or are waited for, by receiver, round and sender.
    under_way : set of tasks
        Exchanges of the worker's ranks.
    """

    def __init__(self, ranks: Sequence[int]) -> None:
        self.open = set(ranks)
        self.mailbox: defaultdict[tuple[int, int, int], asyncio.Future[Array]]
        self.mailbox = defaultdict(asyncio.get_running_loop().create_future)
        self.under_way: set[asyncio.Task[Any]] = set()


class WorkerState:
    """State of one worker process, for the life of the process.

    Attributes
    ----------
    open_graphs : OpenGraphs
    gpu : Lock
        Held by the task that uses the GPU, however many threads the worker has.
    sessions : dict
        Groups of ranks that run now, by name.
    nccl : dict
        The NCCL communicator that was used last, by the addresses of all workers in rank order.
    """

    def __init__(self) -> None:
        self.open_graphs = OpenGraphs()
        self.gpu = Lock()
        self.sessions: dict[str, Session] = {}
        self.nccl: dict[tuple[str, ...], BetweenGpus] = {}


STATE = WorkerState()
