"""Which rows of a graph each rank works on: a contiguous range of them, or pieces that are dealt out like cards.

Where rows stand in the order of their degrees, a range with its share of the arcs may have a hundredth of the rows, or most of
them. Such a graph is cut into many pieces; the ranks get them one by one. Rows then have another number while ranks work on
them, their *dealt* row: those of a rank stand side by side, in the order that they are stored in. Whoever reads what is
stored by rows, or writes it, maps them; nobody else knows of it. Elsewhere, as on roads, the rows are cut into as many ranges as
there are ranks, which have few ghosts there, and keep their numbers.

Source: Graham, Bounds on Multiprocessing Timing Anomalies (1969), for giving each piece to whoever has least; for what is least
where two things are to be even, the dot product of Panigrahy et al., Heuristics for Vector Bin Packing (2011).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.graph import OFFSET, Array
from kernels.layout import shards

PIECES = 32  # that a rank gets, on average: so it has about 1/32 more rows or arcs than another
_UNEVEN = 3, 2  # ranges are kept where none has more than 3/2 of the rows that a rank has on average
_AT_A_TIME = 1 << 18, 1 << 24  # rows that are mapped together, here and on a GPU

Cut = Callable[[int, int], tuple[Array, Array]]
"""`cut(parts, per_row)` cuts the rows into ranges of about equal cost, an arc costing 1 and a row `per_row`.

It returns the rows where they begin and end, int64 [parts + 1], and how many stored arcs all rows before these have.
"""


@dataclass(frozen=True)
class Dealing:
    """Stored rows to dealt rows and back. All arrays are NumPy's.

    Attributes
    ----------
    bounds : int64 [size + 1]
        Rank r has the dealt rows `bounds[r]:bounds[r + 1]`.
    cuts : int64 [P + 1]
        Piece p has the stored rows `cuts[p]:cuts[p + 1]`, at least one.
    owners : int64 [P]
        The rank of each piece.
    """

    bounds: Array
    cuts: Array
    owners: Array

    @classmethod
    def of_pieces(cls, cuts: Array, owners: Array, size: int) -> Dealing:
        """Give piece p, the stored rows `cuts[p]:cuts[p + 1]`, to the rank `owners[p]`."""
        counts = np.diff(cuts)
        some = counts > 0
        of_ranks = np.zeros(size + 1, OFFSET)
        np.add.at(of_ranks, owners + 1, counts)
        return cls(np.cumsum(of_ranks), np.append(cuts[:-1][some], cuts[-1:]), owners[some])

    @classmethod
    def contiguous(cls, bounds: Array) -> Dealing:
        """Rank r has the rows `bounds[r]:bounds[r + 1]`, stored and dealt."""
        size = len(bounds) - 1
        return cls.of_pieces(np.asarray(bounds, OFFSET), np.arange(size), size)

    @property
    def keeps(self) -> bool:
        """Whether every row keeps its number."""
        return not self._shifts.any()

    def pieces(self, rank: int) -> list[range]:
        """The stored rows of a rank, ascending; an empty range alone where it has none."""
        own = np.flatnonzero(self.owners == rank).tolist()
        return [range(int(self.cuts[piece]), int(self.cuts[piece + 1])) for piece in own] or [range(0)]

    def dealt(self, stored: Array, out: Array | None = None) -> Array:
        """Map stored rows, of NumPy or CuPy; `out`, which may be `stored`, takes the result."""
        return _mapped(stored, self.cuts[1:-1], self._shifts, out)

    def stored(self, dealt: Array) -> Array:
        """Map dealt rows, of NumPy or CuPy."""
        order = np.argsort(self.owners, kind="stable")
        firsts = (self.cuts[:-1] + self._shifts)[order]
        return _mapped(dealt, firsts[1:], -self._shifts[order], None)

    @cached_property
    def _shifts(self) -> Array:
        """How much larger a piece's dealt rows are than its stored ones: ranks' pieces stand side by side, rank after rank."""
        order, counts = np.argsort(self.owners, kind="stable"), np.diff(self.cuts)
        firsts = np.empty(len(counts), OFFSET)
        firsts[order] = np.cumsum(counts[order]) - counts[order]
        return firsts - self.cuts[:-1]


def deal(cut: Cut, size: int) -> Dealing:
    """Share the rows of a graph among `size` ranks, so that each has about equally many arcs, and rows."""
    bounds, before = cut(size, 0)
    num_vertices, num_arcs = int(bounds[-1]), int(before[-1])
    most, of = _UNEVEN
    if of * size * int(np.diff(bounds).max()) <= most * num_vertices:
        return Dealing.contiguous(bounds)
    cuts, before = cut(PIECES * size, max(num_arcs // num_vertices, 1))
    has = [(0, 0)] * size
    owners = []
    for rows, arcs in zip(np.diff(cuts).tolist(), np.diff(before).tolist(), strict=True):
        # Its rows count where ranks have rows, its arcs where they have arcs; in whole numbers, which are the same everywhere
        of_rows, of_arcs = rows * num_arcs**2, arcs * num_vertices**2
        costs = [of_rows * its_rows + of_arcs * its_arcs for its_rows, its_arcs in has]
        owner = costs.index(min(costs))
        has[owner] = has[owner][0] + rows, has[owner][1] + arcs
        owners.append(owner)
    return Dealing.of_pieces(cuts, np.array(owners, OFFSET), size)


def cut_of(degrees: Array) -> Cut:
    """How rows are cut whose stored arcs are known, int64 [V], a NumPy array."""
    arcs = np.concatenate([np.zeros(1, OFFSET), np.cumsum(degrees)])

    def cut(parts: int, per_row: int) -> tuple[Array, Array]:
        cuts = np.array([0, *(rows.stop for rows in shards.cut(degrees + per_row, parts))], OFFSET)
        return cuts, arcs[cuts]

    return cut


def _mapped(rows: Array, inner_cuts: Array, shifts: Array, out: Array | None) -> Array:
    if not shifts.any():
        if out is None or out is rows:
            return rows
        out[:] = rows
        return out
    out = np.empty_like(rows) if out is None else out
    cuts, shifts = (np.asarray(array.astype(rows.dtype), like=rows) for array in (inner_cuts, shifts))
    step = _AT_A_TIME[is_cupy_array(rows)]
    for begin, end in pairwise([*range(0, len(rows), step), len(rows)]):
        part = rows[begin:end]
        out[begin:end] = part + shifts[np.searchsorted(cuts, part, side="right")]
    return out
