"""What a rank has of a graph that was laid out: its rows, taken from arcs between positions."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kernels.arrays import frozen, is_cupy
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import differences, elementwise, over_items, over_rows, ranges, running_sums
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.rules import Edges
from kernels.records import dataclass


@dataclass(frozen=True)
class LaidOut:
    """A rank's rows of the graph, with stored or dealt numbers, in parts of consecutive rows."""

    bounds: Array  # int64 [P + 1]: part p of the graph has the rows `bounds[p]:bounds[p + 1]`; always a NumPy array
    parts: range  # the parts of this rank: all of a single rank's, otherwise part r of rank r
    ids: Array  # int64 [n]: external ids of the own rows
    positions: Array  # index width [n]: their positions in the ascending order of all external ids
    first_position: int  # where this rank's slice of all rows in the order of their ids begins
    rows_by_id: Array  # index width [k]: that slice. Concatenated over the ranks it is `Graph.rows_by_id`.
    directions: dict[str, Csr]  # arcs by direction: "out", and "in" unless the graph is symmetric. `take` gives their rows.
    directed: bool  # as `kernels.graph.Graph.directed`
    by_position: bool  # whether rows and indices of the directions are still positions, of the whole graph
    self_loops: int  # number of edges, of all ranks, that are self-loops
    dropped: list[Edges]  # edges that were dropped because a parallel one is no heavier, each on one rank

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return int(self.bounds[-1])

    def rows(self, part: int) -> range:
        """The rows of a part."""
        return range(int(self.bounds[part]), int(self.bounds[part + 1]))

    def degrees(self, direction: str) -> Array:
        """Numbers of arcs of the own rows, int64 [n]; "in" of a symmetric graph is "out"."""
        degrees = differences(self.directions.get(direction, self.directions["out"]).offsets)
        if not self.by_position:
            return degrees
        return elementwise(degrees.take, self.positions, dtype=degrees.dtype)

    def take(self, part: int, direction: str) -> Csr:
        """The arcs of one of this rank's parts, made now if a single rank has them by position; indices are rows."""
        return self._taken(direction, self.rows(part)) if self.by_position else self.directions[direction]

    def whole(self, direction: str) -> Csr:
        """The arcs of all rows of a single rank."""
        return self._taken(direction, range(self.num_vertices)) if self.by_position else self.directions[direction]

    def pieces(self, part: int, direction: str, most: int) -> Iterator[Csr]:
        """The same arcs of a single rank in ranges of rows that have about `most` arcs, or one row; offsets begin at 0.

        Each range reads the arcs once from the first to the last, because they may be in a file.
        """
        rows = self.rows(part)
        degrees = self.degrees(direction)[rows.start : rows.stop]
        cuts = np.flatnonzero(np.diff(degrees.cumsum() // most, prepend=0)) + rows.start
        for begin, end in pairwise([rows.start, *cuts.tolist(), rows.stop]):
            yield self._taken(direction, range(begin, end), in_turn=True)

    def free(self, direction: str) -> None:
        """Free the arcs of a direction, of which only the degrees are asked for any more."""
        arcs = self.directions[direction]
        self.directions[direction] = Csr(arcs.offsets, arcs.indices[:0].copy(), None)

    def _taken(self, direction: str, rows: range, in_turn: bool = False) -> Csr:
        return take_rows(self.directions[direction], self.positions[rows.start : rows.stop], self.rows_by_id, in_turn)


def take_rows(by_position: Csr, order: Array, row_of_position: Array | None, in_turn: bool = False) -> Csr:
    """Take the rows of the positions in `order` and renumber their indices; arcs keep their order within a row.

    Args:
        by_position: A graph whose rows are positions, or some rows of one; the indices may be of another numbering.
        order (index width [R]): The row of `by_position` for each new row.
        row_of_position (index width [V], or None): The new index for each old one. None keeps the indices.
        in_turn: Whether the arcs are read in ascending order of their places, on a CPU.
    """
    if is_cupy(by_position):
        from kernels.layout import cuda

        return cuda.take_rows(by_position, order, row_of_position)
    begins, ends = by_position.offsets[:-1], by_position.offsets[1:]
    offsets = running_sums(elementwise(lambda rows: ends.take(rows) - begins.take(rows), order, dtype=OFFSET))
    arcs = int(offsets[-1])
    weights = None if by_position.weights is None else np.empty(arcs, by_position.weights.dtype)
    dtype = by_position.indices.dtype if row_of_position is None else row_of_position.dtype
    rows = Csr(offsets, np.empty(arcs, dtype), weights)
    old = (*(None if array is None else frozen(array) for array in (*_arrays(by_position), order, row_of_position)),)
    new = offsets, rows.indices, weights
    if in_turn:
        turns = np.argsort(order)
        over_items(ranges(len(order), arcs), lambda part: _take(*old, *new, turns, *part))
    else:
        over_rows(rows, lambda begin, end: _take(*old, *new, None, begin, end))
    return rows


def _arrays(csr: Csr) -> tuple[Array, Array, Array | None]:
    return csr.offsets, csr.indices, csr.weights


@njit(cache=True, nogil=True)
def _take(
    offsets: Array, indices: Array, weights: Array | None, order: Array, row_of_position: Array | None,
    new_offsets: Array, new_indices: Array, new_weights: Array, turns: Array | None, begin: int, end: int,
) -> None:  # fmt: skip
    for turn in range(begin, end):
        row = turn if turns is None else turns[turn]
        arc = offsets[order[row]]
        for new in range(new_offsets[row], new_offsets[row + 1]):
            new_indices[new] = indices[arc] if row_of_position is None else row_of_position[indices[arc]]
            if weights is not None:
                new_weights[new] = weights[arc]
            arc += 1


def parallel_arcs(rows: Csr) -> int:
    """Number of arcs whose head is that of the arc before them in their row: of those of one pair all but one."""
    same = rows.indices[1:] == rows.indices[:-1]
    begins = rows.offsets[1:-1]
    same[begins[(begins > 0) & (begins < len(rows.indices))] - 1] = False
    return int(same.sum())
