"""A communicator between Dask workers, over the connections that they have anyway, so with their TLS.

A rank is a piece of work that stays on its worker. What it sends is a message to the other worker's server, which puts it into
the session's mailbox; the worker's event loop carries it while the rank computes.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from distributed import Client, KilledWorker, Worker, get_worker
from distributed.protocol.serialize import deserialize, serialize, to_serialize

from kernels.graph import Array
from kernels.sharded.communicator import Communicator, OverExchange, PeerLost
from pipeline.errors import BadConfig, ClusterLost

Item = TypeVar("Item")
Result = TypeVar("Result")
MAIL, ALIVE = "graphmill_mail", "graphmill_alive"
_LOOK = 1.0  # seconds between two looks whether those are alive who are waited for
_PAUSE = 0.01  # seconds between two looks whether a rank has ended
Mailbox = defaultdict[tuple[int, int], "asyncio.Future[Array]"]  # by round and sender

_mailboxes: dict[str, Mailbox] = {}  # by session; touched on the worker's event loop alone


def run_ranks(
    client: Client, function: Callable[[Communicator, Item], Result], items: Sequence[Item], deadline: float,
    listen: Callable[[float], float],
) -> list[Result]:  # fmt: skip
    """Call `function(communicator, item)` at the same time for every item, each on a worker of its own; results in their order.

    `listen` raises ClusterLost where the scheduler is silent for too long since the time it is given, and gives the next one.

    Raises
    ------
    BadConfig
        There are fewer workers than items.
    ClusterLost
        A worker died; whoever asked may try all of it again.
    Exception
        The first error of a rank.
    """
    addresses = sorted(client.nthreads())[: len(items)]
    if len(addresses) < len(items):
        raise BadConfig(f"cluster: {len(items)} ranks, but {len(addresses)} workers")
    session = uuid4().hex
    client.run(_open, session, workers=addresses)
    ranks = [
        client.submit(
            _run, function, session, addresses, rank, deadline, item, workers=[addresses[rank]],
            allow_other_workers=False, pure=False, retries=0, key=f"rank-{rank}-{session}",
        )
        for rank, item in enumerate(items)
    ]  # fmt: skip
    try:
        _await_ranks(ranks, listen)
        return [rank.result(deadline) for rank in ranks]
    finally:
        if client.status == "running":
            client.cancel(ranks)


def _await_ranks(ranks: Sequence[Any], listen: Callable[[float], float]) -> None:
    """Return when all ended well; raise the error that another did not cause, or ClusterLost where there is none."""
    heard = looked = time.monotonic()
    lost = float("inf")
    waiting = list(ranks)
    while waiting:
        for rank in [rank for rank in waiting if rank.done()]:
            waiting.remove(rank)
            error = rank.exception() if rank.status == "error" else None
            if error and not isinstance(error, PeerLost | KilledWorker):
                raise error
            if rank.status != "finished":
                lost = min(lost, time.monotonic())
        if time.monotonic() - lost > _LOOK:  # a rank that is gone may never end, since no other worker may have it
            break
        if time.monotonic() - looked > _LOOK:
            heard, looked = listen(heard), time.monotonic()
        time.sleep(_PAUSE)
    if lost < float("inf"):
        raise ClusterLost(f"cluster: a worker of the {len(ranks)} that held one graph together is gone")


def _run(
    function: Callable[[Communicator, Item], Result],
    session: str,
    addresses: Sequence[str],
    rank: int,
    deadline: float,
    item: Item,
) -> Result:
    communicator = BetweenWorkers(session, addresses, rank, deadline)
    try:
        return function(communicator, item)
    finally:
        communicator.leave()


async def _open(session: str, dask_worker: Worker) -> None:
    """Make ready for mail, on every worker before a rank starts on any."""
    _mailboxes[session] = defaultdict(asyncio.get_running_loop().create_future)
    dask_worker.handlers |= {MAIL: _take, ALIVE: _is_open}


async def _close(session: str) -> None:
    _mailboxes.pop(session, None)


async def _take(session: str, turn: int, sender: int, header: dict[str, Any], frames: list[Any]) -> bool:
    if session in _mailboxes:
        _mailboxes[session][turn, sender].set_result(deserialize(header, frames))
    return session in _mailboxes


async def _is_open(session: str) -> bool:
    return session in _mailboxes


class BetweenWorkers(OverExchange):
    """One rank's end, on its worker.

    Parameters
    ----------
    session : str
        Open on all workers; it is closed where its rank has ended.
    addresses : sequence of str
        The workers in rank order.
    deadline : float
        Seconds within which a worker has to answer, whatever its rank computes; one that does not is lost.
    """

    def __init__(self, session: str, addresses: Sequence[str], rank: int, deadline: float) -> None:
        self.rank, self.size = rank, len(addresses)
        self._session, self._addresses, self._deadline = session, addresses, deadline
        self._turn = 0
        self._worker = get_worker()

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._turn += 1
        try:
            received: list[Array] = self._on_loop(self._exchange(parts))
            return received
        except OSError as error:  # a connection broke, or the deadline is over
            raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None

    def leave(self) -> None:
        """Take part in nothing any more: whoever waits for this rank is told."""
        self._on_loop(_close(self._session))

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._worker.loop.asyncio_loop).result()  # type: ignore[attr-defined]

    async def _exchange(self, parts: Sequence[Array]) -> list[Array]:
        others = [rank for rank in range(self.size) if rank != self.rank]
        await asyncio.gather(*(self._send(rank, parts[rank]) for rank in others))
        received = dict(zip(others, await asyncio.gather(*map(self._receive, others)), strict=True))
        received[self.rank] = parts[self.rank]
        return [np.array(received[rank]) for rank in range(self.size)]

    async def _send(self, rank: int, part: Array) -> None:
        header, frames = serialize(np.ascontiguousarray(part))
        mail = {"turn": self._turn, "sender": self.rank, "header": header}
        await self._ask(rank, MAIL, **mail, frames=[to_serialize(bytes(frame)) for frame in frames])

    async def _receive(self, rank: int) -> Array:
        mailbox = _mailboxes[self._session]
        key = self._turn, rank
        while not (await asyncio.wait([mailbox[key]], timeout=_LOOK))[0]:
            try:
                await self._ask(rank, ALIVE)
            except PeerLost:
                if not mailbox[key].done():  # its last mail may have come meanwhile
                    raise
        return mailbox.pop(key).result()

    async def _ask(self, rank: int, message: str, **content: Any) -> None:
        """Raise PeerLost if the rank has ended, OSError if its worker does not answer."""
        peer = self._worker.rpc(self._addresses[rank])
        answer: Awaitable[bool] = getattr(peer, message)(session=self._session, **content)
        if not await asyncio.wait_for(answer, self._deadline):
            raise PeerLost(f"rank {self.rank}: rank {rank} has ended")
