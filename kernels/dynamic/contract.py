"""What every structure for changing graphs offers, and the rules that all of them follow."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from kernels.dynamic.arrays import kept_places, offsets_of, ones, owners_of
from kernels.graph import Array, Csr

LARGEST_VERTEX = 2**31 - 2  # vertices are int32


@dataclass(frozen=True)
class Rules:
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


class DynamicGraph(Protocol):
    """A graph in NumPy's or CuPy's memory that changes between searches."""

    @property
    def num_rows(self) -> int:
        """One more than the largest vertex; vertices are rows, and a removed one is a row without arcs."""

    @property
    def num_arcs(self) -> int:
        """Stored arcs."""

    def exists(self) -> Array:
        """Whether each row is a vertex: bool [num_rows]."""

    def add_vertices(self, number: int) -> None:
        """Add vertices `num_rows`, `num_rows + 1`, ..."""

    def insert(self, batch: Batch) -> Counts:
        """Insert arcs."""

    def delete(self, batch: Batch) -> Counts:
        """Delete arcs; of parallel arcs, as many as the batch names. Weights are ignored."""

    def advance(self, rows: Array) -> Lists:
        """The arcs of rows, in the order of the rows, which may repeat; rows of removed vertices have none."""

    def csr(self) -> Csr:
        """All arcs: a row's in the structure's order."""


def as_batch(like: Array, src: Any, dst: Any, weights: Any = None, dtype: Any = None) -> Batch:
    """A batch in the memory of `like`.

    Raises:
        ValueError: The columns differ in length; a vertex is not an integer in 0..2^31 - 2; a weight is not 0 or more and
            finite, or an integer type does not hold it.
    """
    columns = [np.asarray(column, like=like) for column in (src, dst)]
    if len({len(column) for column in columns} | ({len(weights)} if weights is not None else set())) > 1:
        raise ValueError("batch: columns of different lengths")
    for column in columns:
        if len(column) and column.dtype.kind not in "iu":
            raise ValueError(f"batch: vertices are {column.dtype}, not integers")
        if len(column) and not (int(column.min()) >= 0 and int(column.max()) <= LARGEST_VERTEX):
            raise ValueError(f"batch: vertices {int(column.min())}..{int(column.max())} are not all in 0..{LARGEST_VERTEX}")
    kept = None if dtype is None else ones(len(columns[0]), dtype, like)
    if kept is not None and weights is not None:
        given = np.asarray(weights, like=like)
        with np.errstate(over="ignore", invalid="ignore"):
            kept = given.astype(dtype)
        held = (kept >= 0) & (np.isfinite(kept) if kept.dtype.kind == "f" else kept == given)
        if kept.dtype.kind == "i" and given.dtype.kind == "f":  # a GPU converts larger ones to the largest integer
            held &= given < 2.0 ** (8 * kept.itemsize - 1)
        if not held.all():
            raise ValueError(f"batch: weight {given[~held][0]} is not one of {kept.dtype}, 0 or more, and finite")
    return Batch(columns[0].astype(np.int32), columns[1].astype(np.int32), kept)


def taken_arcs(batch: Batch, num_rows: int, rules: Rules) -> tuple[Batch, int]:
    """The arcs of a batch between vertices, both of an edge if undirected, and the number of the others."""
    arcs = both_arcs(batch) if rules.undirected else batch
    inside = taken(arcs, kept_places((arcs.src < num_rows) & (arcs.dst < num_rows)))
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
