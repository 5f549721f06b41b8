"""`advance` on NumPy arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.parallel import WORTH_A_THREAD, cores
from kernels.cpu.spare import Spare
from kernels.graph import Array, Csr, Graph
from kernels.library.operators.constants import ALL, SPARSE
from kernels.library.operators.cpu.arcs import advancing, repeating
from kernels.library.operators.cpu.orders import DTYPES, identity, ordered
from kernels.library.operators.cpu.running import NOTHING, cuts_by_arcs, items_of, over
from kernels.library.operators.cpu.running_vertices import of_flags
from kernels.library.operators.frontier import Frontier, made
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.plan import Captured, Plan
from kernels.library.operators.segments import segmented

_NO_WEIGHTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class ArcLoops:
    """The compiled loop, its rounds if it repeats; types of what rows keep between segments; whether rows enter a frontier."""

    loop: Any
    rounds: Any
    own: np.dtype[Any]
    total: np.dtype[Any]
    finds: bool
    divisible: bool


def program(before: Function | None, edge: Function, after: Function | None, collect: str | None, repeats: str) -> ArcLoops:
    """Compile an advance."""
    of_type = "i" if collect == "first" or edge.result in ("", "b") else edge.result
    start = None if collect is None else identity(collect, of_type)
    own = DTYPES[(before.result if before else "") or "i"]
    finds = (collect is None and edge.result == "b") or (after is not None and after.result == "b")
    divisible = collect != "first" and not ordered(collect or "", of_type) and not {"arc", "place"} & {*edge.parameters}
    total = DTYPES["i"] if start is None else start.dtype
    loop = advancing(before, edge, after, collect, start)
    return ArcLoops(loop, repeating(loop) if repeats else None, own, total, finds, divisible)


def run_advance(frontier: Frontier, csr: Csr, plan: Plan, values: Captured, turn_round: int = 1) -> Frontier:
    """Visit the arcs, on all cores if there are many."""
    graph, items, made_of = frontier.graph, items_of(frontier), plan.program
    cuts = cuts_by_arcs(frontier, csr)
    count = frontier.rules.ranges(graph) if frontier.form == ALL and made_of.divisible else 1
    divided = count > 1
    parts = segmented(graph, csr, count) if divided else [csr]
    kept = tuple(np.empty(graph.num_vertices if divided else 0, of) for of in (made_of.own, made_of.total))
    serial, captured = len(cuts) == 2, tuple(plan.arguments(values))
    entered = _empty(graph, made_of.finds, serial)
    for number, part in enumerate(parts):
        arcs = unsigned(part.offsets), unsigned(part.indices), _NO_WEIGHTS if part.weights is None else frozen(part.weights)
        turn = number, len(parts), turn_round

        def work(begin: int, end: int, fault: Array, arcs: Any = arcs, turn: Any = turn) -> None:
            made_of.loop(items, arcs, frozen(csr.offsets), captured, kept, turn, entered, begin, end, fault)

        over(cuts, plan.functions, work)
    flags, queue, length = entered
    if not made_of.finds:
        return Frontier(graph, frontier.rules, 0, listed=queue[:0])
    if not serial:
        return of_flags(frontier, flags, int(np.count_nonzero(flags)))
    listed = queue[: int(length[0])].copy()
    flags[listed] = False
    _spare(graph).release((flags, queue))
    return made(graph, frontier.rules, listed, len(listed))


def run_repeat(frontier: Frontier, csr: Csr, plan: Plan, values: Captured, most: int, most_work: int) -> tuple[int, Frontier]:
    """Advance until nothing is found or there is more work; the number of rounds, or -1 if there are more than `most`."""
    rounds, listed = 0, np.empty(frontier.graph.num_vertices, frontier.graph.rows_by_id.dtype)
    while frontier.size and rounds < most:
        if frontier.form == SPARSE and frontier.rules.sparse_arcs >= 1:
            frontier, rounds = _small_rounds(frontier, csr, plan, values, (listed, rounds, most, most_work))
        if frontier.size + len(csr.indices) > most_work and _work(frontier, csr) > most_work:
            return rounds, frontier
        if frontier.size and rounds < most:
            rounds += 1
            frontier = run_advance(frontier, csr, plan, values, rounds)
    return -1 if frontier.size else rounds, frontier


def _work(frontier: Frontier, csr: Csr) -> int:
    """Number of rows and their arcs."""
    rows = frontier.rows()
    return frontier.size + int((csr.offsets[rows + 1] - csr.offsets[rows]).sum())


def _small_rounds(
    frontier: Frontier, csr: Csr, plan: Plan, values: Captured, progress: tuple[Array, int, int, int]
) -> tuple[Frontier, int]:
    """Rounds while they are too small for several threads: the frontier then, and the number of rounds so far."""
    graph, made_of, (listed, done, most, most_work) = frontier.graph, plan.program, progress
    entered, size, captured = _empty(graph, True, True), frontier.size, tuple(plan.arguments(values))
    listed[:size] = frontier.listed
    arcs = unsigned(csr.offsets), unsigned(csr.indices), _NO_WEIGHTS if csr.weights is None else frozen(csr.weights)
    kept = np.empty(0, made_of.own), np.empty(0, made_of.total)
    limits = done, most, frontier.rules.most_rows(graph), min(most_work, WORTH_A_THREAD if cores() > 1 else 1 << 62)

    def work(begin: int, end: int, fault: Array) -> tuple[int, int]:
        rounds: tuple[int, int] = made_of.rounds(listed, size, arcs, frozen(csr.offsets), captured, kept, entered, limits, fault)
        return rounds

    ((done, left),) = over([0, size], plan.functions, work)
    _spare(graph).release(entered[:2])
    return made(graph, frontier.rules, listed[:left].copy(), left), done


def _empty(graph: Graph, finds: bool, serial: bool) -> tuple[Array, Array, Array]:
    """Flags, none of which is set, a queue, and its length; for one thread they are spare ones, and several have no queue."""
    length = np.zeros(1, np.int64)
    if finds and serial:
        return *_spare(graph).take(), length
    return (np.zeros(graph.num_vertices, np.bool_) if finds else NOTHING), np.empty(0, graph.rows_by_id.dtype), length


def _spare(graph: Graph) -> Spare[tuple[Array, Array]]:
    """Flags, none of which is set, and a queue; after an exception they are not given back."""
    size, row = graph.num_vertices, graph.rows_by_id.dtype
    return graph.derived.get(_spare, lambda: Spare(lambda: (np.zeros(size, np.bool_), np.empty(size, row))))
