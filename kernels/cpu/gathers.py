"""Gathers on all cores: compiled loops for long arrays of NumPy, which take a third of the time of NumPy's `take`.

NumPy first widens rows to 64 bits. It gathers from short arrays, and from all of a process without Numba: one on a GPU does not
import it for this.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu import parallel
from kernels.cpu.compiled import is_imported, njit
from kernels.graph import NO_ROW, Array


def gathered(values: Array, rows: Array, missing: Any = None) -> Array:
    """`values[rows]`, on all cores.

    Args:
        values ([n]): Numbers or truth values.
        rows (int32 or int64 [m]): From 0 to n - 1; also NO_ROW, if there is a value for it.
        missing: The value for NO_ROW.

    Returns:
        An array [m] of the type of `values`. Raises IndexError for another row if the arrays are NumPy's.
    """
    if not _is_long(rows) or not len(values):
        return _taken(values, rows, missing)
    made, (of, at) = np.empty(len(rows), values.dtype), (_bits(values), _bits(rows))
    other = of.dtype.type(0) if missing is None else np.array(missing, values.dtype).view(of.dtype)[()]
    none = np.uint64(np.iinfo(at.dtype).max)

    def of_range(part: parallel.Range) -> int:
        return int(_gather(of, at, none, missing is not None, other, made.view(of.dtype), *part))

    _require_none(rows, len(values), _over(len(rows), of_range))
    return made


def _taken(values: Array, rows: Array, missing: Any) -> Array:
    if missing is None:
        return parallel.elementwise(values.take, rows, dtype=values.dtype)
    if not len(values):
        return np.full_like(rows, missing, values.dtype)
    other = values.dtype.type(missing)

    def of_block(rows: Array) -> Array:
        made: Array = values.take(rows)
        made[rows == NO_ROW] = other
        return made

    return parallel.elementwise(of_block, rows, dtype=values.dtype)


def first_other(values: Array, others: Array, rows: Array) -> int:
    """The first place at which `values` [m] differ from `others[rows]`, -1 if they are equal: integers of one type."""
    if not _is_long(rows):
        wrong = parallel.elementwise(lambda values, rows: values != others.take(rows), values, rows, dtype=np.bool_)
        return int(wrong.argmax()) if wrong.any() else -1
    arrays = _bits(values), _bits(others), _bits(rows)
    return next((place for place in _over(len(rows), lambda part: int(_first_other(*arrays, *part))) if place >= 0), -1)


def looked_up(table: Array, low: int, ids: Array) -> Array:
    """`table[ids - low]` [m] for ids int64 [m]; where that is outside, as for ids of any size, the last entry of the table."""
    if _is_long(ids):
        made, arrays = np.empty(len(ids), table.dtype), (frozen(table), np.uint64(low % 2**64), frozen(ids).view(np.uint64))
        _over(len(ids), lambda part: _look_up(*arrays, made, *part))
        return made
    last = np.uint64(len(table) - 1)

    def of_block(ids: Array) -> Array:
        places = np.subtract(ids, low, dtype=np.int64).view(np.uint64)  # below `low`, also where it overflows: at least `last`
        found: Array = table.take(np.minimum(places, last, out=places).view(np.int64))
        return found

    return parallel.elementwise(of_block, ids, dtype=table.dtype)


def _is_long(array: Array) -> bool:
    return len(array) >= parallel.WORTH_A_THREAD and is_imported() and not is_cupy_array(array)


def _bits(array: Array) -> Array:
    return frozen(np.ascontiguousarray(array)).view(f"u{array.dtype.itemsize}")


def _over(length: int, work: Callable[[parallel.Range], int]) -> list[int]:
    return parallel.over_items(parallel.ranges(length), work)


def _require_none(rows: Array, size: int, places: list[int]) -> None:
    for place in places:
        if place >= 0:
            raise IndexError(f"row {rows[place]} is not in 0..{size - 1}")


@njit(cache=True, nogil=True)
def _gather(values: Array, rows: Array, none: int, optional: bool, missing: int, made: Array, begin: int, end: int) -> int:
    """Fill `made[begin:end]`; return the first place of a row that does not exist, or -1."""
    size = np.uint64(len(values))
    for place in range(begin, end):
        row = np.uint64(rows[place])
        if row < size:
            made[place] = values[row]
        elif optional and row == none:
            made[place] = missing
        else:
            return place
    return -1


@njit(cache=True, nogil=True)
def _first_other(values: Array, others: Array, rows: Array, begin: int, end: int) -> int:
    size = np.uint64(len(others))
    for place in range(begin, end):
        row = np.uint64(rows[place])
        if row >= size or values[place] != others[row]:
            return place
    return -1


@njit(cache=True, nogil=True)
def _look_up(table: Array, low: int, ids: Array, made: Array, begin: int, end: int) -> int:
    last = np.uint64(len(table) - 1)
    for place in range(begin, end):
        made[place] = table[min(ids[place] - low, last)]
    return -1
