"""Columns of values: several in one exchange, distinct values, and minima and sums by index."""

from collections.abc import Sequence

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import Communicator
from kernels.distributed.searching import places_upto
from kernels.graph import Array


def exchange_columns(communicator: Communicator, *columns: Sequence[Array]) -> list[Array]:
    """Send `column[r]` of each column to rank r, in one exchange; return the received parts of each column, in rank order.

    Each rank is sent equally many values of every column. A column has one type, the same on all ranks.
    """
    here, types = communicator.rank, [column[0].dtype for column in columns]
    # Widest first, so that each column begins at a multiple of its width
    order = sorted(range(len(columns)), key=lambda number: -types[number].itemsize)
    width = sum(dtype.itemsize for dtype in types)
    received: list[list[Array]] = [[] for _ in columns]

    def joined(rank: int) -> Array:
        """What is sent to a rank; nothing to this one, whose values need no copy."""
        part = slice(0 if rank == here else None)
        return np.concatenate([_bytes(columns[number][rank][part]) for number in order])

    # The parts are not kept, because they and what is received would be in memory at the same time as the results
    for rank, part in enumerate(communicator.exchange([joined(rank) for rank in range(communicator.size)])):
        count, begin = len(part) // width, 0
        for number in order:
            end = begin + count * types[number].itemsize
            received[number].append(columns[number][here] if rank == here else part[begin:end].view(types[number]))
            begin = end
    return [np.concatenate(values) for values in received]


def _bytes(array: Array) -> Array:
    return (array if array.flags.c_contiguous else array.copy()).view(np.uint8)


def distinct(values: Array) -> Array:
    """The distinct values, ascending. NumPy's `unique` hashes since 2.3 and then takes up to 70 times as long."""
    ordered = np.sort(values)
    differs = np.ones_like(ordered, np.bool_)
    differs[1:] = ordered[1:] != ordered[:-1]
    return ordered[differs]


def indexed(values: Array) -> tuple[Array, Array]:
    """The distinct values, ascending, and the index of each value among them, of their type.

    `np.unique` takes seven times the memory of the values, this three times.
    """
    ascending = distinct(values)
    place = places_upto(ascending, values)
    place -= 1
    return ascending, place


def lower_at(values: Array, places: Array, proposed: Array) -> None:
    """Lower `values[p]` to the minimum of itself and the values proposed for index p; no value is negative."""
    if not is_cupy_array(values):
        np.minimum.at(values, places, proposed)
        return
    import cupy

    # The bits of values that are not negative have the values' order. CuPy has no minimum of int64.
    word = np.dtype(f"u{values.itemsize}")
    cupy.minimum.at(values.view(word), places, proposed.view(word))


def add_at(values: Array, places: Array, added: Array) -> None:
    """Add to `values[p]` what is added for index p, of int64."""
    if not is_cupy_array(values):
        np.add.at(values, places, added)
        return
    import cupy

    cupy.add.at(values.view(np.uint64), places, added.view(np.uint64))
