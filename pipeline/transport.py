"""A communicator between Dask workers, over the connections that they have anyway, so with their TLS.

The ranks of a worker are one piece of work that stays there. What a rank sends is a message to the other worker's server, which
puts it into the session's mail; the worker's event loop carries it while the rank computes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from distributed import Client, KilledWorker, Worker, get_worker
from distributed.comm.core import Comm
from distributed.protocol.serialize import to_serialize

from kernels.cuda import to_host
from kernels.graph import Array
from kernels.sharded.communicator import Communicator, OverExchange, PeerLost
from pipeline.backend import Backend
from pipeline.errors import BadConfig, ClusterLost
from pipeline.gpu_transport import between_gpus
from pipeline.manifest import code_version
from pipeline.stored_shards import together

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")
Look = Callable[[], list[str]]  # the workers' addresses; raises ClusterLost where the scheduler is silent for too long
MAIL, ALIVE = "graphmill_mail", "graphmill_alive"
_LOOK = 0.5  # seconds between two looks whether those are alive who are waited for
_PAUSE = 0.005  # seconds between two looks whether a rank has ended
_RETURN = 10.0  # seconds that a nanny has to start a worker again, before those that are left take its ranks
_IMPORT = 60.0  # seconds, on a machine that is busy, for a new worker to load this code before it answers
_CLOSE = 5.0  # seconds for telling workers that it is over


class _WorkerLost(Exception):
    """A worker of a session is gone, or does not answer."""


class _Session:
    """What a worker knows of ranks that run together; touched on its event loop alone.

    Attributes
    ----------
    open : set of int
        The worker's ranks that have not ended.
    mail : dict
        What came or is waited for, by receiver, round and sender.
    under_way : set of tasks
        Exchanges of the worker's ranks.
    """

    def __init__(self, ranks: Sequence[int]) -> None:
        self.open = set(ranks)
        self.mail: defaultdict[tuple[int, int, int], asyncio.Future[Array]]
        self.mail = defaultdict(asyncio.get_running_loop().create_future)
        self.under_way: set[asyncio.Task[Any]] = set()


_sessions: dict[str, _Session] = {}  # of this worker


def run_ranks(
    client: Client, function: Callable[[Communicator, Item], Result], items: Sequence[Item], backend: Backend,
    deadline: float, lost_workers: int, look: Look,
) -> list[Result]:  # fmt: skip
    """Call `function(communicator, item)` at the same time for every item; results in their order.

    Each worker has one piece of work, whose ranks are its threads where there are more items than workers. If a worker is lost,
    all of it begins again on the workers that are there then.

    Raises
    ------
    ClusterLost
        More than `lost_workers` times a worker died, or did not answer within the deadline; or as `look`.
    Exception
        The first error of a rank.
    """
    seats: list[str] = []
    for left in reversed(range(lost_workers + 1)):
        seats = _seats(len(items), sorted(_those_there(look, len(set(seats)) or 1)))
        try:
            return _attempt(client, function, items, seats, backend, deadline, look)
        except _WorkerLost as lost:
            log.warning("cluster: %s%s", lost, "; all ranks begin again" if left else "")
    raise ClusterLost(f"cluster: {lost_workers + 1} times a worker of those that hold one graph together was lost")


def _those_there(look: Look, wanted: int) -> list[str]:
    """The workers' addresses, as soon as there are so many, or after a while one at the least."""
    began = time.monotonic()
    while True:
        found = look()
        if len(found) >= wanted or (found and time.monotonic() - began > _RETURN):
            return found
        time.sleep(_LOOK)


