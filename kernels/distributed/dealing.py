"""The rows of each rank: one contiguous range, or many blocks that are dealt to the ranks.

If rows are stored in the order of their degrees, a range with an even share of the arcs may have a hundredth of the rows, or most
of them. Such a graph is cut into many blocks, which are dealt to the ranks one by one. While the ranks work on them, rows then
have other numbers, their *dealt* rows: those of one rank are contiguous, in the order in which they are stored. Only code that
reads or writes stored rows maps between the two. Otherwise, as on roads, the rows are cut into one range per rank, which has few
ghosts, and they keep their numbers. Where arcs lead anywhere, ranges in the order of ids have as many ghosts as blocks, and the
first rank would have 7 times as many edges as the last one of four: an edge belongs to the owner of its smaller id.

Source: Graham, Bounds on Multiprocessing Timing Anomalies (1969), for giving each block to the rank with the least load;
Panigrahy et al., Heuristics for Vector Bin Packing (2011), for the dot product as the load where two quantities should be even.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr

BLOCKS_PER_RANK = 32  # on average; so a rank has about 1/32 more rows or arcs than another
_UNEVEN = 3, 2  # one range per rank suffices if none has more than 3/2 of the average number of rows
_SAMPLED = 2048, 16  # rows, and the first arcs of each, that show whether arcs stay in ranges
_MAPPED_ROWS = 1 << 18, 1 << 24  # rows that are mapped at a time, on the CPU and on the GPU

Cut = Callable[[int, int], tuple[Array, Array]]
"""`cut(parts, per_row)` cuts the rows into ranges of about equal cost, where an arc costs 1 and a row `per_row`.

It returns the bounds of the ranges, int64 [parts + 1], and for each bound the number of stored arcs of all rows before it.
"""

Leaving = Callable[[Array], Array]
"""`leaving(bounds)` is the sum of `leaving_arcs` over all rows of `sampled_rows`, for one range per rank; int64 [2]."""


@dataclass(frozen=True)
class Dealing:
    """Mapping of stored rows to dealt rows and back. All arrays are NumPy's."""

    bounds: Array  # int64 [size + 1]: rank r has the dealt rows `bounds[r]:bounds[r + 1]`
    cuts: Array  # int64 [B + 1]: block b has the stored rows `cuts[b]:cuts[b + 1]`, at least one
    owners: Array  # int64 [B]: the rank of each block

    @classmethod
    def of_blocks(cls, cuts: Array, owners: Array, size: int) -> "Dealing":
        """Give block b, the stored rows `cuts[b]:cuts[b + 1]`, to the rank `owners[b]`."""
        counts = np.diff(cuts)
        not_empty = counts > 0
        sums = np.zeros(size + 1, OFFSET)
        np.add.at(sums, owners + 1, counts)
        return cls(np.cumsum(sums), np.append(cuts[:-1][not_empty], cuts[-1:]), owners[not_empty])

    @classmethod
    def contiguous(cls, bounds: Array) -> "Dealing":
        """Rank r has the rows `bounds[r]:bounds[r + 1]`, stored and dealt."""
        size = len(bounds) - 1
        return cls.of_blocks(np.asarray(bounds, OFFSET), np.arange(size), size)

    @property
    def keeps(self) -> bool:
        """Whether every row keeps its number."""
        return not self._shifts.any()

    def blocks(self, rank: int) -> list[range]:
        """The stored rows of a rank, ascending; one empty range if it has none."""
        own = np.flatnonzero(self.owners == rank).tolist()
        return [range(int(self.cuts[block]), int(self.cuts[block + 1])) for block in own] or [range(0)]

    def dealt(self, stored: Array, out: Array | None = None) -> Array:
        """Map stored rows, a NumPy or CuPy array; `out`, which may be `stored`, takes the result."""
        return _mapped(stored, self.cuts[1:-1], self._shifts, out)

    def stored(self, dealt: Array) -> Array:
        """Map dealt rows, a NumPy or CuPy array."""
        order = np.argsort(self.owners, kind="stable")
        firsts = (self.cuts[:-1] + self._shifts)[order]
        return _mapped(dealt, firsts[1:], -self._shifts[order], None)

    @cached_property
    def _shifts(self) -> Array:
        """For each block, its dealt rows minus its stored rows: a rank's blocks are contiguous, rank after rank."""
        order, counts = np.argsort(self.owners, kind="stable"), np.diff(self.cuts)
        firsts = np.empty(len(counts), OFFSET)
        firsts[order] = np.cumsum(counts[order]) - counts[order]
        return firsts - self.cuts[:-1]


