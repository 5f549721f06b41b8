"""The ranks of a group on Dask workers: their placement, and the restart when a worker is lost.

The ranks on one worker are threads of one Dask task, which is pinned to the worker. They communicate by transport.py, or by NCCL.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, KilledWorker, get_worker

from kernels.distributed.communicator import Communicator, PeerLost
from pipeline.cluster.dask import mailbox
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.cluster.dask.nccl_bootstrap import between_gpus
from pipeline.cluster.dask.transport import BetweenWorkers
from pipeline.cluster.dask.worker_state import STATE
from pipeline.cluster.protocol import Place
from pipeline.errors import ClusterLost
from pipeline.runtime.backend import Backend, use_gpu

log = logging.getLogger(__name__)
Result = TypeVar("Result")
Poll = Callable[[], list[str]]  # returns the workers' addresses; raises ClusterLost if the scheduler is silent for too long
_POLL = 0.5  # seconds between two checks whether the workers are there
_PAUSE = 0.005  # seconds between two checks whether a rank has ended
_RETURN = 10.0  # seconds that a nanny has to restart a worker before the remaining workers take its ranks
_IMPORT = 60.0  # seconds, on a busy machine, for a new worker to load this code before it answers
_CLOSE = 5.0  # seconds for closing the session on all workers


class _WorkerLost(Exception):
    """A worker of a session is gone, or does not answer."""


@dataclass(frozen=True)
class Group:
    """Ranks that run together on the workers of a scheduler.

    Attributes
    ----------
    client : Client
    size : int
        Number of ranks.
    backend : {"cpu", "gpu"}
    deadline : float
        Seconds within which a worker has to answer.
    lost_workers : int
        How many times a worker may be lost.
    version : CodeVersion
        Of the code that the function uses.
    """

    client: Client
    size: int
    backend: Backend
    deadline: float
    lost_workers: int
    version: CodeVersion


def run_on_ranks(group: Group, function: Callable[[Place], Result], poll: Poll) -> list[Result]:
    """Call `function(place)` at the same time on every rank; return the results in rank order.

    Where there are more ranks than workers, some are threads of one worker. If a worker is lost, all ranks start again on the
    workers that are there then.

    Raises
    ------
    ClusterLost
        More than `lost_workers` times a worker died, or did not answer within the deadline; or as `poll`.
    Exception
        The first error of a rank.
    """
    placement: list[str] = []
    for left in reversed(range(group.lost_workers + 1)):
        placement = _placement(group.size, sorted(_available(poll, len(set(placement)) or 1)))
        try:
            return _attempt(group, function, placement, poll)
        except _WorkerLost as lost:
            log.warning("cluster: %s%s", lost, "; all ranks start again" if left else "")
    raise ClusterLost(f"cluster: {group.lost_workers + 1} times a worker of those that hold one graph together was lost")


def _available(poll: Poll, wanted: int) -> list[str]:
    """The workers' addresses, as soon as there are `wanted`, or at least one after a while."""
    began = time.monotonic()
    while True:
        found = poll()
        if len(found) >= wanted or (found and time.monotonic() - began > _RETURN):
            return found
        time.sleep(_POLL)


