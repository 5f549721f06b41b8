"""Scores on Dask workers: where each sits, and what happens when a worker is lost.

The ranks of a worker are one piece of work that stays there; they speak by transport.py, or by NCCL.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from uuid import uuid4

from distributed import Client, KilledWorker, get_worker

from kernels.distributed.communicator import Communicator, PeerLost
from pipeline.cluster import mailbox as mail
from pipeline.cluster.nccl_bootstrap import between_gpus
from pipeline.cluster.transport import BetweenWorkers
from pipeline.errors import BadConfig, ClusterLost
from pipeline.runtime.backend import Backend, keep_freed_memory
from pipeline.store.manifest import code_version
from pipeline.store.shards import together

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")
Look = Callable[[], list[str]]  # the workers' addresses; raises ClusterLost where the scheduler is silent for too long
_LOOK = 0.5  # seconds between two looks whether the workers are there
_PAUSE = 0.005  # seconds between two looks whether a rank has ended
_RETURN = 10.0  # seconds that a nanny has to start a worker again, before those that are left take its ranks
_IMPORT = 60.0  # seconds, on a machine that is busy, for a new worker to load this code before it answers
_CLOSE = 5.0  # seconds for telling workers that it is over


class _WorkerLost(Exception):
    """A worker of a session is gone, or does not answer."""


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
    _tell(client, mail.open_session, [*ranks_of], deadline + _IMPORT, session=session, seats=seats)
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
                _tell(client, mail.close_session, [address for address in look() if address in pieces], _CLOSE, session=session)
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
    if backend == "gpu":
        keep_freed_memory()
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
