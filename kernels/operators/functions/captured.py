"""What a function captures: its values by name, and a key of their types, by which compiled forms are kept."""

from collections.abc import Callable, Hashable
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from kernels.operators.functions.tree import Function

_SCALARS = {bool: "b", np.bool_: "b", int: "i", float: "d"}


def values_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Values of the names that are free in a function: those of its closure now, and its globals."""
    code, around = function.__code__, function.__globals__
    found = {name: around[name] for name in _globals_of(code) if name in around}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        found[name] = cell.cell_contents
    return found


def key_of(function: Callable[..., Any], values: dict[str, Any], rows: int) -> Hashable:
    """The same for calls that one compiled form can serve: it relies on arrays that have an entry for each of the `rows`."""
    code = function.__code__
    return code, code.co_filename, tuple([_kind(value, rows) for value in values.values()])


def arguments_of(function: Function, values: dict[str, Any]) -> tuple[Any, ...]:
    """Captured values in the order in which the compiled function takes them: arrays, then scalars of its types."""
    scalars = function.scalars.items()
    return (*[values[name] for name in function.arrays], *[_TO[of](values[name]) for name, of in scalars])


_TO: dict[str, Callable[[Any], Any]] = {"b": np.bool_, "i": np.int64, "f": np.float32, "d": np.float64}


def _kind(value: Any, rows: int) -> Hashable:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        of_type: type[Any] = type(value)
        if of_type in _SCALARS:
            return _SCALARS[of_type]
        return value if callable(value) else str(of_type)
    if not value.ndim:
        return str(dtype.kind)
    flags = value.flags
    return dtype, value.ndim, type(value).__module__, len(value) >= rows, getattr(flags, "writeable", True), flags.c_contiguous


@cache
def _globals_of(code: CodeType) -> tuple[str, ...]:
    return code.co_names
