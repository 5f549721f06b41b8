"""A communicator between threads of one process: for tests, and for one machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import TypeVar

from kernels.distributed.communicator import Communicator, OverExchange, PeerLost, own_copies
from kernels.graph import Array

Result = TypeVar("Result")
DEADLINE = 600.0  # seconds between two collectives: a rank may work so long before the others give it up


class _Thread(OverExchange):
    def __init__(self, rank: int, mail: list[Sequence[Array]], everybody: Barrier):
        self.rank, self.size = rank, len(mail)
        self._mail, self._everybody = mail, everybody

    def exchange(self, parts: Sequence[Array], room: Sequence[Array] | None = None) -> list[Array]:
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        self._mail[self.rank] = parts
        self._meet()
        received = own_copies([mail[self.rank] for mail in self._mail], parts[self.rank], room)
        self._meet()  # nobody changes what another still copies
        return received

    def _meet(self) -> None:
        try:
            self._everybody.wait()
        except BrokenBarrierError:
            raise PeerLost(f"rank {self.rank}: another rank ended, or was not there within the deadline") from None


def run_ranks(size: int, function: Callable[[Communicator], Result], deadline: float = DEADLINE) -> list[Result]:
    """Call `function` once a rank, each on its own thread; return the results in rank order.

    Parameters
    ----------
    size : int
    function : callable
        Takes its rank's communicator. An error on one rank ends all at their next collective; one that
        never comes back is waited for, since nothing can end a thread.
    deadline : float
        Seconds that a rank waits in a collective for the others.

    Raises
    ------
    PeerLost
        If a rank took part in fewer collectives than the others, within the deadline.
    Exception
        The error of the first rank, in rank order, that failed by itself.
    """
    everybody = Barrier(size, timeout=deadline)
    mail: list[Sequence[Array]] = [()] * size

    def run(rank: int) -> Result:
        try:
            return function(_Thread(rank, mail, everybody))
        except BaseException:
            everybody.abort()
            raise

    with ThreadPoolExecutor(size) as threads:
        ranks = [threads.submit(run, rank) for rank in range(size)]
        try:
            errors = [error for error in (rank.exception() for rank in ranks) if error is not None]
        except BaseException:  # this process is told to end
            everybody.abort()
            raise
    for error in sorted(errors, key=lambda error: isinstance(error, PeerLost)):
        raise error
    return [rank.result() for rank in ranks]