def _placement(ranks: int, workers: Sequence[str]) -> list[str]:
    """The worker of each rank: consecutive ranks together, and no worker without a rank while another has two."""
    used = min(ranks, len(workers))
    return [workers[rank * used // ranks] for rank in range(ranks)]


def _attempt(group: Group, function: Callable[[Place], Result], placement: Sequence[str], poll: Poll) -> list[Result]:
    session, client, deadline = uuid4().hex, group.client, group.deadline
    ranks_of = {address: [rank for rank, found in enumerate(placement) if found == address] for address in placement}
    _call_on(client, mailbox.open_session, [*ranks_of], deadline + _IMPORT, session=session, placement=placement)
    started = {
        address: client.submit(
            _run, function, _Session(session, placement, deadline, group.version), ranks, group.backend,
            workers=[address], allow_other_workers=False, pure=False, retries=0, key=f"ranks-{ranks[0]}-{session}",
        )
        for address, ranks in ranks_of.items()
    }  # fmt: skip
    try:
        found = _await(started, deadline, poll)
        results = {
            rank: result for address, ranks in ranks_of.items() for rank, result in zip(ranks, found[address], strict=True)
        }
        return [results[rank] for rank in range(group.size)]
    except BaseException as error:
        if client.status == "running" and not isinstance(error, ClusterLost):
            client.cancel(list(started.values()))
            with suppress(_WorkerLost, ClusterLost):
                left = [address for address in poll() if address in started]
                _call_on(client, mailbox.close_session, left, _CLOSE, session=session)
        raise


def _await(started: dict[str, Any], deadline: float, poll: Poll) -> dict[str, list[Any]]:
    """What the workers' tasks return. Raises the root-cause error of a rank, or _WorkerLost if there is none."""
    polled, waiting = time.monotonic(), dict(started)
    found: dict[str, list[Any] | None] = {}
    lost = float("inf")
    while waiting:
        for address, task in [(address, task) for address, task in waiting.items() if task.done()]:
            del waiting[address]
            found[address] = _result(task, deadline)
            if found[address] is None:
                lost = min(lost, time.monotonic())
        if time.monotonic() - polled > _POLL:
            if missing := set(started) - set(poll()):
                raise _WorkerLost(f"worker {missing.pop()} is gone")
            polled = time.monotonic()
        if time.monotonic() - lost > deadline:  # the other ranks, or the one with the root-cause error, had time to end
            break
        time.sleep(_PAUSE)
    if lost < float("inf"):
        poll()
        raise _WorkerLost("a rank lost another one")
    return {address: result for address, result in found.items() if result is not None}


def _result(task: Any, deadline: float) -> Any:
    """What a task returned, None where its worker is gone; raises the task's own error."""
    try:
        return task.result(deadline)
    except Exception as error:
        if task.status == "error" and not isinstance(error, KilledWorker):
            raise
        return None


def _call_on(client: Client, function: Callable[..., Any], workers: list[str], deadline: float, **content: Any) -> None:
    """Call a function on the workers' event loops. Raises _WorkerLost unless all of them answer within the deadline."""

    async def call() -> dict[str, Any]:
        answers: Coroutine[Any, Any, dict[str, Any]] = client.run(function, **content, workers=workers, on_error="return")
        return await asyncio.wait_for(answers, deadline)

    try:
        answers = client.sync(call)
    except (OSError, ValueError) as error:
        raise _WorkerLost(f"a worker does not answer: {error}") from None
    for address in workers:
        if answers.get(address) is not True:
            raise _WorkerLost(f"worker {address} does not answer: {answers.get(address)}")


@dataclass(frozen=True)
class _Session:
    name: str
    placement: Sequence[str]
    deadline: float
    version: CodeVersion


def _run(function: Callable[[Place], Result], session: _Session, ranks: Sequence[int], backend: Backend) -> list[Result] | None:
    """Run the ranks of a worker; None if they lost others. Raises the first error that is not due to a lost peer."""
    session.version.require()
    if backend == "gpu":
        use_gpu()
    worker = get_worker()

    def run(rank: int) -> Result:
        between = BetweenWorkers(worker, session.name, session.placement, rank, session.deadline)
        well = False
        try:
            with _fastest(between, backend) as communicator:
                result = function(Place(backend, STATE.open_graphs, 1, communicator, sharded=True, ranks_here=len(ranks)))
            well = True
            return result
        finally:
            between.leave(well)

    with ThreadPoolExecutor(len(ranks)) as threads:
        running = [threads.submit(run, rank) for rank in ranks]
        errors = [error for error in (future.exception() for future in running) if error]
    for error in errors:
        if not isinstance(error, PeerLost):
            raise error
    return None if errors else [future.result() for future in running]


@contextmanager
def _fastest(between: BetweenWorkers, backend: Backend) -> Iterator[Communicator]:
    """NCCL if each rank has a worker, and so a GPU, of its own; otherwise the workers' connections."""
    if backend == "gpu" and len(set(between.placement)) == between.size:
        with between_gpus(between, between.placement) as communicator:
            yield communicator
    else:
        yield between
