"""What a function captures: its values, and a key of their types, by which compiled forms are kept."""

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.library.operators.functions.tree import Function

_SCALARS: dict[type[Any], str] = {bool: "b", np.bool_: "b", float: "d"}
_TO: dict[str, Callable[[Any], Any]] = {"b": np.bool_, "i": np.int64, "f": np.float32, "d": np.float64}
_INTEGERS = (int, np.integer)
_BUILTINS = attrgetter("__builtins__")  # those that a function's globals name
Read = tuple[ModuleType, str]  # a module's attribute that a function reads


class _Absent:
    """Stands for the value of a name that is not defined, or is the name of an attribute."""


_ABSENT = _Absent()


def values_of(function: FunctionType) -> list[Any]:
    """Values of the names that are free in a function: its globals or builtins, and those of its closure now."""
    code, around, closure = function.__code__, function.__globals__, function.__closure__
    builtin: dict[str, Any] = _BUILTINS(function)
    values = [around[name] if name in around else builtin.get(name, _ABSENT) for name in code.co_names]
    if closure is not None:
        values += map(_content, closure)
    return values


def named(function: Callable[..., Any], values: Sequence[Any]) -> dict[str, Any]:
    """What `values_of` found, by name."""
    code = function.__code__
    pairs = zip((*code.co_names, *code.co_freevars), values, strict=True)
    return {name: value for name, value in pairs if value is not _ABSENT}


def key_of(function: Callable[..., Any], values: Sequence[Any], rows: int) -> Hashable:
    """The same for calls that one compiled form can serve: it relies on arrays that have an entry for each of the `rows`."""
    code = function.__code__
    return code, code.co_filename, *[_SCALARS.get(type(value)) or _kind(value, rows) for value in values]


def key_of_reads(reads: Sequence[Read]) -> Hashable:
    """The same while the attributes that a compiled form has read are the same; it has their numbers as constants."""
    numbers, values = int | float | np.generic, [getattr(module, name, _ABSENT) for module, name in reads]
    return tuple(f"{type(value)} {value!r}" if isinstance(value, numbers) else _kind(value, 0) for value in values)


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy or CuPy, all of whose entries count."""
    if isinstance(value, np.ndarray):
        return not isinstance(value, np.ma.MaskedArray)
    return is_cupy_array(value) and hasattr(value, "dtype") and hasattr(value, "shape")


def is_integer(value: Any) -> bool:
    """Whether a value is an integer of 64 bits."""
    return isinstance(value, _INTEGERS) and -(2**63) <= int(value) < 2**63


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


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the name has no value yet
        return _ABSENT


def _kind(value: Any, rows: int) -> Hashable:
    if isinstance(value, _INTEGERS):
        return "i" if is_integer(value) else "an integer beyond 64 bits"
    if is_array(value):
        shape, flags = value.shape, value.flags
        if not shape:
            return "an array of no dimension"
        writeable = getattr(flags, "writeable", True)
        return value.dtype, len(shape), type(value).__module__, shape[0] >= rows, writeable, flags.c_contiguous
    if isinstance(value, np.generic):
        return str(value.dtype.kind)
    known = (callable(value) or isinstance(value, ModuleType)) and isinstance(value, Hashable)
    return value if known else str(type(value))