def _seats(ranks: int, workers: Sequence[str]) -> list[str]:
    """The worker of each rank: neighbours together, and no worker without one while another has two."""
    used = min(ranks, len(workers))
    return [workers[rank * used // ranks] for rank in range(ranks)]


def _attempt(
    client: Client, function: Callable[[Communicator, Item], Result], items: Sequence[Item], seats: Sequence[str],
    backend: Backend, deadline: float, look: Look,
) -> list[Result]:  # fmt: skip
    session = uuid4().hex
    ranks_of = {address: [rank for rank, seat in enumerate(seats) if seat == address] for address in seats}
    _tell(client, _open, [*ranks_of], deadline + _IMPORT, session=session, seats=seats)
    pieces = {
        address: client.submit(
            _run, function, session, seats, ranks, [items[rank] for rank in ranks], backend, deadline, code_version(),
            workers=[address], allow_other_workers=False, pure=False, retries=0, key=f"ranks-{ranks[0]}-{session}",
        )
        for address, ranks in ranks_of.items()
    }  # fmt: skip
    try:
        found = _await(pieces, deadline, look)
        results = {
            rank: result for address, ranks in ranks_of.items() for rank, result in zip(ranks, found[address], strict=True)
        }
        return [results[rank] for rank in range(len(items))]
    except BaseException as error:
        if client.status == "running" and not isinstance(error, ClusterLost):
            client.cancel(list(pieces.values()))
            with suppress(_WorkerLost, ClusterLost):
                _tell(client, _close, [address for address in look() if address in pieces], _CLOSE, session=session)
        raise


def _await(pieces: dict[str, Any], deadline: float, look: Look) -> dict[str, list[Any]]:
    """What the pieces return; raises the error that another did not cause, or _WorkerLost where there is none."""
    looked, waiting = time.monotonic(), dict(pieces)
    found: dict[str, list[Any] | None] = {}
    lost = float("inf")
    while waiting:
        for address, piece in [(address, piece) for address, piece in waiting.items() if piece.done()]:
            del waiting[address]
            found[address] = _result(piece, deadline)
            if found[address] is None:
                lost = min(lost, time.monotonic())
        if time.monotonic() - looked > _LOOK:
            if missing := set(pieces) - set(look()):
                raise _WorkerLost(f"worker {missing.pop()} is gone")
            looked = time.monotonic()
        if time.monotonic() - lost > deadline:  # the others, or the error that made ranks end, have had their time
            break
        time.sleep(_PAUSE)
    if lost < float("inf"):
        look()
        raise _WorkerLost("a rank lost another one")
    return {address: result for address, result in found.items() if result is not None}


def _result(piece: Any, deadline: float) -> Any:
    """What a piece returned, None where its worker is gone; raises its own error."""
    try:
        return piece.result(deadline)
    except Exception as error:
        if piece.status == "error" and not isinstance(error, KilledWorker):
            raise
        return None


def _tell(client: Client, function: Callable[..., Any], workers: list[str], deadline: float, **content: Any) -> None:
    """Call a function on these workers' event loops. Raises _WorkerLost unless all of them answer within the deadline."""

    async def tell() -> dict[str, Any]:
        told: Coroutine[Any, Any, dict[str, Any]] = client.run(function, **content, workers=workers, on_error="return")
        return await asyncio.wait_for(told, deadline)

    try:
        answers = client.sync(tell)
    except (OSError, ValueError) as error:
        raise _WorkerLost(f"a worker does not answer: {error}") from None
    for address in workers:
        if answers.get(address) is not True:
            raise _WorkerLost(f"worker {address} does not answer: {answers.get(address)}")


def _run(
    function: Callable[[Communicator, Item], Result], session: str, seats: Sequence[str], ranks: Sequence[int],
    items: Sequence[Item], backend: Backend, deadline: float, code: str,
) -> list[Result] | None:  # fmt: skip
    """Run the ranks of a worker; None if they lost others. Raises the first error that another did not cause."""
    if code_version() != code:
        raise BadConfig("cluster: a worker has other code than this run; install the same everywhere")
    worker = get_worker()

    def run(rank: int, item: Item) -> Result:
        together.set(len(ranks))
        between = BetweenWorkers(worker, session, seats, rank, deadline)
        well = False
        try:
            with _fastest(between, backend) as communicator:
                result = function(communicator, item)
            well = True
            return result
        finally:
            between.leave(well)

    with ThreadPoolExecutor(len(ranks)) as threads:
        running = [threads.submit(run, *of_rank) for of_rank in zip(ranks, items, strict=True)]
        errors = [error for error in (piece.exception() for piece in running) if error]
    for error in errors:
        if not isinstance(error, PeerLost):
            raise error
    return None if errors else [piece.result() for piece in running]


@contextmanager
def _fastest(between: BetweenWorkers, backend: Backend) -> Iterator[Communicator]:
    """What the ranks use to speak: NCCL where each has a GPU, so a worker, of its own."""
    if backend == "gpu" and len(set(between.seats)) == between.size:
        with between_gpus(between, between.seats) as communicator:
            yield communicator
    else:
        yield between


async def _open(session: str, seats: Sequence[str], dask_worker: Worker) -> bool:
    """Make ready for mail, on every worker before a rank starts on any."""
    _sessions[session] = _Session([rank for rank, seat in enumerate(seats) if seat == dask_worker.contact_address])
    dask_worker.handlers |= {MAIL: _take, ALIVE: _is_open}
    return True


async def _close(session: str) -> bool:
    """End what the worker's ranks are about in this session."""
    if session in _sessions:
        for task in _sessions.pop(session).under_way:
            task.cancel()
    return True


async def _leave(session: str, rank: int) -> None:
    if session in _sessions:
        _sessions[session].open.discard(rank)
        if not _sessions[session].open:
            del _sessions[session]


async def _take(session: str, rank: int, turn: int, sender: int, part: Array) -> None:
    await _put(session, rank, turn, sender, part)


async def _put(session: str, rank: int, turn: int, sender: int, array: Array) -> bool:
    """Put an array into a rank's mail; whether the rank is still there."""
    found = await _is_open(session, rank)
    if found:
        _sessions[session].mail[rank, turn, sender].set_result(array)
    return found


async def _is_open(session: str, rank: int) -> bool:
    return session in _sessions and rank in _sessions[session].open


class BetweenWorkers(OverExchange):
    """One rank's end, on its worker. Arrays of a GPU go through this machine's memory.

    Parameters
    ----------
    worker : Worker
    session : str
        Open on all workers.
    seats : sequence of str
        The workers' addresses in rank order.
    rank : int
    deadline : float
        Seconds within which a worker has to answer, whatever its ranks compute; one that does not is lost.
    """

    def __init__(self, worker: Worker, session: str, seats: Sequence[str], rank: int, deadline: float) -> None:
        self.rank, self.size = rank, len(seats)
        self._worker, self._session, self.seats, self._deadline = worker, session, seats, deadline
        self._turn = 0
        self._lines: dict[int, Comm] = {}  # to ranks elsewhere; messages go one way

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._turn += 1
        received = self._on_loop(self._exchange([np.ascontiguousarray(to_host(part)) for part in parts]))
        return [np.array(part, like=parts[0]) for part in received]

    def require_all(self) -> None:
        """Raise PeerLost unless all ranks are still at it."""
        self._on_loop(self._ask_all())

    def leave(self, well: bool) -> None:
        """Take part in nothing any more: whoever waits for this rank is told. `well` says that no message is half-way."""
        with suppress(PeerLost):  # it is over anyway
            self._on_loop(_leave(self._session, self.rank))
        self._worker.loop.add_callback(self._hang_up, well)

    def _hang_up(self, well: bool) -> None:
        for rank, line in self._lines.items():
            if not well:
                line.abort()
            self._worker.rpc.reuse(self.seats[rank], line)

    def _on_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            return asyncio.run_coroutine_threadsafe(self._noted(work), self._worker.loop.asyncio_loop).result()  # type: ignore[attr-defined]
        except (OSError, CancelledError, RuntimeError) as error:  # connection, deadline, session or worker: one is at its end
            raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None

    async def _noted(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Do it, but for as long as the session is open."""
        session = _sessions.get(self._session)
        task = asyncio.current_task()
        if session is None or task is None:
            work.close()
            raise PeerLost(f"rank {self.rank}: it is over")
        session.under_way.add(task)
        try:
            return await work
        finally:
            session.under_way.discard(task)

    async def _exchange(self, parts: Sequence[Array]) -> list[Array]:
        others = [rank for rank in range(self.size) if rank != self.rank]
        await asyncio.gather(*(self._send(rank, parts[rank]) for rank in others))
        received = dict(zip(others, await asyncio.gather(*map(self._receive, others)), strict=True))
        received[self.rank] = parts[self.rank]
        return [received[rank] for rank in range(self.size)]

    async def _send(self, rank: int, part: Array) -> None:
        if self._is_here(rank):
            self._require(rank, await _put(self._session, rank, self._turn, self.rank, part.copy()))
            return
        async with asyncio.timeout(self._deadline):
            if rank not in self._lines:
                self._lines[rank] = await self._worker.rpc.connect(self.seats[rank])
            mail = {"session": self._session, "rank": rank, "turn": self._turn, "sender": self.rank, "part": to_serialize(part)}
            await self._lines[rank].write({"op": MAIL, "reply": False, **mail})

    async def _receive(self, rank: int) -> Array:
        mail = _sessions[self._session].mail
        key = self.rank, self._turn, rank
        while not mail[key].done() and not (await asyncio.wait([mail[key]], timeout=_LOOK))[0]:
            try:
                await self._ask(rank, ALIVE)
            except PeerLost:
                if not mail[key].done():  # its last mail may have come meanwhile
                    raise
        return mail.pop(key).result()

    async def _ask_all(self) -> None:
        await asyncio.gather(*(self._ask(rank, ALIVE) for rank in range(self.size) if rank != self.rank))

    async def _ask(self, rank: int, message: str, **content: Any) -> None:
        """Raise PeerLost if the rank has ended, OSError if its worker does not answer."""
        if self._is_here(rank):
            self._require(rank, await _is_open(self._session, rank))
            return
        peer = self._worker.rpc(self.seats[rank])
        answer = getattr(peer, message)(session=self._session, rank=rank, **content)
        self._require(rank, await asyncio.wait_for(answer, self._deadline))

    def _is_here(self, rank: int) -> bool:
        return self.seats[rank] == self.seats[self.rank]

    def _require(self, rank: int, answered: bool) -> None:
        if not answered:
            raise PeerLost(f"rank {self.rank}: rank {rank} has ended")
