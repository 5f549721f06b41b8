"""Deep graphs, whose searches have millions of rounds of a few rows each: there the CPU takes over from a GPU's kernel.

A round takes one to five microseconds on a GPU however few rows it has, in which a CPU reads dozens of rows. A kernel counts its
thin rounds, those of fewer than THIN_ROUND rows, and gives up after `most_rounds` of them, which take a small part of the time
that a CPU needs for the graph. Then the kernel of the CPU computes the same, unique answer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pkgutil import resolve_name
from threading import Lock
from typing import Any, TypeVar

from kernels.answers import Condensation
from kernels.cpu.parallel import cores
from kernels.gpu.constants import THIN_ROUND
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Csr, Graph

Answer = TypeVar("Answer")
HasDerived = TypeVar("HasDerived", Graph, Condensation)
LEAST_ROUNDS = 1 << 12
ROUND_WORK = 1 << 10  # rows and arcs of a graph for each further round
NO_LIMIT = 1 << 62


class Deep(Exception):
    """A kernel of the GPU has given up."""


@dataclass
class TakenOver:
    """How often the CPU took over."""

    times: int = 0


_TAKEN = ContextVar[TakenOver | None]("taken", default=None)
_TURN: "ContextVar[Lock | None]" = ContextVar("turn", default=None)


def most_rounds(arcs: Csr) -> int:
    """Number of thin rounds after which a kernel gives up."""
    return LEAST_ROUNDS + (len(arcs.offsets) + len(arcs.indices)) // ROUND_WORK


def require_shallow(gave_up: Any) -> None:
    """Raise Deep if a word that a kernel wrote, on either side, is not 0."""
    if int(gave_up):
        raise Deep


def require_work(graph: Graph, levels: int, searches: int) -> None:
    """Raise Deep if searches of so many levels, all at once, are faster on the CPU, which has a search on each core."""
    rows = graph.num_vertices * max(1.0, searches / cores())
    if levels > most_rounds(graph.out) and rows < THIN_ROUND * levels:
        raise Deep


@contextmanager
def holding(turn: Lock) -> Iterator[None]:
    """Hold the lock of threads that compute on one GPU, except while the CPU computes instead."""
    with turn:
        token = _TURN.set(turn)
        try:
            yield
        finally:
            _TURN.reset(token)


@contextmanager
def aside() -> Iterator[None]:
    """Leave the GPU to other threads in this context."""
    if (turn := _TURN.get()) is None:
        yield
        return
    token = _TURN.set(None)
    turn.release()
    try:
        yield
    finally:
        turn.acquire()
        _TURN.reset(token)


def unless_deep(find: Callable[..., Answer], solver: str, graph: HasDerived, *arguments: Any) -> Answer:
    """What `find(graph, *arguments)` answers on the GPU or, if it raises Deep, `solver` ("module:function") on the CPU.

    That gets a copy of the graph and of the arguments in host memory. Its module is imported only then.
    """
    try:
        return find(graph, *arguments)
    except Deep:
        host = host_copy(graph), *on_host(arguments)
    with aside():
        answer: Answer = resolve_name(solver)(*host)
    return to_device(answer)


def host_copy(graph: HasDerived) -> HasDerived:
    """The graph in host memory, copied once, for which the CPU now answers: that is counted."""
    if taken := _TAKEN.get():
        taken.times += 1
    copy: HasDerived = graph.derived.get(host_copy, lambda: on_host(graph))
    return copy


@contextmanager
def counting() -> Iterator[TakenOver]:
    """Count how often the CPU takes over from kernels that are called in this context."""
    taken = TakenOver()
    token = _TAKEN.set(taken)
    try:
        yield taken
    finally:
        _TAKEN.reset(token)
