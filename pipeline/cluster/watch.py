"""Whether a scheduler answers and has workers, for as long as a run waits for them."""

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait

from pipeline.errors import ClusterLost

_SHARE = 1 / 3  # of the deadline: what one check adds to the silence at most


class Watch:
    """Called while a run waits: returns the workers' addresses.

    This process itself may be stopped for longer than the deadline, and go on with a request that was answered long ago. So
    time counts only as far as checks were made in it, and a request that was not answered is waited for again.

    Args:
        ask: Asks the scheduler for the addresses; an OSError says that it does not answer.
        scheduler: Its address, for messages.
        deadline: Seconds.

    Raises:
        ClusterLost: For the deadline the scheduler did not answer, or had no worker.
    """

    def __init__(self, ask: Callable[[], Future[list[str]]], scheduler: str, deadline: float) -> None:
        self._ask, self._scheduler, self._deadline = ask, scheduler, deadline
        self._awaited: Future[list[str]] | None = None
        self._silence, self._checked = 0.0, time.monotonic()

    def __call__(self) -> list[str]:
        """The workers' addresses; none if the scheduler has none, or has not answered yet."""
        workers, now = self._answer(), time.monotonic()
        self._silence += min(now - self._checked, _SHARE * self._deadline)
        self._checked = now
        if workers:
            self._silence = 0.0
        elif self._silence >= self._deadline:
            silence = "did not answer" if workers is None else "had no worker"
            raise ClusterLost(f"cluster: the scheduler {self._scheduler} {silence} for {self._deadline:g} s")
        return workers or []

    def _answer(self) -> list[str] | None:
        """The addresses of the workers that the scheduler has; None if it does not answer."""
        awaited = self._awaited = self._awaited or self._ask()
        if not wait([awaited], _SHARE * self._deadline).done:
            return None
        self._awaited = None
        try:
            return awaited.result()
        except (OSError, CancelledError):  # or the client has just closed
            return None
