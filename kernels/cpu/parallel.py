"""Loops over rows or items on all cores of this process, for functions that release the GIL."""

import os
from collections.abc import Callable, Iterable
from contextvars import copy_context
from functools import partial
from itertools import accumulate, pairwise
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.compiled import is_imported, njit
from kernels.cpu.staying import begin_call
from kernels.graph import NO_ROW, OFFSET, Array, Csr

Item = TypeVar("Item")
Result = TypeVar("Result")
Range = tuple[int, int]  # begin, and end exclusive
_RANGES_PER_CORE = 4  # so that a core that finishes early takes another range
_BLOCK = 1 << 15  # elements
WORTH_A_THREAD = 1 << 19  # rows and arcs; below this, starting threads costs more than it saves


def cores() -> int:
    """Number of cores that this process may use, which is fewer than the machine has in a container or under taskset."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def worth_threads(work: int) -> bool:
    """Whether threads save time for this number of rows and arcs."""
    return cores() > 1 and work >= WORTH_A_THREAD


def ranges(length: int, work: int = 0) -> list[Range]:
    """Ranges of about equal length that cover `0..length-1`; one if threads are not worth it for `work` or the items."""
    if not worth_threads(max(length, work)):
        return [(0, length)]
    cuts = np.linspace(0, length, cores() * _RANGES_PER_CORE + 1).astype(np.int64).tolist()
    return list(pairwise(cuts))


def ranges_of_rows(offsets: Array) -> list[Range]:
    """Ranges of rows with about equal numbers of arcs, of which row r has `offsets[r + 1] - offsets[r]`; as `ranges`."""
    num_rows, arcs = len(offsets) - 1, int(offsets[-1])
    if not worth_threads(num_rows + arcs):
        return [(0, num_rows)]
    shares = np.linspace(0, arcs, cores() * _RANGES_PER_CORE + 1)[1:-1].astype(offsets.dtype)  # others convert the offsets
    cuts = [0, *np.searchsorted(offsets, shares).tolist(), num_rows]
    return list(pairwise(cuts))


def over_rows(csr: Csr, work: Callable[[int, int], Result]) -> list[Result]:
    """Call `work(begin, end)` for ranges of rows of about equal cost that cover `csr`, on all cores; results in row order.

    `work` has to release the GIL and write to its own rows only.
    """
    return over_items(ranges_of_rows(csr.offsets), lambda rows: work(*rows))


def first_over_rows(csr: Csr, work: Callable[[int, int], int]) -> int:
    """The first result of `over_rows` that is not negative, or -1: the first arc, say, that a range of rows finds."""
    return next((place for place in over_rows(csr, work) if place >= 0), -1)


def over_items(items: Iterable[Item], work: Callable[[Item], Result], *, parallel: bool = True) -> list[Result]:
    """Call `work` for each item, on all cores if `parallel` says that threads are worth it; results in the items' order.

    `work` has to release the GIL and write to nothing that another call reads. Of several exceptions the first item's is raised;
    items behind it may be left out. This thread takes items, too: an executor takes twice as long to share them out.
    """
    items = list(items)
    if not parallel or len(items) < 2 or cores() == 1:
        return [work(item) for item in items]
    results, failures, ended = dict[int, Result](), dict[int, BaseException](), SimpleQueue[None]()
    numbers = iter(range(len(items)))  # of which each is given to one thread

    def take() -> None:
        for number in numbers:
            try:
                results[number] = work(items[number])
            except BaseException as error:
                failures[number] = error
                for _ in numbers:
                    ended.put(None)
            ended.put(None)

    for _ in range(min(cores(), len(items)) - 1):
        begin_call(partial(copy_context().run, take))
    take()
    for _ in items:
        ended.get()
    if failures:
        raise failures[min(failures)]
    return [results[number] for number in range(len(items))]


def elementwise(work: Callable[..., Array], *arrays: Array, dtype: DTypeLike) -> Array:
    """`work(*arrays)`, an array [n] of type `dtype` whose element i depends on the arrays' [n] elements i only, on all cores.

    The arrays are of NumPy or CuPy; on a GPU this is one call. A core calls `work` for blocks, whose arrays stay in its cache.
    `values.take(rows)` takes half as long there as `values[rows]`, if rows have 32 bits.
    """
    if is_cupy_array(arrays[0]) or len(arrays[0]) <= _BLOCK:
        return work(*arrays).astype(dtype, copy=False)
    made = np.empty(len(arrays[0]), dtype)

    def of_range(part: Range) -> None:
        for begin in range(*part, _BLOCK):
            block = slice(begin, min(begin + _BLOCK, part[1]))
            made[block] = work(*(array[block] for array in arrays))

    over_items(ranges(len(made)), of_range)
    return made


def filled(length: int, value: int, dtype: DTypeLike) -> Array:
    """An array [n] of one value, on all cores: to be given memory takes longer than to write it."""
    made = np.empty(length, dtype)
    over_items(ranges(length), lambda part: made[slice(*part)].fill(value))
    return made


def differences(values: Array) -> Array:
    """`values[1:] - values[:-1]` of NumPy or CuPy, on all cores: the numbers of arcs of rows from their offsets."""
    return elementwise(np.subtract, values[1:], values[:-1], dtype=values.dtype)


def running_sums(counts: Array, dtype: DTypeLike = OFFSET) -> Array:
    """The sums before each of `counts` [n], integers or truth values of NumPy, and that of all of them: [n + 1], on all cores."""
    sums, parts = np.zeros(len(counts) + 1, dtype), [slice(*part) for part in ranges(len(counts))]
    before = accumulate(over_items(parts, lambda part: int(counts[part].sum())), initial=0)

    def of_range(part: slice, before: int) -> None:
        inside = sums[1:][part]
        np.cumsum(counts[part], dtype=sums.dtype, out=inside)
        inside += before

    over_items(zip(parts, before, strict=False), lambda each: of_range(*each))
    return sums


def searched(ascending: Array, values: Array) -> Array:
    """`np.searchsorted(ascending, values)` for arrays of NumPy or CuPy, int64 [n], on all cores."""

    def of_range(part: Array) -> Array:
        return np.searchsorted(ascending, part)

    return elementwise(of_range, values, dtype=np.int64)


def assign(target: Array, places: Array, values: Array) -> None:
    """`target[places] = values` for arrays [n] of NumPy or CuPy, on all cores; at equal places any one of the values stays."""

    def of_range(part: Range) -> None:
        target[places[slice(*part)]] = values[slice(*part)]

    over_items([(0, len(places))] if is_cupy_array(target) else ranges(len(places)), of_range)


def inserted(values: Array, places: Array, new: Array) -> Array:
    """`np.insert(values, places, new)` for NumPy's arrays and ascending places, on all cores."""
    made = np.empty(len(values) + len(new), values.dtype)
    parts = ranges(len(values))
    cuts = [0, *np.searchsorted(places, [begin for begin, _ in parts[1:]]).tolist(), len(new)]

    def of_range(part: Range, chosen: Range) -> None:
        (begin, end), (first, last) = part, chosen
        made[begin + first : end + last] = np.insert(values[begin:end], places[first:last] - begin, new[first:last])

    over_items(zip(parts, pairwise(cuts), strict=True), lambda each: of_range(*each))
    return made


