"""What every structure for changing graphs offers, and the rules that all of them follow."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kernels.arrays import require_integer
from kernels.graph import Array, Csr
from kernels.library.dynamic.arrays import kept_places, offsets_of, ones, owners_of
from kernels.library.dynamic.values import LARGEST_VERTEX, column_of, converted, require_vertex, vertices_of


@dataclass(frozen=True)
class BatchRules:
    """How batches are read."""

    unique: bool = False  # skip arcs that exist or are repeated in the batch, instead of storing parallel arcs
    undirected: bool = False  # insert and delete both arcs of an edge; a self-loop is one arc


class Counts(NamedTuple):
    """What a batch did, in arcs."""

    applied: int  # inserted or deleted
    duplicates: int  # not inserted, because the arc exists or an earlier one of the batch is equal
    missing: int  # without a vertex at either end; in a deletion arcs that do not exist


class Lists(NamedTuple):
    """The arcs of several rows, one row's after the other's."""

    offsets: Array  # int64 [n + 1]
    heads: Array  # int32 [offsets[-1]]
    weights: Array | None


class Batch(NamedTuple):
    """Arcs: the columns of a batch, which may be views with gaps."""

    src: Array  # int32 [B]
    dst: Array  # int32 [B]
    weights: Array | None  # [B]: converted to the graph's type


class DynamicGraph(ABC):
    """A graph in NumPy's or CuPy's memory that changes between searches. All structures follow this contract.

    * **Vertices** are the integers 0..num_rows - 1, less removed ones. An arc of a batch that names another number, however large
      or negative, in whatever integer type, is not stored; it is counted as `missing`.
    * **Weights** have one type for the life of the graph, that of its CSR: int32, int64, float32, float64, or none. A batch
      brings weights if the graph has them, and none otherwise. They may be integers, floats or bools of any type, and are stored
      as they are, or rounded to the nearest float. One that is negative, not finite, or that the graph's type cannot hold (2^40
      or 1.75 in int32, 1e300 or 1e-300 in float32) is refused. So are weights for a graph without. Deletions ignore weights.
    * **Rows** to advance from are integers in 0..num_rows - 1. Removed vertices have no arcs.
    * **A call that is refused** raises before it changes anything: ValueError for columns, weights and negative numbers of
      vertices, IndexError for rows, TypeError for all but integers, OverflowError for vertices that would not fit int32.

    The methods here check; those that structures define take what has been checked.
    """

    rules: BatchRules
    parts: ClassVar[str]  # what its arcs are kept in

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """One more than the largest vertex; vertices are rows, and a removed one is a row without arcs."""

    @property
    @abstractmethod
    def num_arcs(self) -> int:
        """Stored arcs."""

    @property
    @abstractmethod
    def weight_dtype(self) -> np.dtype[Any] | None:
        """Type of the weights; None without weights."""

    @abstractmethod
    def exists(self) -> Array:
        """Whether each row is a vertex: bool [num_rows]."""

    @abstractmethod
    def csr(self) -> Csr:
        """All arcs: a row's in the structure's order."""

    @abstractmethod
    def lists(self, rows: Array) -> Lists:
        """As `advance`, of rows (int32 [n]) that are known to be in 0..num_rows - 1."""

    @abstractmethod
    def _append_rows(self, number: int) -> None: ...

    @abstractmethod
    def _insert(self, batch: Batch) -> Counts: ...

    @abstractmethod
    def _delete(self, batch: Batch) -> Counts: ...

    @property
    @abstractmethod
    def _like(self) -> Array:
        """An array in the graph's memory."""

    def add_vertices(self, number: int) -> None:
        """Add vertices `num_rows`, `num_rows + 1`, ..., `number` of them."""
        number = require_integer("number of vertices", number)
        if number < 0:
            raise ValueError(f"add_vertices: {number} vertices; use 0 or more, as numbers of vertices are not used again")
        require_vertex(self.num_rows + number - 1)
        self._append_rows(number)

    def insert(self, batch: Batch) -> Counts:
        """Insert arcs."""
        weights, dtype = batch.weights, self.weight_dtype
        if dtype is not None and weights is None:
            raise ValueError(f"batch: arcs without weights for {self.parts} with weights")
        if dtype is None and weights is not None:
            raise ValueError(f"batch: arcs with weights for {self.parts} without weights")
        return self._insert(self._taken(batch, None if weights is None else converted(weights, dtype, self._like)))

    def delete(self, batch: Batch) -> Counts:
        """Delete arcs; of parallel arcs, as many as the batch names. Weights are ignored."""
        return self._delete(self._taken(batch, None))

    def advance(self, rows: Any) -> Lists:
        """The arcs of rows (integers [n]), in the order of the rows, which may repeat; rows of removed vertices have none."""
        given = column_of(rows, self._like)
        if len(given) and given.dtype.kind not in "iu":
            raise TypeError(f"rows are {given.dtype}, not integers")
        outside = (given < 0) | (given >= self.num_rows)
        if bool(outside.any()):
            raise IndexError(f"row {int(given[outside][0])} is not in 0..{self.num_rows - 1}, the rows of this graph")
        return self.lists(given.astype(np.int32, copy=False))

    def _taken(self, batch: Batch, weights: Array | None) -> Batch:
        """The batch as structures take it: int32 columns of one length, -1 for what no vertex is, and the given weights."""
        taken = Batch(vertices_of(batch.src, self._like), vertices_of(batch.dst, self._like), weights)
        require_one_length(taken)
        return taken


