"""`compute`, `filter` and `reduce` on NumPy arrays."""

from typing import Any

import numpy as np

from kernels.arrays import frozen
from kernels.library.operators.constants import CHUNK, DENSE, SPARSE
from kernels.library.operators.cpu.orders import COMBINE, folding, identity, ordered
from kernels.library.operators.cpu.running import even_cuts, items_of, over
from kernels.library.operators.cpu.vertices import computing, filtering, reducing
from kernels.library.operators.frontier import Frontier, made
from kernels.library.operators.functions.tree import Function
from kernels.library.operators.plan import Captured, Plan


def program(kind: str, function: Function, how: str) -> Any:
    """The compiled loop of an operator."""
    if kind == "compute":
        return computing(function)
    if kind == "filter":
        return filtering(function)
    return reducing(function, COMBINE[how], identity(how, _type(function)))


def run_compute(frontier: Frontier, plan: Plan, values: Captured, how: str) -> None:
    """Call the function for every row."""
    offsets, items, (captured,) = frozen(frontier.graph.out.offsets), items_of(frontier), plan.arguments(values)
    cuts = even_cuts(_count(frontier), _count(frontier))
    over(cuts, plan.functions, lambda begin, end, fault: plan.program(*items, offsets, begin, end, captured, fault))


def run_filter(frontier: Frontier, plan: Plan, values: Captured, how: str) -> Frontier:
    """The rows for which the function holds."""
    graph, rules, items, count = frontier.graph, frontier.rules, items_of(frontier), _count(frontier)
    offsets, flags, (captured,) = frozen(graph.out.offsets), np.empty(count, np.bool_), plan.arguments(values)
    cuts = even_cuts(count, count)
    sizes = over(
        cuts, plan.functions, lambda begin, end, fault: plan.program(*items, offsets, begin, end, captured, fault, flags)
    )
    if frontier.form == SPARSE:
        return made(graph, rules, items[1][flags], sum(sizes))
    return of_flags(frontier, flags, sum(sizes))


def of_flags(frontier: Frontier, flags: Any, size: int) -> Frontier:
    """A frontier of the rows whose flag is set, like another one."""
    graph, rules = frontier.graph, frontier.rules
    if size <= rules.most_rows(graph):
        return made(graph, rules, np.flatnonzero(flags).astype(graph.rows_by_id.dtype), size)
    return Frontier(graph, rules, size, flags=flags)


def run_reduce(frontier: Frontier, plan: Plan, values: Captured, how: str) -> Any:
    """Combine the function's values."""
    (function,) = plan.functions
    assert function is not None
    of_type = _type(function)
    items, (captured,) = items_of(frontier), plan.arguments(values)
    if (frontier.form == DENSE and ordered(how, of_type)) or frontier.form == SPARSE:
        items = SPARSE, frontier.rows(), items[2]
    count = len(items[1]) if items[0] == SPARSE else frontier.graph.num_vertices
    start, offsets = identity(how, of_type), frozen(frontier.graph.out.offsets)
    chunks = -(-count // CHUNK)
    parts = np.empty(chunks, start.dtype)
    cuts = even_cuts(chunks, count)
    over(cuts, plan.functions, lambda begin, end, fault: plan.program(*items, offsets, begin, end, captured, fault, parts))
    return start if chunks == 0 else parts[0] if chunks == 1 else folding(COMBINE[how])(parts, start)


def _type(function: Function) -> str:
    return "i" if function.result == "b" else function.result


def _count(frontier: Frontier) -> int:
    return frontier.size if frontier.form == SPARSE else frontier.graph.num_vertices
