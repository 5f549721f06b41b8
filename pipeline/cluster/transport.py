"""A communicator between Dask workers, over the connections that they have anyway, so with their TLS.

What a rank sends is a message to the other worker's server, which puts it into the session's mail (mail.py); the worker's event
loop carries it while the rank computes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from distributed import Worker
from distributed.comm.core import Comm
from distributed.protocol.serialize import to_serialize

from kernels.distributed.communicator import OverExchange, PeerLost, own_copies
from kernels.gpu.loader import to_host
from kernels.graph import Array
from pipeline.cluster import mailbox as mail

Result = TypeVar("Result")
_LOOK = 0.5  # seconds between two looks whether those are alive who are waited for


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

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._turn += 1
        received = self._on_loop(self._exchange([np.ascontiguousarray(to_host(part)) for part in parts]))
        return own_copies(received, parts[0], buffers)

    def require_all(self) -> None:
        """Raise PeerLost unless all ranks are still at it."""
        self._on_loop(self._ask_all())

    def leave(self, well: bool) -> None:
        """Take part in nothing any more: whoever waits for this rank is told. `well` says that no message is half-way."""
        with suppress(PeerLost):  # it is over anyway
            self._on_loop(mail.leave(self._session, self.rank))
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
        session = mail.sessions.get(self._session)
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
            self._require(rank, await mail.put(self._session, rank, self._turn, self.rank, part.copy()))
            return
        async with asyncio.timeout(self._deadline):
            if rank not in self._lines:
                self._lines[rank] = await self._worker.rpc.connect(self.seats[rank])
            letter = {"session": self._session, "rank": rank, "turn": self._turn, "sender": self.rank, "part": to_serialize(part)}
            await self._lines[rank].write({"op": mail.TAKE, "reply": False, **letter})

    async def _receive(self, rank: int) -> Array:
        of_session = mail.sessions[self._session].mail
        key = self.rank, self._turn, rank
        while not of_session[key].done() and not (await asyncio.wait([of_session[key]], timeout=_LOOK))[0]:
            try:
                await self._ask(rank, mail.IS_OPEN)
            except PeerLost:
                if not of_session[key].done():  # its last mail may have come meanwhile
                    raise
        return of_session.pop(key).result()

    async def _ask_all(self) -> None:
        await asyncio.gather(*(self._ask(rank, mail.IS_OPEN) for rank in range(self.size) if rank != self.rank))

    async def _ask(self, rank: int, message: str, **content: Any) -> None:
        """Raise PeerLost if the rank has ended, OSError if its worker does not answer."""
        if self._is_here(rank):
            self._require(rank, await mail.is_open(self._session, rank))
            return
        peer = self._worker.rpc(self.seats[rank])
        answer = getattr(peer, message)(session=self._session, rank=rank, **content)
        self._require(rank, await asyncio.wait_for(answer, self._deadline))

    def _is_here(self, rank: int) -> bool:
        return self.seats[rank] == self.seats[self.rank]

    def _require(self, rank: int, answered: bool) -> None:
        if not answered:
            raise PeerLost(f"rank {self.rank}: rank {rank} has ended")