def as_batch(like: Array, src: Any, dst: Any, weights: Any = None, dtype: Any = None) -> Batch:
    """A batch in the memory of `like`.

    Args:
        dtype: Type of the graph's weights; without one the batch has no weights. Weights are 1 unless they are given.

    Raises:
        ValueError: The columns differ in length; a vertex is not an integer in 0..2^31 - 2; a weight is not 0 or more and
            finite, or the type does not hold it.
    """
    given, ends = None if weights is None else column_of(weights, like), list[Array]()
    for column in (column_of(src, like), column_of(dst, like)):
        ends.append(vertices_of(column, like))
        if len(column) and int(ends[-1].min()) < 0:
            raise ValueError(f"batch: vertices {int(column.min())}..{int(column.max())} are not all in 0..{LARGEST_VERTEX}")
    require_one_length(Batch(ends[0], ends[1], given))
    kept = None if dtype is None else ones(len(ends[0]), dtype, like) if given is None else converted(given, dtype, like)
    return Batch(ends[0], ends[1], kept)


def require_one_length(batch: Batch) -> None:
    """Raise ValueError unless the columns of a batch are equally long."""
    if len({len(column) for column in batch if column is not None}) > 1:
        raise ValueError("batch: columns of different lengths")


def taken_arcs(batch: Batch, num_rows: int, rules: BatchRules) -> tuple[Batch, int]:
    """The arcs of a batch between vertices, both of an edge if undirected, and the number of the others."""
    arcs = both_arcs(batch) if rules.undirected else batch
    inside = taken(arcs, kept_places((arcs.src >= 0) & (arcs.src < num_rows) & (arcs.dst >= 0) & (arcs.dst < num_rows)))
    return inside, len(arcs.src) - len(inside.src)


def lists_of_rows(csr: Csr, rows: Array) -> Lists:
    """The arcs of rows of a CSR, one row's after the other's."""
    begins = csr.offsets[rows]
    offsets = offsets_of(csr.offsets[rows + 1] - begins)
    owner = owners_of(offsets)
    places = np.arange(len(owner), dtype=np.int64, like=owner) + (begins - offsets[:-1])[owner]
    return Lists(offsets, csr.indices[places], None if csr.weights is None else csr.weights[places])


def both_arcs(batch: Batch) -> Batch:
    """Both arcs of each edge, a self-loop once; edge by edge, so that parallel arcs have one order in the lists of both ends."""
    turned = np.flatnonzero(batch.src != batch.dst)
    counts = ones(len(batch.src), np.int64, batch.src)
    counts[turned] = 2
    offsets = offsets_of(counts)
    edge, second = owners_of(offsets), offsets[turned] + 1
    src, dst = batch.src[edge], batch.dst[edge]
    src[second], dst[second] = batch.dst[turned], batch.src[turned]
    return Batch(src, dst, None if batch.weights is None else batch.weights[edge])


def taken(batch: Batch, kept: Any) -> Batch:
    """The arcs of places."""
    return Batch(batch.src[kept], batch.dst[kept], None if batch.weights is None else batch.weights[kept])