def inverse(order: Array) -> Array:
    """The place of each number in `order`, a permutation of 0..n-1 of NumPy or CuPy, on all cores."""
    places = np.empty_like(order)
    assign(places, order, np.arange(len(order), dtype=order.dtype, like=order))
    return places


def gathered(values: Array, rows: Array, missing: Any = None) -> Array:
    """`values[rows]`, on all cores.

    Args:
        values ([n]): Numbers or truth values.
        rows (int32 or int64 [m]): From 0 to n - 1; also NO_ROW, if there is a value for it.
        missing: The value for NO_ROW.

    Returns:
        An array [m] of the type of `values`. Other rows are a mistake of the caller: long arrays of NumPy raise IndexError.

    Long arrays of NumPy are read by a compiled loop where Numba is imported: `take` widens rows to 64 bits first.
    """
    if not _is_long(rows) or not len(values):
        return _taken(values, rows, missing)
    made, (of, at) = np.empty(len(rows), values.dtype), (_bits(values), _bits(rows))
    other = of.dtype.type(0) if missing is None else np.array(missing, values.dtype).view(of.dtype)[()]
    none = np.uint64(np.iinfo(at.dtype).max)

    def of_range(part: Range) -> int:
        return int(_gather(of, at, none, missing is not None, other, made.view(of.dtype), *part))

    _require_none(rows, len(values), _over(len(rows), of_range))
    return made


def _taken(values: Array, rows: Array, missing: Any) -> Array:
    if missing is None:
        return elementwise(values.take, rows, dtype=values.dtype)
    if not len(values):
        return np.full_like(rows, missing, values.dtype)
    other = values.dtype.type(missing)

    def of_block(rows: Array) -> Array:
        made: Array = values.take(rows)
        made[rows == NO_ROW] = other
        return made

    return elementwise(of_block, rows, dtype=values.dtype)


def first_other(values: Array, others: Array, rows: Array) -> int:
    """The first place at which `values` [m] differ from `others[rows]`, -1 if they are equal: integers of one type."""
    if not _is_long(rows):
        wrong = elementwise(lambda values, rows: values != others.take(rows), values, rows, dtype=np.bool_)
        return int(wrong.argmax()) if wrong.any() else -1
    arrays = _bits(values), _bits(others), _bits(rows)
    return next((place for place in _over(len(rows), lambda part: int(_first_other(*arrays, *part))) if place >= 0), -1)


def looked_up(table: Array, low: int, ids: Array) -> Array:
    """`table[ids - low]` [m] for ids int64 [m]; where that is outside, as for ids of any size, the last entry of the table."""
    if _is_long(ids):
        made, arrays = np.empty(len(ids), table.dtype), (frozen(table), np.uint64(low % 2**64), _bits(np.asarray(ids, np.int64)))
        _over(len(ids), lambda part: _look_up(*arrays, made, *part))
        return made
    last = np.uint64(len(table) - 1)

    def of_block(ids: Array) -> Array:
        places = np.subtract(ids, low, dtype=np.int64).view(np.uint64)  # below `low`, also where it overflows: at least `last`
        rows: Array = table.take(np.minimum(places, last, out=places).view(np.int64))
        return rows

    return elementwise(of_block, ids, dtype=table.dtype)


def _is_long(array: Array) -> bool:
    return len(array) >= WORTH_A_THREAD and is_imported() and not is_cupy_array(array)


def _bits(array: Array) -> Array:
    return frozen(np.ascontiguousarray(array)).view(f"u{array.dtype.itemsize}")


def _over(length: int, work: Callable[[Range], int]) -> list[int]:
    return over_items(ranges(length), work)


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
