"""The rows of an edge list by ranges of the end by which parallel rows are found, each range in the rows' order."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from kernels.graph import OFFSET, Array
from kernels.layout.parallel import Rows, low_and_high
from pipeline.runtime.memory import free_memory
from pipeline.steps.parallel.order import ranks_of
from pipeline.store.edges import column_blocks, id_blocks
from pipeline.store.facts import EdgeFacts
from pipeline.store.manifest import Folder

_BINS = 16  # bits of a bin of ids; NumPy sorts numbers of 16 bits by their digits
_RANGE = 1 << 20  # rows of a range
_ROW_BYTES = 64  # of memory, for each row that is merged at a time
_SHARE = 3  # of free memory the rows take this fraction


@dataclass(frozen=True)
class RangeRows:
    """The rows of a range, and their numbers in the edge list."""

    rows: Rows
    numbers: Array  # int64 [N]


@dataclass(frozen=True)
class _Bins:
    """Ids in bins of 2^shift, and how many rows are in each."""

    shift: int
    rows: Array  # int64 [B]

    def of(self, low: Array) -> Array:
        """The bin of each end, uint16 [N]."""
        return (low >> self.shift).astype(np.uint16)

    def cuts(self, most: int, first: int = 0, last: int | None = None) -> list[range]:
        """Ranges of bins that cover those from `first` to `last`, of about `most` rows each."""
        last = len(self.rows) if last is None else last
        sums = np.concatenate([[0], np.cumsum(self.rows[first:last])])
        steps = np.searchsorted(sums, np.arange(most, int(sums[-1]), max(most, 1)), side="right")
        bounds = sorted({first, last, *(first + steps).tolist()})
        return [range(*pair) for pair in pairwise(bounds)]


def rows_of_ranges(edges: Folder, rule: str, both: bool, at_a_time: int | None = None) -> Iterator[list[RangeRows]]:
    """The rows of all ranges, ascending; at a time as many as fit into memory, for which the edge list is read again.

    Args:
        at_a_time: How many rows are in memory at a time; by default what free memory holds.
    """
    facts, bins = EdgeFacts.of(edges), _bins_of(edges, both)
    most = at_a_time or max(_RANGE, free_memory() // (_SHARE * _ROW_BYTES))
    names = ["src", "dst", *(["weight"] if facts.weight and rule != "count" else [])]
    names += ["order"] if facts.order and rule in ("first", "last") else []
    for part in bins.cuts(most) if facts.edges else []:
        yield _ranges(edges, names, both, bins, part)


def _bins_of(edges: Folder, both: bool) -> _Bins:
    largest = max((EdgeFacts.of(edges).largest.get(end, 0) for end in ("src", "dst")), default=0)
    shift = max(0, largest.bit_length() - _BINS)
    rows = np.zeros((largest >> shift) + 1, OFFSET)
    for src, dst in id_blocks(edges):
        rows += np.bincount(low_and_high(src, dst, both)[0] >> shift, minlength=len(rows))
    return _Bins(shift, rows)


def _ranges(edges: Folder, names: list[str], both: bool, bins: _Bins, part: range) -> list[RangeRows]:
    """The rows of some bins, in ranges of about `_RANGE` rows."""
    taken, numbers, first = list[list[pa.ChunkedArray]](), list[Array](), 0
    for columns in column_blocks(edges, names):
        src, dst = (column.cast(pa.int64()).to_numpy() for column in columns[:2])
        of_bin = bins.of(low_and_high(src, dst, both)[0])
        own = np.flatnonzero((of_bin >= part.start) & (of_bin < part.stop))
        taken.append([column.take(pa.array(own)) for column in columns])
        numbers.append(own + first)
        first += len(src)
    columns = [pa.chunked_array([chunk for of in parts for chunk in of.chunks]) for parts in zip(*taken, strict=True)]
    return _divided(columns, np.concatenate(numbers), names, both, bins, part)


def _divided(
    columns: list[pa.ChunkedArray], numbers: Array, names: list[str], both: bool, bins: _Bins, part: range
) -> list[RangeRows]:  # fmt: skip
    by_name = dict(zip(names, columns, strict=True))
    src, dst = (by_name[end].cast(pa.int64()).to_numpy() for end in ("src", "dst"))
    weights = numbers_of(by_name["weight"]) if "weight" in by_name else None
    ranks = ranks_of(by_name["order"]) if "order" in by_name else None
    of_bin = bins.of(low_and_high(src, dst, both)[0])
    places = np.argsort(of_bin, kind="stable")  # within a bin in the rows' order
    bounds = np.searchsorted(of_bin[places], [[one.start, one.stop] for one in bins.cuts(_RANGE, part.start, part.stop)])

    def taken(own: Array) -> RangeRows:
        order = None if ranks is None else ranks[own]
        return RangeRows(Rows(src[own], dst[own], None if weights is None else weights[own], order), numbers[own])

    return [taken(places[begin:end]) for begin, end in bounds.tolist() if begin < end]


def numbers_of(column: pa.ChunkedArray) -> Array:
    """Weights as int64 or float64 [N]; -0.0 becomes 0.0."""
    floats = pa.types.is_floating(column.type)
    values: Array = column.cast(pa.float64() if floats else pa.int64()).to_numpy()
    return values + 0 if floats else values
