"""A communicator between Dask workers over their own connections, and so with their TLS.

A rank sends a message to the peer's worker, which puts it into the mailbox of the session (session.py). The worker's event loop
transfers messages while the rank computes, and also after the rank has ended without an error: the session stays open until all
ranks have ended, and a worker says up to which exchange its rank took part.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError
from math import inf
from typing import Any, TypeVar

import numpy as np
from distributed import Status
from distributed.comm.core import Comm
from distributed.protocol.serialize import to_serialize

from kernels.distributed.communicator import OverExchange, PeerLost, own_copies
from kernels.gpu.loader import to_host
from kernels.graph import Array
from pipeline.cluster.dask import session as sessions
from pipeline.cluster.dask.worker_state import STATE, Session

Result = TypeVar("Result")
_COPIED = 1 << 20  # bytes up to which copying a message is faster than waiting for its confirmation
POLL = 0.5  # seconds between two checks whether the awaited ranks are alive


class BetweenWorkers(OverExchange):
    """The communicator of one rank, on its worker. Arrays on a GPU are sent through host memory.

    Args:
        session: Open on all workers.
        deadline: Seconds within which a worker has to answer even while its ranks compute; otherwise it counts as lost.

    Raises:
        RuntimeError: The worker failed in a way that no lost peer explains.
    """

    def __init__(self, session: Session, rank: int, deadline: float) -> None:
        self.rank, self.size = rank, len(session.placement)
        self.placement, self._session, self._worker, self._deadline = session.placement, session, session.worker, deadline
        self._turn = 0  # the number of the last exchange
        self._connections: dict[int, Comm] = {}  # to ranks on other workers; only this rank uses them

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._turn += 1
        received = self._transfer([np.ascontiguousarray(to_host(part)) for part in parts])
        return own_copies(received, parts[0], buffers)

    def _transfer(self, parts: Sequence[Array]) -> list[Array]:
        """Send contiguous arrays of NumPy; return those that arrived, in rank order."""
        return self._on_loop(self._exchange(parts))

    def require_all(self) -> None:
        """Raise PeerLost unless all ranks are still running."""
        self._on_loop(self._ask_all(inf))

    def require_open(self) -> None:
        """Raise PeerLost if the session is closed, for example because the run was killed."""
        if self._session.name not in STATE.sessions:
            raise PeerLost(f"rank {self.rank}: the session is closed")

    def require_turn(self) -> None:
        """Raise PeerLost unless all ranks are still running, or ended after the exchange that this rank is in."""
        self._on_loop(self._ask_all(self._turn))

    def leave(self, well: bool) -> None:
        """End this rank: ranks that wait for it get PeerLost. `well`: no message is half sent, so connections can be reused."""
        self._worker.loop.add_callback(self._release, well)

    def _release(self, well: bool) -> None:
        self._session.until[self.rank] = self._turn if well else 0
        for rank, connection in self._connections.items():
            if not well:
                connection.abort()
            self._worker.rpc.reuse(self.placement[rank], connection)

    def _on_loop(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            return asyncio.run_coroutine_threadsafe(self._noted(work), self._worker.loop.asyncio_loop).result()  # type: ignore[attr-defined]
        except (OSError, CancelledError) as error:  # a lost connection, a passed deadline, a closed session
            raise PeerLost(f"rank {self.rank}: another rank is gone: {error}") from None
        except RuntimeError as error:
            if self._worker.status == Status.running:
                raise
            raise PeerLost(f"rank {self.rank}: its worker is closing: {error}") from None

    async def _noted(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Await `work`, which is cancelled when the session closes."""
        task = asyncio.current_task()
        assert task
        try:
            self.require_open()
        except PeerLost:
            work.close()
            raise
        self._session.under_way.add(task)
        try:
            return await work
        finally:
            self._session.under_way.discard(task)

    async def _exchange(self, parts: Sequence[Array]) -> list[Array]:
        others = [rank for rank in range(self.size) if rank != self.rank]
        work: asyncio.Future[list[Any]] = asyncio.gather(
            *(self._send(rank, parts[rank]) for rank in others), *map(self._receive, others)
        )
        work.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # retrieved, or asyncio would log it
        try:
            while not (await asyncio.wait([work], timeout=POLL))[0]:
                await self._ask_all(self._turn)
        finally:
            work.cancel()
        received = dict(zip(others, work.result()[len(others) :], strict=True))
        received[self.rank] = parts[self.rank]
        return [received[rank] for rank in range(self.size)]

    async def _send(self, rank: int, part: Array) -> None:
        """Return when the caller may change the array: a large message is in the rank's mailbox, a small one is copied."""
        content: dict[str, Any] = {"session": self._session.name, "rank": rank, "turn": self._turn, "sender": self.rank}
        if self._is_here(rank):
            self._require(rank, await sessions.put(**content, part=part.copy()))
            return
        if rank not in self._connections:
            self._connections[rank] = await self._worker.rpc.connect(self.placement[rank])
        confirm = part.nbytes > _COPIED
        message = {"op": sessions.PUT, "reply": confirm, "part": to_serialize(part if confirm else part.copy()), **content}
        await self._connections[rank].write(message)  # which keeps references to the array until it has left
        if confirm:
            self._require(rank, await self._connections[rank].read())

    async def _receive(self, rank: int) -> Array:
        key = self.rank, self._turn, rank
        received = await self._session.mailbox[key]
        del self._session.mailbox[key]
        return received

    async def _ask_all(self, turn: float) -> None:
        await asyncio.gather(*(self._ask(rank, turn) for rank in range(self.size) if rank != self.rank))

    async def _ask(self, rank: int, turn: float) -> None:
        """Raise PeerLost if the rank has ended before exchange number `turn`, OSError if its worker does not answer."""
        content: dict[str, Any] = {"session": self._session.name, "rank": rank, "turn": turn}
        if self._is_here(rank):
            self._require(rank, await sessions.is_open(**content))
            return
        answer = getattr(self._worker.rpc(self.placement[rank]), sessions.IS_OPEN)(**content)
        self._require(rank, await asyncio.wait_for(answer, self._deadline))

    def _is_here(self, rank: int) -> bool:
        return self.placement[rank] == self.placement[self.rank]

    def _require(self, rank: int, answered: bool) -> None:
        if not answered:
            raise PeerLost(f"rank {self.rank}: rank {rank} has ended")
