"""The graph that every kernel takes, and the widths of its arrays.

Rows are dense: row r of V is a vertex whose external id is `ids[r]`. A row's arcs ascend by the *external* id of their neighbour,
then by weight. The first arc of an in-row that satisfies a rule therefore has the smallest external id, which makes
predecessors unique (docs/architecture.md, "Answers are unique").
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from kernels.derived import Derived

# NumPy's arrays, or CuPy's if a graph is on a GPU: CuPy publishes no types, so the checker treats its arrays as NumPy's.
Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
OFFSET = np.dtype(np.int64)
ID = np.dtype(np.int64)
WEIGHTS = tuple(np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64))
NO_ROW = -1  # in arrays of rows: no such vertex
UNREACHED = -1  # in arrays of distances, integer or float: no path


def index_dtype(num_vertices: int) -> np.dtype[Any]:
    """Type of a row (index width): int32, and int64 from 2^31 vertices."""
    return np.dtype(np.int32 if num_vertices < 2**31 else np.int64)


def distance_dtype(weights: Array | None) -> np.dtype[Any]:
    """Type of a sum of `weights`: int64 for integers and without weights (None), float64 for floats."""
    return np.dtype(np.int64 if weights is None or weights.dtype.kind == "i" else np.float64)


@dataclass(frozen=True)
class Csr:
    """Compressed sparse rows."""

    offsets: Array  # int64 [V + 1]: row r has the arcs `offsets[r]:offsets[r + 1]`
    indices: Array  # int32 or int64 [A]: the neighbour's row
    # int32, int64, float32 or float64 [A], or None: None if the graph has no weights; every arc then has weight 1.
    weights: Array | None

    @property
    def used_rows(self) -> int:
        """Number of rows up to the last one that has arcs."""
        return int(np.searchsorted(self.offsets, self.offsets[-1:])[0])

    def first_rows(self, num_rows: int) -> "Csr":
        """The first rows, without a copy."""
        return Csr(self.offsets[: num_rows + 1], self.indices, self.weights)

    def validate(self, num_vertices: int, num_rows: int | None = None) -> None:
        """Raise ValueError unless the arrays have these widths and lengths and every index is a row; a shard has `num_rows`."""
        rows = num_vertices if num_rows is None else num_rows
        _require(self.offsets.dtype == OFFSET, f"offsets are {self.offsets.dtype}, not {OFFSET}")
        _require(len(self.offsets) == rows + 1, f"{len(self.offsets)} offsets for {rows} rows")
        _require(int(self.offsets[0]) == 0, f"offsets start at {self.offsets[0]}, not 0")
        _require(bool((self.offsets[1:] >= self.offsets[:-1]).all()), "offsets descend")
        _require(int(self.offsets[-1]) == len(self.indices), f"offsets end at {self.offsets[-1]}, indices at {len(self.indices)}")
        _require(self.indices.dtype == index_dtype(num_vertices), f"indices are {self.indices.dtype}")
        if len(self.indices):
            low, high = int(self.indices.min()), int(self.indices.max())
            _require(low >= 0 and high < num_vertices, f"indices {low}..{high} leave 0..{num_vertices - 1}")
        if self.weights is not None:
            _require(self.weights.dtype in WEIGHTS, f"weights are {self.weights.dtype}")
            _require(len(self.weights) == len(self.indices), f"{len(self.weights)} weights for {len(self.indices)} arcs")
            # `not >= 0` also catches NaN
            _require(not len(self.weights) or bool((self.weights >= 0).all()), "a weight is negative or NaN")


def joined_offsets(parts: Sequence[Csr]) -> Array:
    """The offsets of the concatenated rows of CSRs: int64, NumPy's if there are several."""
    if len(parts) == 1:
        return parts[0].offsets
    ends = np.cumsum([0, *(part.offsets[-1] for part in parts)])
    return np.concatenate([ends[:1], *(part.offsets[1:] + start for part, start in zip(parts, ends, strict=False))])


