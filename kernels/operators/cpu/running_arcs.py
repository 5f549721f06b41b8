"""`advance` on NumPy arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.graph import Array, Csr, Graph
from kernels.operators.constants import ALL
from kernels.operators.cpu.arcs import advancing
from kernels.operators.cpu.orders import DTYPES, identity, ordered
from kernels.operators.cpu.running import NOTHING, cuts_by_arcs, items_of, over
from kernels.operators.cpu.running_vertices import of_flags
from kernels.operators.frontier import Frontier, made
from kernels.operators.functions.tree import Function
from kernels.operators.plan import Plan
from kernels.operators.segments import segmented

_NO_WEIGHTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class Program:
    """The compiled loop, the types of what rows keep between segments, and whether rows enter a new frontier."""

    loop: Any
    own: np.dtype[Any]
    total: np.dtype[Any]
    finds: bool
    divisible: bool


def program(before: Function | None, edge: Function, after: Function | None, collect: str | None, repeats: bool) -> Program:
    """Compile an advance."""
    of_type = "i" if collect == "first" or edge.result in ("", "b") else edge.result
    start = None if collect is None else identity(collect, of_type)
    own = DTYPES[(before.result if before else "") or "i"]
    finds = (collect is None and edge.result == "b") or (after is not None and after.result == "b")
    divisible = collect != "first" and not ordered(collect or "", of_type) and not {"arc", "place"} & {*edge.parameters}
    total = DTYPES["i"] if start is None else start.dtype
    return Program(advancing(before, edge, after, collect, start), own, total, finds, divisible)


def run_advance(frontier: Frontier, csr: Csr, plan: Plan, captured: list[tuple[Any, ...]], turn_round: int = 1) -> Frontier:
    """Visit the arcs, on all cores if there are many."""
    graph, items, made_of = frontier.graph, items_of(frontier), plan.program
    cuts, _ = cuts_by_arcs(frontier, csr)
    divided = frontier.form == ALL and made_of.divisible and frontier.rules.segments > 1
    parts = segmented(graph, csr, frontier.rules.segments) if divided else [csr]
    kept = tuple(np.empty(graph.num_vertices if divided else 0, of) for of in (made_of.own, made_of.total))
    serial = len(cuts) == 2
    found = _empty(graph, made_of.finds, serial)
    for number, part in enumerate(parts):
        arcs = unsigned(part.offsets), unsigned(part.indices), _NO_WEIGHTS if part.weights is None else frozen(part.weights)
        turn = number, len(parts), turn_round

        def work(begin: int, end: int, fault: Array, arcs: Any = arcs, turn: Any = turn) -> None:
            made_of.loop(items, arcs, frozen(csr.offsets), tuple(captured), kept, turn, found, begin, end, fault)

        try:
            over(cuts, plan.functions, work)
        except BaseException:
            graph.derived.discard(_scratch)  # its flags are set
            raise
    flags, queue, length = found
    if not made_of.finds:
        return Frontier(graph, frontier.rules, 0, listed=queue[:0])
    if not serial:
        return of_flags(frontier, flags, int(np.count_nonzero(flags)))
    listed = queue[: int(length[0])].copy()
    flags[listed] = False
    return made(graph, frontier.rules, listed, len(listed))


def run_repeat(frontier: Frontier, csr: Csr, plan: Plan, captured: list[tuple[Any, ...]], most: int) -> int:
    """Advance until nothing is found; the number of rounds, or -1 if there are more than `most`."""
    rounds = 0
    while frontier.size:
        if rounds == most:
            return -1
        rounds += 1
        frontier = run_advance(frontier, csr, plan, captured, rounds)
    return rounds


def _empty(graph: Graph, finds: bool, serial: bool) -> tuple[Array, Array, Array]:
    """Flags, queue and its length; one thread uses the graph's scratch, which has no flag set, and several have no queue."""
    if finds and serial:
        flags, queue = graph.derived.get(_scratch, lambda: _scratch(graph))
        return flags, queue, np.zeros(1, np.int64)
    empty = np.empty(0, graph.rows_by_id.dtype)
    return (np.zeros(graph.num_vertices, np.bool_) if finds else NOTHING), empty, np.zeros(1, np.int64)


def _scratch(graph: Graph) -> tuple[Array, Array]:
    return np.zeros(graph.num_vertices, np.bool_), np.empty(graph.num_vertices, graph.rows_by_id.dtype)
