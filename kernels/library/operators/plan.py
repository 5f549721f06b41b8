"""Plans: user functions, lowered and compiled once for their code and the types of what they meet."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from kernels.arrays import is_cupy, is_cupy_array
from kernels.graph import Csr, Graph
from kernels.library.operators.functions.captured import Read, Taken, key_of, key_of_reads, named, values_of
from kernels.library.operators.functions.errors import UserFunctionError
from kernels.library.operators.functions.front_end import lower, parameters_of
from kernels.library.operators.functions.tree import Function, Type, type_of

UserFunction = Callable[..., Any]
VERTEX = {"row": "i", "degree": "i"}
Captured = list[Sequence[Any]]  # what each function captures
Made = tuple[tuple[Function | None, ...], Any, Callable[..., Any]]  # members of a Plan, in their order


@dataclass(frozen=True)
class Plan:
    """Compiled functions: in order, as many as the operator has; the backend's program for them, and what runs it."""

    functions: tuple[Function | None, ...]
    program: Any
    run: Callable[..., Any]
    taken: tuple[Taken, ...]  # of what each function captures
    reads: tuple[Read, ...]  # attributes of modules that the functions read

    def arguments(self, captured: Captured) -> list[tuple[Any, ...]]:
        """What the compiled functions take of `captured`, what the functions capture."""
        return [taken.arguments(values) for taken, values in zip(self.taken, captured, strict=True)]


_PLANS: dict[Hashable, Plan] = {}


def planned(
    graph: Graph, key: Hashable, given: tuple[UserFunction | None, ...], make: Callable[[list[dict[str, Any]]], Made]
) -> tuple[Plan, Captured]:
    """The plan for these functions on this graph, from `make` on first use, and what each function captures.

    Raises:
        UserFunctionError: The functions cannot be compiled.
        TypeError: One is not a Python function, or a captured array is in another memory than the graph, or, on a GPU, a view
            with gaps.
    """
    whole, captured = [key, graph.derived.get(_types_of, partial(_types_of, graph))], list[Sequence[Any]]()
    rows = graph.num_vertices
    for function in given:
        if function is None:
            captured.append(())
            whole.append(None)
        elif isinstance(function, FunctionType):
            values = values_of(function)
            captured.append(values)
            whole.append(key_of(function, values, rows))
        else:
            raise TypeError(f"{function!r} is not a Python function, and operators compile Python functions")
    of_types = tuple(whole)
    plan = _PLANS.get(of_types)
    if plan is not None and plan.reads:
        plan = _PLANS.get((*of_types, key_of_reads(plan.reads)))
    if plan is None:
        plan = _PLANS[of_types] = _made(graph, given, captured, make)
        if plan.reads:
            _PLANS[*of_types, key_of_reads(plan.reads)] = plan
    return plan, captured


def _types_of(graph: Graph) -> Hashable:
    """What compiled forms depend on: the memory of the graph's arrays, and their types."""
    return is_cupy(graph), graph.out.indices.dtype, None if graph.out.weights is None else graph.out.weights.dtype


def _made(
    graph: Graph,
    given: tuple[UserFunction | None, ...],
    values: Captured,
    make: Callable[[list[dict[str, Any]]], Made],
) -> Plan:
    named_values = [{} if function is None else named(function, each) for function, each in zip(given, values, strict=True)]
    (functions, program, run), on_gpu = make(named_values), is_cupy(graph)
    for compiled, by_name in zip(functions, named_values, strict=True):
        for name in compiled.arrays if compiled else ():
            if is_cupy_array(by_name[name]) != on_gpu:
                raise TypeError(
                    f"{name} is a {type(by_name[name]).__module__} array, and the graph is on a {'GPU' if on_gpu else 'CPU'}"
                )
            if on_gpu and not by_name[name].flags.c_contiguous:
                raise TypeError(f"{name} has gaps between its values, and operators on a GPU take arrays without gaps")
    reads = tuple(read for compiled in functions if compiled for read in compiled.reads)
    return Plan(functions, program, run, tuple(map(Taken.by, functions, given)), reads)


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


def type_of_weights(csr: Csr) -> Type:
    """Type of an arc's weight; 1 of int64 without weights."""
    return "i" if csr.weights is None else type_of(np.dtype(csr.weights.dtype))
