"""What a function captures: its values, and a key of their types, by which compiled forms are kept."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kernels.operators.functions.tree import Function

_SCALARS: dict[type[Any], str] = {bool: "b", np.bool_: "b", int: "i", float: "d"}
_TO: dict[str, Callable[[Any], Any]] = {"b": np.bool_, "i": np.int64, "f": np.float32, "d": np.float64}


class _Absent:
    """Stands for the value of a name that is not defined, or is the name of an attribute."""


_ABSENT = _Absent()


def values_of(function: Callable[..., Any]) -> list[Any]:
    """Values of the names that are free in a function: its globals, and those of its closure now."""
    code, around, closure = function.__code__, function.__globals__, function.__closure__
    found = [around.get(name, _ABSENT) for name in code.co_names]
    if closure is not None:
        found += [cell.cell_contents for cell in closure]
    return found


def named(function: Callable[..., Any], values: Sequence[Any]) -> dict[str, Any]:
    """What `values_of` found, by name."""
    code = function.__code__
    pairs = zip((*code.co_names, *code.co_freevars), values, strict=True)
    return {name: value for name, value in pairs if value is not _ABSENT}


def key_of(function: Callable[..., Any], values: Sequence[Any], rows: int) -> Hashable:
    """The same for calls that one compiled form can serve: it relies on arrays that have an entry for each of the `rows`."""
    code = function.__code__
    return code, code.co_filename, *[_SCALARS.get(type(value)) or _kind(value, rows) for value in values]


class Taken(NamedTuple):
    """Which of the values of `values_of` a compiled function takes, in its order: arrays, then scalars, which are converted."""

    arrays: tuple[int, ...]
    scalars: tuple[tuple[int, Callable[[Any], Any]], ...]

    @classmethod
    def by(cls, compiled: Function | None, function: Callable[..., Any] | None) -> "Taken":
        """Of a function and its compiled form; of None, nothing."""
        if compiled is None or function is None:
            return cls((), ())
        code = function.__code__
        places = {name: place for place, name in enumerate((*code.co_names, *code.co_freevars))}
        scalars = ((places[name], _TO[of]) for name, of in compiled.scalars.items())
        return cls(tuple(places[name] for name in compiled.arrays), tuple(scalars))

    def arguments(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values."""
        arrays = [values[place] for place in self.arrays]
        return (*arrays, *[to(values[place]) for place, to in self.scalars]) if self.scalars else tuple(arrays)


def _kind(value: Any, rows: int) -> Hashable:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return value if callable(value) else str(type(value))
    shape = value.shape
    if not shape:
        return str(dtype.kind)
    flags = value.flags
    return dtype, len(shape), type(value).__module__, shape[0] >= rows, getattr(flags, "writeable", True), flags.c_contiguous
