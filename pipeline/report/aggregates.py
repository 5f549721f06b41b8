"""Counts, histograms and order statistics of long columns, computed on all cores: a column comes as its parts."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernels.cpu.parallel import over_items
from kernels.decimals import units_of
from kernels.graph import Array
from pipeline.store.arrays import dtype_of
from pipeline.store.manifest import Folder
from pipeline.tables import files as tables

Result = TypeVar("Result")
Part = TypeVar("Part")
_BLOCK = 1 << 10  # rows


def of_parts(work: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Call `work`, which releases the GIL, for each part on all cores; results in the order of the parts."""
    return over_items(parts, work, parallel=len(parts) > 1)


def of_groups(table: Folder, columns: Sequence[str], work: Callable[[pa.Table], Result]) -> list[Result]:
    """As `of_parts`, of the row groups of a table, of which memory has one for each core; a table without rows has one."""
    paths = tables.files(table.path)
    groups = [(path, group) for path in paths for group in range(max(1, pq.read_metadata(path).num_row_groups))]
    return of_parts(lambda at: work(tables.read_group(*at, columns)), groups)


def values_of(column: pa.ChunkedArray) -> list[Array]:
    """The parts of a column without its nulls, as NumPy arrays."""
    return of_parts(lambda chunk: (chunk.drop_null() if chunk.null_count else chunk).to_numpy(), column.chunks)


def first_rows(batch: pa.RecordBatch, order: Sequence[tuple[str, str]], most: int) -> pa.RecordBatch:
    """The `most` rows of a batch that come first in an order, whose first column of numbers descends; nulls come last.

    Arrow compares all rows. Here it has only those that reach the `most`-th greatest of the maxima of blocks of `_BLOCK` rows:
    as many rows at least reach it.
    """
    column = batch.column(order[0][0])
    whole = len(batch) // _BLOCK
    if whole > most:
        kind = dtype_of(column.type)
        least = -np.inf if kind.kind == "f" else np.iinfo(kind).min  # for nulls: where it reaches them, all rows do
        values = (column.fill_null(pa.scalar(least, column.type)) if column.null_count else column).to_numpy()
        maxima = values[: whole * _BLOCK].reshape(whole, _BLOCK).max(axis=1)
        if not np.isnan(maxima).any():  # which no row would reach
            batch = batch.take(pa.array(np.flatnonzero(values >= np.partition(maxima, -most)[-most])))
    return batch.take(pc.select_k_unstable(batch, min(most, len(batch)), order))


def frequencies(parts: Sequence[Array]) -> Array:
    """How often each of the integers from 0 to the largest occurs, int64; there is at least one value, and none is negative."""
    counted = of_parts(np.bincount, parts)
    total = np.zeros(max(map(len, counted)), np.int64)
    for counts in counted:
        total[: len(counts)] += counts
    return total


def bins(parts: Sequence[Array], most: int) -> tuple[Array, Array, float]:
    """Histogram of non-negative values in at most `most` bins of equal width: edges, counts and the exact width.

    For integers the width is an integer, so that all bins cover equally many values, and the edges are half-way between two.
    There is at least one value.
    """
    high = max(of_parts(lambda part: part.max(), [part for part in parts if len(part)]))
    if parts[0].dtype.kind == "i":
        width = int(high) // most + 1
        counts = frequencies(of_parts(lambda part: part // width, parts))
        return np.arange(len(counts) + 1) * width - 0.5, counts, width
    if 0 < high < most * np.finfo(np.float64).tiny:
        counts = np.array([sum(map(len, parts))])  # NumPy cannot divide a range of the smallest floats
        return np.array([0.0, high]), counts, float(high)
    with np.errstate(over="ignore"):  # of an edge that NumPy replaces by the highest value
        histograms = of_parts(partial(np.histogram, bins=most, range=(0.0, float(high) or 1.0)), parts)
    edges = histograms[0][1]
    return edges, np.sum([counts for counts, _ in histograms], axis=0), float(edges[1] - edges[0])


def lower_median(parts: Sequence[Array], histogram: tuple[Array, Array, float]) -> np.generic:
    """The lower median of the non-negative values whose histogram `bins` has returned."""
    edges, counts, width = histogram
    wanted = (int(counts.sum()) - 1) // 2
    number = int(np.searchsorted(np.cumsum(counts), wanted, side="right"))
    low, high = edges[number], edges[number + 1]
    if parts[0].dtype.kind == "i":  # the edges, which are floats, are not exact beyond 2^53
        low, high = number * width, (number + 1) * width - 1
    below = sum(of_parts(lambda part: int(np.count_nonzero(part < low)), parts))
    inside = np.concatenate(of_parts(lambda part: part[(part >= low) & (part <= high)], parts))
    median: np.generic = np.partition(inside, wanted - below)[wanted - below]
    return median


def exact_sum(column: pa.ChunkedArray, decimals: int | None = None) -> int | float:
    """Sum of a column without nulls; that of integers does not overflow, that of floats is a float64, maybe infinite.

    That of floats that are counted in units of 10^-`decimals` is rounded once.
    """
    return total_of(of_parts(lambda chunk: part_of_sum(chunk.to_numpy(), decimals), column.chunks), decimals)


def part_of_sum(part: Array, decimals: int | None) -> int | float:
    """What `total_of` adds up for a part of a column, of less than 2^31 rows."""
    if decimals is not None:
        return int(units_of(part, decimals).sum())
    if part.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return float(part.sum(dtype=np.float64))
    low, bits = np.int64(0xFFFFFFFF), np.int64(32)  # narrower columns are widened
    return (int((part >> bits).sum()) << 32) + int((part & low).sum())


def total_of(parts: Sequence[int | float], decimals: int | None) -> int | float:
    """The `exact_sum` of a column, of those of its parts."""
    total = sum(parts)
    return total if decimals is None else total / int(10**decimals)
