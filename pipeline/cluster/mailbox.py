"""What a worker knows of ranks that run together, and their mail: touched on its event loop alone."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from distributed import Worker

from kernels.graph import Array

TAKE, IS_OPEN = "graphmill_take", "graphmill_is_open"  # messages between workers


class Session:
    """What a worker knows of ranks that run together.

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


sessions: dict[str, Session] = {}  # of this worker


async def open_session(session: str, seats: Sequence[str], dask_worker: Worker) -> bool:
    """Make ready for mail, on every worker before a rank starts on any."""
    sessions[session] = Session([rank for rank, seat in enumerate(seats) if seat == dask_worker.contact_address])
    dask_worker.handlers |= {TAKE: _take, IS_OPEN: is_open}
    return True


async def close_session(session: str) -> bool:
    """End what the worker's ranks are about in this session."""
    if session in sessions:
        for task in sessions.pop(session).under_way:
            task.cancel()
    return True


async def leave(session: str, rank: int) -> None:
    """End a rank here; the worker's last one ends the session."""
    if session in sessions:
        sessions[session].open.discard(rank)
        if not sessions[session].open:
            del sessions[session]


async def _take(session: str, rank: int, turn: int, sender: int, part: Array) -> None:
    await put(session, rank, turn, sender, part)


async def put(session: str, rank: int, turn: int, sender: int, array: Array) -> bool:
    """Put an array into a rank's mail; whether the rank is still there."""
    found = await is_open(session, rank)
    if found:
        sessions[session].mail[rank, turn, sender].set_result(array)
    return found


async def is_open(session: str, rank: int) -> bool:
    """Whether a rank has not ended here."""
    return session in sessions and rank in sessions[session].open
