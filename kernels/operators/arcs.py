"""`advance`: user functions for the arcs of a frontier's rows."""

from typing import Any

from kernels.arrays import is_cupy
from kernels.operators.cpu.orders import REDUCTIONS
from kernels.operators.frontier import Frontier
from kernels.operators.functions.errors import UserFunctionError
from kernels.operators.plan import VERTEX, Plan, UserFunction, lowered, planned, weight_type


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
    graph = frontier.graph
    if direction not in ("out", "in"):
        raise ValueError(f"advance: direction {direction!r} is neither 'out' nor 'in'")
    if collect not in (None, "first", *REDUCTIONS):
        raise ValueError(f"advance: collect {collect!r} is none of {', '.join(REDUCTIONS)}, first")
    csr = graph.out if direction == "out" else graph.into

    def make(values: list[dict[str, Any]]) -> Plan:
        first = lowered(before, VERTEX, values[0])
        own = (first.result if first else "") or "i"
        no_own = () if first and first.result else ("own",)
        offered = {"row": "i", "neighbour": "i", "weight": weight_type(csr), "arc": "i", "place": "i", "own": own}
        arc = lowered(edge, offered, values[1], no_own)
        assert arc is not None
        if (collect is not None and not arc.result) or (collect == "first" and arc.result != "b"):
            raise UserFunctionError(
                arc.file, edge.__code__.co_firstlineno, f"collect={collect!r} needs what the function returns"
            )
        total = "i" if collect in (None, "first") or arc.result == "b" else arc.result
        last = lowered(after, {**VERTEX, "total": total, "own": own}, values[2], no_own + (() if collect else ("total",)))
        return Plan((first, arc, last), _backend(graph).program(first, arc, last, collect))

    plan, captured = planned(graph, ("advance", collect), (before, edge, after), make)
    found: Frontier = _backend(graph).run_advance(frontier, csr, plan, captured)
    return found


def _backend(graph: Any) -> Any:
    if is_cupy(graph):
        from kernels.operators.gpu import arcs as on_gpu

        return on_gpu
    from kernels.operators.cpu import running_arcs as on_cpu

    return on_cpu
