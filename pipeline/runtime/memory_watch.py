"""Ends a run that is about to take all memory, with a message, before the kernel ends it without one.

What computes is stopped first: removing files takes longer than other threads and workers take to fill the last of the memory.
Page cache counts as free, because the kernel gives it up. So a stored graph that is mapped into memory does not end a run.
"""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from pipeline.addresses import ADDRESSES, address_space
from pipeline.errors import TooLarge
from pipeline.progress.shown import Shown, showing
from pipeline.runtime.memory import OF_RUN, control_groups, limit_of_run, machine, private_memory
from pipeline.runtime.suspension import suspend_threads
from pipeline.signals import braked, failing
from pipeline.units import size

_FASTEST = 4e9  # bytes per second that a run may take
_SHORTEST, _LONGEST = 0.002, 0.25  # seconds between two looks
_MARGIN = 1 / 16  # of a limit: what a run takes until it is seen, and needs to end itself
_LEAST_MARGIN, _LARGEST_MARGIN = 24 * 2**20, 2**28  # bytes
_REPORT = 5.0  # seconds that a worker has to say why it ends
# Entries of `memory.stat` that the kernel cannot give up, of versions 2 and 1 of control groups.
_KEPT = (
    ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables"),
    ("total_rss", "total_shmem"),
)


class MemoryLimit(NamedTuple):
    """A limit of memory that holds for this process."""

    bytes: int
    where: str  # what has the limit, for people
    taken: Callable[[], int]  # bytes below the limit that the kernel cannot give up

    @property
    def left(self) -> int:
        """Bytes until the run is ended."""
        margin = min(max(int(self.bytes * _MARGIN), _LEAST_MARGIN), _LARGEST_MARGIN)
        return self.bytes - margin - self.taken()


@contextmanager
def watched(steps: Callable[[], str]) -> Iterator[None]:
    """Fail the work of `pipeline.signals.apart` with TooLarge when memory runs short in the block; other work is not watched.

    Args:
        steps: Names the steps that are running, for the message.
    """
    fail = failing()
    if fail is None:
        yield
        return
    ended = Event()
    _start(lambda limit: fail(too_large(steps(), limit)), ended)
    try:
        with braked(suspend_threads):
            yield
    finally:
        ended.set()


@contextmanager
def followed() -> Iterator[Shown]:
    """Show the steps of a command in the block, and watch their memory; a run watches its own."""
    with showing(live=True) as shown, watched(shown.names):
        yield shown


def shortage(own: bool) -> "Future[MemoryLimit]":
    """Done with the limit that this worker is about to exceed, after which it computes nothing and ends.

    The run watches its own process. Limits that it has in common with its workers are seen by whoever is nearest to them.

    Args:
        own: Whether the run has started this worker, which is watched from now on. Other workers compute for others, too.
    """
    return _shortage() if own else Future()


@cache
def _shortage() -> "Future[MemoryLimit]":
    short = Future[MemoryLimit]()

    def end(limit: MemoryLimit) -> None:
        taken = limit.taken()
        suspend_threads()
        short.set_result(limit._replace(taken=lambda: taken))
        time.sleep(_REPORT)
        os._exit(1)

    _start(end, Event())
    return short


def limits() -> list[MemoryLimit]:
    """The limits that hold for this process as long as it lives: of the machine, of control groups, and of addresses."""
    of_groups = [_of_group(group.bytes, group.folder) for group in control_groups()]
    total, available = machine()
    of_machine = MemoryLimit(total, "this machine has", lambda: total - machine()[1]) if available else None
    space = address_space()
    of_space = MemoryLimit(space[0], ADDRESSES, _addresses) if space else None
    return [limit for limit in (*of_groups, of_machine, of_space) if limit]


def of_runs() -> list[MemoryLimit]:
    """The limit that the runs of this process state, which may begin or end while it is watched."""
    most = limit_of_run()
    return [MemoryLimit(most, OF_RUN, private_memory)] if most else []


def _addresses() -> int:
    space = address_space()
    return space[1] if space else 0


def _of_group(bytes_: int, folder: Path) -> MemoryLimit:
    def taken() -> int:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(sum(int(stat.get(name, 0)) for name in names) for names in _KEPT)

    return MemoryLimit(bytes_, f"control group {folder.name} allows", taken)


def _start(fail: Callable[[MemoryLimit], object], ended: Event) -> None:
    Thread(target=_watch, args=(limits(), fail, ended), name="memory", daemon=True).start()


def _watch(of: list[MemoryLimit], fail: Callable[[MemoryLimit], object], ended: Event) -> None:
    pause = _SHORTEST
    while not ended.wait(pause):
        left = {limit: limit.left for limit in (*of, *of_runs())}
        nearest = min(left, key=left.__getitem__)
        if left[nearest] <= 0:
            fail(nearest)
            return
        pause = min(max(left[nearest] / _FASTEST, _SHORTEST), _LONGEST)


def too_large(steps: str, limit: MemoryLimit) -> TooLarge:
    """The error of steps that would exceed a limit."""
    return TooLarge(
        f"{steps or 'the run'} would take more memory than the {size(limit.bytes)} that {limit.where}, "
        f"of which {size(limit.taken())} are taken; "
        "give the run more, leave stages out, or divide the graph over workers ([cluster] shards)"
    )
