"""A worker's part of a group of ranks: the scheduler opens, runs and closes it, and peers put messages into its mailbox.

On the worker's event loop. Ranks run on threads of their own, because a Dask task would wait for a slot that others may have.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from distributed import Worker
from distributed.core import error_message
from distributed.protocol.pickle import dumps, loads

from kernels.distributed.communicator import PeerLost
from kernels.distributed.threads import on_daemon_thread
from kernels.graph import Array
from pipeline.cluster.dask.worker_state import STATE, Session
from pipeline.runtime.memory_watch import shortage, too_large

# Operations that the scheduler, or another worker, calls on a worker.
RUN, CLOSE, PUT, IS_OPEN = "graphmill_run", "graphmill_close", "graphmill_put", "graphmill_is_open"


async def open_session(session: str, placement: Sequence[str], dask_worker: Worker) -> None:
    """Create the mailbox of a group; done on every worker before a rank starts on any. `placement` has each rank's worker."""
    STATE.sessions[session] = Session(session, placement, dask_worker)
    dask_worker.handlers |= {RUN: run, CLOSE: close, PUT: put, IS_OPEN: is_open}


async def run(session: str, call: bytes, step: str, own: bool) -> dict[str, Any]:
    """Call the pickled `call(session)`, which runs the worker's ranks; return `results`, an `error` or what was `lost`.

    Args:
        step: What the ranks compute, for the error if this worker is about to take too much memory.
        own: Whether the run has started the worker, which is watched only then.
    """
    opened = STATE.sessions[session]
    opened.running = asyncio.wrap_future(on_daemon_thread(lambda: _answer(call, opened)))
    short = asyncio.wrap_future(shortage(own))
    await asyncio.wait([opened.running, short], return_when=asyncio.FIRST_COMPLETED)
    if short.done():
        return _error(too_large(step, short.result()))
    answer: dict[str, Any] = await opened.running
    return answer


def _answer(call: bytes, session: Session) -> dict[str, Any]:
    try:
        return {"results": dumps(loads(call)(session))}
    except PeerLost as lost:
        return {"lost": str(lost)}
    except BaseException as error:
        return _error(error)


def _error(error: BaseException) -> dict[str, Any]:
    message: dict[str, Any] = {**error_message(error)}
    return {"error": {part: message[part] and message[part].data for part in ("exception", "traceback")}}


async def close(session: str) -> dict[str, Any]:
    """Cancel the exchanges of the worker's ranks, and wait until the ranks have ended."""
    if opened := STATE.sessions.pop(session, None):
        for exchange in opened.under_way:
            exchange.cancel()
        if opened.running:
            await asyncio.wait([opened.running])
    return {}


async def put(session: str, rank: int, turn: int, sender: int, part: Array) -> bool:
    """Put a message into a rank's mailbox; return whether the rank is still there."""
    state = await is_open(session, rank, turn)
    if state and not (box := STATE.sessions[session].mailbox[rank, turn, sender]).done():
        box.set_result(part)
    return state


async def is_open(session: str, rank: int, turn: float) -> bool:
    """Whether a rank of this worker runs, or ended without an error after it completed exchange number `turn`."""
    return session in STATE.sessions and STATE.sessions[session].until[rank] >= turn
