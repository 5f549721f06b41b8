"""The progress of steps: steps report it here, and `pipeline.progress.shown` shows it.

Elsewhere, such as on a worker of a cluster, it is not kept.
"""

from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from itertools import accumulate
from typing import TypeVar

from kernels.records import dataclass

Item = TypeVar("Item")


@dataclass(eq=False)
class Progress:
    """How far a step is."""

    name: str  # of the step
    phase: str = ""  # what the step does now
    done: float = 0
    total: float | None = None
    unit: str = ""  # of `done` and `total`: `bytes`, or a noun in the plural; empty while nothing is counted


CURRENT: ContextVar[Progress | None] = ContextVar("progress", default=None)  # of the step that this thread runs


def phase(name: str) -> None:
    """Report what the step does from now on."""
    if progress := CURRENT.get():
        progress.phase = name


def reached(done: float, total: float | None, unit: str) -> None:
    """Report how much is done, and of what total, if that is known."""
    if progress := CURRENT.get():
        progress.done, progress.total, progress.unit = done, total, unit


def advance(units: int = 1) -> None:
    """Report that some more units of `counted` are done."""
    if (progress := CURRENT.get()) and progress.total:
        progress.done += units


def counted(results: Iterable[Item], sizes: list[int], unit: str) -> Iterator[Item]:
    """The results of tasks, each reported as it arrives; `sizes` has the units of each task."""
    total = sum(sizes)
    if total < 2:
        return iter(results)
    reached(0, total, unit)

    def arrived(result: Item, done: int) -> Item:
        reached(done, total, unit)
        return result

    return map(arrived, results, accumulate(sizes))
