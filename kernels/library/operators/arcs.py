"""`advance`: user functions for the arcs of a frontier's rows."""

from typing import Any

from kernels.arrays import is_cupy
from kernels.graph import Csr
from kernels.library.operators.cpu.orders import REDUCTIONS
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.functions.tree import MOST_STEPS
from kernels.library.operators.plan import VERTEX, Captured, Made, Plan, UserFunction, lowered, planned, type_of_weights

_COLLECTS = (None, "first", *REDUCTIONS)


def advance(
    frontier: Frontier,
    edge: UserFunction,
    *,
    direction: str = "out",
    before: UserFunction | None = None,
    after: UserFunction | None = None,
    collect: str | None = None,
) -> Frontier:
    """Call functions for the rows of a frontier and their arcs, in any order; each names the parameters that it wants.

    Args:
        edge: function of (row, neighbour, weight, arc, place, own). For every arc: `arc` is its position in the direction's
            arrays, `place` its position in the row, `own` what `before` returned. Without `collect` the neighbour is in the new
            frontier if the function returns True.
        direction ({"out", "in"}): Push over out-arcs, or pull over in-arcs.
        before: function of (row, degree), optional. Before the row's arcs, once. What it returns is `own` for the other
            functions.
        after: function of (row, degree, total, own), optional. After the row's arcs, once. The row is in the new frontier if it
            returns True.
        collect ({"sum", "product", "min", "max", "first"}, optional): Combine what `edge` returns, for each row, to `total`.
            Float sums and products have a fixed order. "first" is the position of the row's first arc for which `edge` returns
            True, or -1; the arcs behind it are not visited, so `edge` must not write.
        Frontier: The rows that a function returned True for, each once.
        UserFunctionError: A function is not supported, or failed. The smallest row that fails is reported.
    """
    csr, plan, captured = _planned(frontier, edge, direction, (before, after), collect)
    entered: Frontier = plan.run(frontier, csr, plan, captured)
    return entered


def repeat_advance(
    frontier: Frontier,
    edge: UserFunction,
    *,
    direction: str = "out",
    before: UserFunction | None = None,
    after: UserFunction | None = None,
    collect: str | None = None,
) -> tuple[int, Frontier]:
    """Advance, then again from the rows found, until none is found, or a round would be more than the rules' `most_work`.

    The functions are those of `advance` and may also take `round`, which counts from 1. On a GPU all rounds are one launch, so a
    search of thousands of small frontiers does not cost a call for each.

    Args:
        int: Number of rounds.
        Frontier: The rows that the last round found: none without `most_work`.

    Raises:
        UserFunctionError: A function is not supported, or failed, or rows are still found after V + 2^20 rounds.
    """
    most, limit = frontier.graph.num_vertices + MOST_STEPS, frontier.rules.most_work
    csr, plan, captured = _planned(frontier, edge, direction, (before, after), collect, "all" if limit is None else "limited")
    rounds, left = plan.run(frontier, csr, plan, captured, most, 1 << 62 if limit is None else limit)
    if rounds < 0:
        code = edge.__code__
        raise UserFunctionError(code.co_filename, code.co_firstlineno, f"rows are still found after {most} rounds")
    return rounds, left


def _planned(
    frontier: Frontier,
    edge: UserFunction,
    direction: str,
    around: tuple[UserFunction | None, UserFunction | None],
    collect: str | None,
    repeats: str = "",
) -> tuple[Csr, Plan, Captured]:
    """The arcs of a direction, and the compiled functions with what they capture."""
    graph, (before, after) = frontier.graph, around
    if direction not in ("out", "in"):
        raise ValueError(f"advance: direction {direction!r} is neither 'out' nor 'in'")
    if collect not in _COLLECTS:
        raise ValueError(f"advance: collect {collect!r} is not one of {', '.join(REDUCTIONS)}, first")
    csr = graph.out if direction == "out" else graph.into

    def make(values: list[dict[str, Any]]) -> Made:
        rows, no_round = graph.num_vertices, () if repeats else ("round",)
        first = lowered(before, {**VERTEX, "round": "i"}, values[0], rows, no_round)
        own = (first.result if first else "") or "i"
        without = no_round if first and first.result else ("own", *no_round)
        offered = {
            "row": "i",
            "neighbour": "i",
            "weight": type_of_weights(csr),
            "arc": "i",
            "place": "i",
            "own": own,
            "round": "i",
        }
        arc = lowered(edge, offered, values[1], rows, without)
        assert arc is not None
        line = arc.file, edge.__code__.co_firstlineno
        if (collect is not None and not arc.result) or (collect == "first" and arc.result != "b"):
            raise UserFunctionError(*line, f"collect={collect!r} needs what the function returns")
        total = "i" if collect in (None, "first") or arc.result == "b" else arc.result
        of_row = {**VERTEX, "total": total, "own": own, "round": "i"}
        last = lowered(after, of_row, values[2], rows, without + (() if collect else ("total",)))
        if repeats and not (collect is None and arc.result == "b") and not (last and last.result == "b"):
            raise UserFunctionError(*line, "repeat_advance needs a function that returns whether a row is found")
        backend = _backend(graph)
        run = backend.run_repeat if repeats else backend.run_advance
        return (first, arc, last), backend.program(first, arc, last, collect, repeats), run

    plan, captured = planned(graph, ("advance", collect, repeats), (before, edge, after), make)
    return csr, plan, captured


def _backend(graph: Any) -> Any:
    if is_cupy(graph):
        from kernels.library.operators.gpu import arcs as on_gpu

        return on_gpu
    from kernels.library.operators.cpu import running_arcs as on_cpu

    return on_cpu
