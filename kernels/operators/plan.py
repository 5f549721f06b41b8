"""Plans: user functions, lowered and compiled once for their code and the types of what they meet."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from kernels.arrays import is_cupy, is_cupy_array
from kernels.graph import Csr, Graph
from kernels.operators.functions.captured import arguments_of, key_of, values_of
from kernels.operators.functions.errors import UserFunctionError
from kernels.operators.functions.front_end import lower, parameters_of
from kernels.operators.functions.tree import Function, Type, type_of

UserFunction = Callable[..., Any]
VERTEX = {"row": "i", "degree": "i"}


@dataclass(frozen=True)
class Plan:
    """Compiled functions: in order, as many as the operator has; the backend's program for them."""

    functions: tuple[Function | None, ...]
    program: Any


_PLANS: dict[Hashable, Plan] = {}


def planned(
    graph: Graph, key: Hashable, given: tuple[UserFunction | None, ...], make: Callable[[list[dict[str, Any]]], Plan]
) -> tuple[Plan, list[tuple[Any, ...]]]:
    """The plan for these functions on this graph, from `make` on first use, and the captured values of each function.

    Raises:
        UserFunctionError: The functions cannot be compiled.
        TypeError: One is not a Python function, or a captured array is in another memory than the graph, or, on a GPU, a view
            with gaps.
    """
    for function in given:
        if function is not None and not isinstance(function, FunctionType):
            raise TypeError(f"{function!r} is not a Python function, and operators compile Python functions")
    values = [{} if function is None else values_of(function) for function in given]
    on_gpu, out = is_cupy(graph), graph.out
    of_graph = on_gpu, out.indices.dtype, None if out.weights is None else out.weights.dtype
    rows = graph.num_vertices
    keys = [None if function is None else key_of(function, found, rows) for function, found in zip(given, values, strict=True)]
    whole = key, of_graph, *keys
    plan = _PLANS.get(whole)
    if plan is None:
        plan = make(values)
        for compiled, found in zip(plan.functions, values, strict=True):
            for name in compiled.arrays if compiled else ():
                if is_cupy_array(found[name]) != on_gpu:
                    raise TypeError(
                        f"{name} is a {type(found[name]).__module__} array, and the graph is on a {'GPU' if on_gpu else 'CPU'}"
                    )
                if on_gpu and not found[name].flags.c_contiguous:
                    raise TypeError(f"{name} has gaps between its values, and operators on a GPU take arrays without gaps")
        _PLANS[whole] = plan
    used = zip(plan.functions, values, strict=True)
    return plan, [() if compiled is None else arguments_of(compiled, found) for compiled, found in used]


def lowered(
    function: UserFunction | None, offered: dict[str, Type], values: dict[str, Any], rows: int, without: tuple[str, ...] = ()
) -> Function | None:
    """The tree of a function that takes some of what is `offered`, but nothing of `without`."""
    if function is None:
        return None
    code = function.__code__
    for name in without:
        if name in parameters_of(function):
            raise UserFunctionError(code.co_filename, code.co_firstlineno, f"nothing provides the parameter {name}")
    return lower(function, offered, values, rows)


def weight_type(csr: Csr) -> Type:
    """Type of an arc's weight; 1 of int64 without weights."""
    return "i" if csr.weights is None else type_of(np.dtype(csr.weights.dtype))
