"""Messages between the ranks of a group on Dask workers: each worker has a mailbox for each group. Event loop only."""

from __future__ import annotations

from collections.abc import Sequence

from distributed import Worker

from kernels.graph import Array
from pipeline.cluster.dask.worker_state import STATE, Session

PUT, IS_OPEN = "graphmill_put", "graphmill_is_open"  # operations that workers call on each other


async def open_session(session: str, placement: Sequence[str], dask_worker: Worker) -> bool:
    """Create the mailbox of a group; done on every worker before a rank starts on any. `placement` has each rank's worker."""
    STATE.sessions[session] = Session([rank for rank, address in enumerate(placement) if address == dask_worker.contact_address])
    dask_worker.handlers |= {PUT: _put, IS_OPEN: is_open}
    return True


async def close_session(session: str) -> bool:
    """Cancel the exchanges of the worker's ranks in this session."""
    if session in STATE.sessions:
        for task in STATE.sessions.pop(session).under_way:
            task.cancel()
    return True


async def leave(session: str, rank: int) -> None:
    """End a rank here; the worker's last rank ends the session."""
    if session in STATE.sessions:
        STATE.sessions[session].open.discard(rank)
        if not STATE.sessions[session].open:
            del STATE.sessions[session]


async def _put(session: str, rank: int, turn: int, sender: int, part: Array) -> None:
    await put(session, rank, turn, sender, part)


async def put(session: str, rank: int, turn: int, sender: int, array: Array) -> bool:
    """Put a message into a rank's mailbox; return whether the rank is still there."""
    found = await is_open(session, rank)
    if found:
        STATE.sessions[session].mailbox[rank, turn, sender].set_result(array)
    return found


async def is_open(session: str, rank: int) -> bool:
    """Whether a rank of this worker has not ended."""
    return session in STATE.sessions and rank in STATE.sessions[session].open