@dataclass(frozen=True)
class Graph:
    """A graph in its running order; an undirected edge is two arcs.

    Example:
        >>> out = Csr(np.array([0, 2, 3, 3]), np.array([1, 2, 2], np.int32), np.array([4, 9, 3]))  # 0 -> 1, 0 -> 2, 1 -> 2
        >>> into = Csr(np.array([0, 0, 1, 3]), np.array([0, 0, 1], np.int32), np.array([4, 9, 3]))
        >>> graph = Graph(np.array([10, 20, 30]), np.arange(3, dtype=np.int32), out, into)
        >>> graph.validate()
    """

    ids: Array  # int64 [V]: external id of each row; distinct, none negative
    rows_by_id: Array  # int32 or int64 [V]: the rows in ascending order of their external ids
    out: Csr  # out-arcs of each row
    into: Csr  # in-arcs of each row. The same object as `out` if the graph is symmetric (weights included).
    # Whether its source states a direction. What an answer means depends on this alone, even if every arc has its reverse.
    directed: bool = True
    # What kernels derived from these arrays: plans and layouts, kept as long as the graph.
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)
    # What follows from `ids` and `rows_by_id` alone; graphs of the same vertices may share it.
    numbering: Derived = field(default_factory=Derived, compare=False, repr=False)

    @cached_property
    def num_vertices(self) -> int:
        """Number of vertices, isolated ones included."""
        return len(self.ids)

    @cached_property
    def num_arcs(self) -> int:
        """Number of stored directed edges."""
        return len(self.out.indices)

    @property
    def symmetric(self) -> bool:
        """Whether every arc has its reverse of the same weight, and in-rows are out-rows. It only saves memory and time.

        A directed graph may be symmetric; so what an answer means never depends on this, but on `directed`.
        """
        return self.into is self.out

    @property
    def positions(self) -> Array:
        """Position of each row in the ascending order of external ids (index width) [V]: the inverse of `rows_by_id`."""
        return self.numbering.get(_inverse, lambda: _inverse(self.rows_by_id))

    def validate(self) -> None:
        """Raise ValueError with the first broken rule: the direction, the ids, both sides, and the order within a row."""
        _require(self.directed or self.symmetric, "the graph is undirected, but its in-arcs are not its out-arcs")
        num_vertices = self.num_vertices
        _require(self.ids.dtype == ID, f"ids are {self.ids.dtype}, not {ID}")
        _require(self.rows_by_id.dtype == index_dtype(num_vertices), f"rows_by_id is {self.rows_by_id.dtype}")
        _require(len(self.rows_by_id) == num_vertices, f"{len(self.rows_by_id)} rows by id for {num_vertices} vertices")
        if num_vertices:
            low, high = int(self.rows_by_id.min()), int(self.rows_by_id.max())
            _require(low >= 0 and high < num_vertices, f"rows_by_id {low}..{high} leaves 0..{num_vertices - 1}")
        ascending = self.ids[self.rows_by_id]
        _require(bool((ascending[1:] > ascending[:-1]).all()), "ids repeat, or rows_by_id does not sort them")
        _require(not num_vertices or int(ascending[0]) >= 0, "an id is negative")
        for csr in (self.out,) if self.symmetric else (self.out, self.into):
            csr.validate(num_vertices)
            _require_sorted_rows(csr, self.ids)
        _require(len(self.into.indices) == self.num_arcs, f"{self.num_arcs} out-arcs, {len(self.into.indices)} in-arcs")
        _require((self.out.weights is None) == (self.into.weights is None), "one direction has weights, the other none")


def _inverse(rows_by_id: Array) -> Array:
    positions = np.empty_like(rows_by_id)
    positions[rows_by_id] = np.arange(len(rows_by_id), dtype=positions.dtype, like=positions)
    return positions


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _require_sorted_rows(csr: Csr, ids: Array) -> None:
    if len(csr.indices) < 2:
        return
    neighbours = ids[csr.indices]
    broken = neighbours[1:] < neighbours[:-1]
    if csr.weights is not None:
        broken |= (neighbours[1:] == neighbours[:-1]) & (csr.weights[1:] < csr.weights[:-1])
    starts = csr.offsets[1:-1]
    starts = starts[(starts > 0) & (starts < len(neighbours))]
    broken[starts - 1] = False
    _require(not bool(broken.any()), "the arcs of a row do not ascend by external id, then weight")
