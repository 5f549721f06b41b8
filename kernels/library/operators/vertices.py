"""`compute`, `filter` and `reduce`: a user function for every row of a frontier."""

from typing import Any

from kernels.arrays import is_cupy
from kernels.library.operators.cpu.orders import REDUCTIONS
from kernels.library.operators.frontier import Frontier
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.plan import VERTEX, Made, UserFunction, lowered, planned


def compute(frontier: Frontier, operation: UserFunction) -> None:
    """Call `operation(row, degree)` for every row of the frontier, in any order.

    `operation` names the parameters that it wants. On a GPU the call returns before the work is done, and a failure may be raised
    by a later operator, at the latest by the next one that returns something.

    Raises:
        UserFunctionError: The function is not supported, or failed.
    """
    _run("compute", frontier, operation)


def filter(frontier: Frontier, condition: UserFunction) -> Frontier:
    """The rows of the frontier for which `condition(row, degree)` is true."""
    kept: Frontier = _run("filter", frontier, condition)
    return kept


def reduce(frontier: Frontier, value: UserFunction, how: str = "sum") -> Any:
    """Combine `value(row, degree)` over the rows of the frontier.

    Args:
        how ({"sum", "product", "min", "max"}): Integers wrap around at 64 bits. Float sums and products have a fixed order
            (docs/abstractions.md), which depends on the set of rows only.
        int or float: A NumPy scalar; of no rows 0, 1, the largest or the smallest value of the type.
    """
    if how not in REDUCTIONS:
        raise ValueError(f"reduce: {how!r} is not one of {', '.join(REDUCTIONS)}")
    return _run("reduce", frontier, value, how)


def _run(kind: str, frontier: Frontier, function: UserFunction, how: str = "") -> Any:
    graph = frontier.graph

    def make(values: list[dict[str, Any]]) -> Made:
        user = lowered(function, VERTEX, values[0], graph.num_vertices)
        assert user is not None
        if kind == "filter" and user.result != "b":
            raise UserFunctionError(user.file, function.__code__.co_firstlineno, "a condition must return True or False")
        if kind == "reduce" and not user.result:
            raise UserFunctionError(user.file, function.__code__.co_firstlineno, "the function must return the value to reduce")
        backend = _backend(graph)
        return (user,), backend.program(kind, user, how), getattr(backend, f"run_{kind}")

    plan, captured = planned(graph, (kind, how), (function,), make)
    return plan.run(frontier, plan, captured, how)


def _backend(graph: Any) -> Any:
    if is_cupy(graph):
        from kernels.library.operators.gpu import vertices as on_gpu

        return on_gpu
    from kernels.library.operators.cpu import running_vertices as on_cpu

    return on_cpu