def deal(cut: Cut, leaving: Leaving, size: int) -> Dealing:
    """Share the rows of a graph among `size` ranks, so that each has about equally many arcs and equally many rows."""
    bounds, before = cut(size, 0)
    num_vertices, num_arcs = int(bounds[-1]), int(before[-1])
    most, of = _UNEVEN
    if of * size * int(np.diff(bounds).max()) <= most * num_vertices:
        left, looked_at = leaving(bounds).tolist()
        if 2 * size * left <= (size - 1) * looked_at:  # at most half as many as of arcs that lead anywhere
            return Dealing.contiguous(bounds)
    cuts, before = cut(BLOCKS_PER_RANK * size, max(num_arcs // num_vertices, 1))
    loads = [(0, 0)] * size  # rows and arcs of each rank
    owners = []
    for rows, arcs in zip(np.diff(cuts).tolist(), np.diff(before).tolist(), strict=True):
        # Dot product of the block's share of rows and arcs with the rank's, in integers, which are exact on all machines
        row_weight, arc_weight = rows * num_arcs**2, arcs * num_vertices**2
        costs = [row_weight * its_rows + arc_weight * its_arcs for its_rows, its_arcs in loads]
        owner = costs.index(min(costs))
        loads[owner] = loads[owner][0] + rows, loads[owner][1] + arcs
        owners.append(owner)
    return Dealing.of_blocks(cuts, np.array(owners, OFFSET), size)


def sampled_rows(num_vertices: int) -> Array:
    """Some rows, at even distances: int64, ascending, distinct."""
    count = min(_SAMPLED[0], num_vertices)
    return np.arange(count, dtype=OFFSET) * num_vertices // max(count, 1)


def leaving_arcs(bounds: Array, rows: Array, places: Array, out: Csr) -> Array:
    """How many of the first arcs of some rows lead out of their range of `bounds`, and how many these arcs are: int64 [2].

    Args:
        rows, places (integer [S]): NumPy arrays: rows of the graph, and where `out` has them; its heads are rows of the graph.
    """
    begins, ends = (to_host(out.offsets[np.asarray(places + step, like=out.offsets)]) for step in (0, 1))
    counts = np.minimum(ends - begins, _SAMPLED[1])
    arcs = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    heads = to_host(out.indices[np.asarray(arcs, like=out.offsets)])
    tail_range, head_range = (np.searchsorted(bounds[1:], ends, side="right") for ends in (np.repeat(rows, counts), heads))
    return np.array([np.count_nonzero(tail_range != head_range), len(arcs)], OFFSET)


def _mapped(rows: Array, inner_cuts: Array, shifts: Array, out: Array | None) -> Array:
    if not shifts.any():
        if out is None or out is rows:
            return rows
        out[:] = rows
        return out
    out = np.empty_like(rows) if out is None else out
    cuts, shifts = (np.asarray(array.astype(rows.dtype), like=rows) for array in (inner_cuts, shifts))
    step = _MAPPED_ROWS[is_cupy_array(rows)]
    for begin, end in pairwise([*range(0, len(rows), step), len(rows)]):
        block = rows[begin:end]
        out[begin:end] = block + shifts[np.searchsorted(cuts, block, side="right")]
    return out
