"""A communicator between Dask workers over their own connections, and so with their TLS.

A rank sends a message to the peer's worker, which puts it into the mailbox of the session (mailbox.py). The worker's event loop
transfers messages while the rank computes.
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
from pipeline.cluster.dask import mailbox
from pipeline.cluster.dask.worker_state import STATE

Result = TypeVar("Result")
_POLL = 0.5  # seconds between two checks whether the awaited ranks are alive


class BetweenWorkers(OverExchange):
    """The communicator of one rank, on its worker. Arrays on a GPU are sent through host memory.

    Parameters
    ----------
    worker : Worker
    session : str
        Open on all workers.
    placement : sequence of str
        The workers' addresses in rank order.
    rank : int
    deadline : float
        Seconds within which a worker has to answer even while its ranks compute; otherwise it counts as lost.
    """

    def __init__(self, worker: Worker, session: str, placement: Sequence[str], rank: int, deadline: float) -> None:
        self.rank, self.size = rank, len(placement)
        self._worker, self._session, self.placement, self._deadline = worker, session, placement, deadline
        self._turn = 0
        self._connections: dict[int, Comm] = {}  # to ranks on other workers; each is used in one direction

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._turn += 1
        received = self._on_loop(self._exchange([np.ascontiguousarray(to_host(part)) for part in parts]))
        return own_copies(received, parts[0], buffers)

    def require_all(self) -> None:
        """Raise PeerLost unless all ranks are still running."""
        self._on_loop(self._ask_all())

    def leave(self, well: bool) -> None:
        """End this rank: ranks that wait for it get PeerLost. `well`: no message is half sent, so connections can be reused."""
        with suppress(PeerLost):  # the session is over already
            self._on_loop(mailbox.leave(self._session, self.rank))
        self._worker.loop.add_callback(self._release, well)

    def _release(self, well: bool) -> None:
        for rank, connection in self._connections.items():
            if not well:
                connection.abort()
            self._worker.rpc.reuse(self.placement[rank], connection)

    def _on_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            return asyncio.run_coroutine_threadsafe(self._noted(work), self._worker.loop.asyncio_loop).result()  # type: ignore[attr-defined]
        except (OSError, CancelledError, RuntimeError) as error:  # a lost connection, a passed deadline, a closed session
            raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None

    async def _noted(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Await `work`, which is cancelled when the session closes."""
        session = STATE.sessions.get(self._session)
        task = asyncio.current_task()
        if session is None or task is None:
            work.close()
            raise PeerLost(f"rank {self.rank}: the session is closed")
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
            self._require(rank, await mailbox.put(self._session, rank, self._turn, self.rank, part.copy()))
            return
        async with asyncio.timeout(self._deadline):
            if rank not in self._connections:
                self._connections[rank] = await self._worker.rpc.connect(self.placement[rank])
            content = {
                "session": self._session,
                "rank": rank,
                "turn": self._turn,
                "sender": self.rank,
                "part": to_serialize(part),
            }
            await self._connections[rank].write({"op": mailbox.PUT, "reply": False, **content})

    async def _receive(self, rank: int) -> Array:
        box = STATE.sessions[self._session].mailbox
        key = self.rank, self._turn, rank
        while not box[key].done() and not (await asyncio.wait([box[key]], timeout=_POLL))[0]:
            try:
                await self._ask(rank, mailbox.IS_OPEN)
            except PeerLost:
                if not box[key].done():  # its last message may have arrived meanwhile
                    raise
        return box.pop(key).result()

    async def _ask_all(self) -> None:
        await asyncio.gather(*(self._ask(rank, mailbox.IS_OPEN) for rank in range(self.size) if rank != self.rank))

    async def _ask(self, rank: int, message: str, **content: Any) -> None:
        """Raise PeerLost if the rank has ended, OSError if its worker does not answer."""
        if self._is_here(rank):
            self._require(rank, await mailbox.is_open(self._session, rank))
            return
        peer = self._worker.rpc(self.placement[rank])
        answer = getattr(peer, message)(session=self._session, rank=rank, **content)
        self._require(rank, await asyncio.wait_for(answer, self._deadline))

    def _is_here(self, rank: int) -> bool:
        return self.placement[rank] == self.placement[self.rank]

    def _require(self, rank: int, answered: bool) -> None:
        if not answered:
            raise PeerLost(f"rank {self.rank}: rank {rank} has ended")
