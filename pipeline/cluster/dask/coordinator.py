"""The groups of ranks of all runs that use one scheduler; on the scheduler's event loop.

Ranks wait for each other, so two groups that each hold a worker which the other needs would wait for ever. Therefore a group gets
all its workers at once, in the order of the requests, and a worker has one group at a time. Its ranks are not Dask tasks, which
would wait for Dask's slots one by one. A worker is held until its ranks have ended, even if the run that started them is gone.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from distributed import Scheduler, SchedulerPlugin
from distributed.protocol.pickle import dumps

from pipeline.cluster.dask import session
from pipeline.cluster.dask.code_version import CodeVersion

_IMPORT = 60.0  # seconds, on a busy machine, for a new worker to load this code before it answers
_CHECK = 1.0  # seconds between two checks of a deadline
log = logging.getLogger(__name__)
Answer = dict[str, Any]
Result = TypeVar("Result")


class GroupRequest(NamedTuple):
    """Ranks that a run wants to start together. If there are more ranks than workers, some share a worker as threads."""

    client: str  # Dask's name of the client; if it disconnects, the ranks end
    run: str  # what messages of other runs call this one
    size: int  # number of ranks
    deadline: float  # seconds within which a worker has to answer, and other runs have to return one
    preferred: Sequence[str]  # workers that have the ranks' shards loaded
    call: bytes  # what each worker calls: see `session.run`
    step: str  # what the ranks compute, for messages
    own: bool  # whether the run has started the workers
    version: CodeVersion  # of this module


class Outcome(NamedTuple):
    """How ranks ended: with results, or with the reason in exactly one of the other fields."""

    workers: Sequence[str] = ()  # in rank order
    results: Sequence[bytes] = ()  # the pickled list of results of each worker's ranks
    error: Answer | None = None  # the root-cause error of a rank, for `distributed.core.clean_exception`
    lost: str = ""  # a worker is gone, or does not answer, so that the ranks have to start again
    busy: str = ""  # the runs that held the workers for the deadline, so that the ranks did not start


async def run_group(request: GroupRequest, dask_scheduler: Scheduler) -> Outcome | None:
    """Run a group; None if its client disconnected. Raises BadConfig if the scheduler has other code than the run."""
    request.version.require()
    dask_scheduler.add_plugin(Coordinator(dask_scheduler), name=Coordinator.name, idempotent=True)
    coordinator: Any = dask_scheduler.plugins[Coordinator.name]
    outcome: Outcome | None = await coordinator.run(request)
    return outcome


@dataclass(eq=False)
class _Group:
    request: GroupRequest
    session: str = field(default_factory=lambda: uuid4().hex)
    workers: list[str] = field(default_factory=list)
    granted: asyncio.Event = field(default_factory=asyncio.Event)
    running: asyncio.Task[Outcome | None] | None = None


class Coordinator(SchedulerPlugin):
    """Gives workers to groups, starts their ranks, and ends the groups whose client or worker is gone."""

    name = "graphmill-coordinator"

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._waiting: list[_Group] = []
        self._holders: dict[str, _Group] = {}  # by the worker's address
        self._loaded: set[str] = set()  # workers that have loaded this code
        self._moved = 0.0  # when a worker was last returned
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, request: GroupRequest) -> Outcome | None:
        """Wait for workers, run the ranks, and return how they ended."""
        group = _Group(request)
        group.running = self._start(self._run(group))
        await asyncio.wait([group.running])
        return None if group.running.cancelled() else group.running.result()

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """End the groups of a client that disconnected or was killed."""
        for group in {*self._waiting, *self._holders.values()}:
            if group.request.client == client and group.running:
                group.running.cancel()

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Offer a new worker to the groups that wait."""
        self._grant()

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Release a worker that is gone."""
        self._return(worker)

    async def close(self) -> None:
        """End with the scheduler."""
        for task in self._tasks:
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the event loop does not keep tasks
        task.add_done_callback(self._tasks.discard)
        return task

    def _grant(self) -> None:
        """Give free workers to the groups that wait, in order."""
        while self._waiting:
            group = self._waiting[0]
            wanted = min(group.request.size, len(self._scheduler.workers))
            free = sorted(set(self._scheduler.workers) - set(self._holders))
            if not wanted or len(free) < wanted:
                return
            group.workers = sorted(sorted(free, key=lambda worker: worker not in group.request.preferred)[:wanted])
            self._holders |= dict.fromkeys(group.workers, group)
            self._waiting.pop(0)
            group.granted.set()

    def _return(self, worker: str) -> None:
        self._holders.pop(worker, None)
        self._moved = time.monotonic()
        self._grant()

    async def _run(self, group: _Group) -> Outcome | None:
        if group.request.client not in self._scheduler.clients:  # it was killed meanwhile
            return None
        self._waiting.append(group)
        try:
            self._grant()
            if busy := await self._wait(group):
                return Outcome(busy=busy)
            return await self._run_ranks(group)
        finally:
            if group in self._waiting:
                self._waiting.remove(group)
                self._grant()
            for worker in group.workers:
                self._start(self._close(worker, group))

    async def _wait(self, group: _Group) -> str:
        """Wait until the group has workers; return the runs that hold them if none is returned within the deadline.

        It has no deadline for groups of its own run, which makes tables beside its stages: each may take as long as it needs.
        """
        begun = time.monotonic()
        while not group.granted.is_set():
            holders = {held.request.run for held in self._holders.values() if held.request.client != group.request.client}
            if holders and time.monotonic() - max(begun, self._moved) > group.request.deadline:
                return ", ".join(sorted(holders))
            await _within(_CHECK, group.granted.wait())
        return ""

    async def _run_ranks(self, group: _Group) -> Outcome:
        request, workers, lost, until = group.request, group.workers, "", float("inf")
        if silent := await self._open(group):
            return Outcome(workers, lost=f"worker {silent} does not answer")
        answers: dict[str, bytes] = {}
        content = {"session": group.session, "call": request.call, "step": request.step, "own": request.own}
        calls = {self._start(self._ask(worker, session.RUN, **content)): worker for worker in workers}
        running = set(calls)
        while running and time.monotonic() < until:
            ended, running = await asyncio.wait(running, timeout=_CHECK, return_when=asyncio.FIRST_COMPLETED)
            for worker, answer in ((calls[call], call.result()) for call in ended):
                if answer is None:
                    return Outcome(workers, lost=f"worker {worker} is gone")
                if "error" in answer:
                    return Outcome(workers, error=answer["error"])
                if "lost" in answer:  # the other ranks, or one with the root-cause error, have time to end
                    lost, until = answer["lost"], min(until, time.monotonic() + request.deadline)
                else:
                    answers[worker] = answer["results"]
        return Outcome(workers, lost=lost) if lost else Outcome(workers, [answers[worker] for worker in workers])

    async def _open(self, group: _Group) -> str:
        """Open the session on all workers; return one that does not answer."""
        size, workers = group.request.size, group.workers
        content = {"session": group.session, "placement": [workers[rank * len(workers) // size] for rank in range(size)]}
        message = {"function": dumps(session.open_session), "kwargs": dumps(content)}  # as Client.run sends it
        opened = asyncio.gather(*(self._load_and_open(worker, message) for worker in workers))
        answers = await _within(group.request.deadline + _IMPORT, opened) or [None] * len(workers)
        silent = [worker for worker, answer in zip(workers, answers, strict=True) if not answer or answer["status"] != "OK"]
        return silent[0] if silent else ""

    async def _load_and_open(self, worker: str, message: Answer) -> Answer | None:
        if worker not in self._loaded:  # on a thread: in the event loop it would delay heartbeats
            load = partial(asyncio.to_thread, import_module, "pipeline.cluster.dask.ranks")
            if await self._ask(worker, "run", function=dumps(load)):
                self._loaded.add(worker)
        return await self._ask(worker, "run", **message)

    async def _close(self, worker: str, group: _Group) -> None:
        """Return a worker when its ranks have ended, or when it is gone."""
        await self._ask(worker, session.CLOSE, session=group.session)
        if self._holders.get(worker) is group:
            self._return(worker)

    async def _ask(self, worker: str, operation: str, **content: Any) -> Answer | None:
        """A worker's answer, over a connection that is kept; None if it is gone."""
        try:
            answer: Answer | None = await getattr(self._scheduler.rpc(worker), operation)(**content)
        except Exception as error:
            log.info("worker %s: %s", worker, error)
            return None
        return answer


async def _within(seconds: float, work: Awaitable[Result]) -> Result | None:
    """What `work` returns, or None if that takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return None
