"""What one rank holds: a contiguous range of rows, their arcs, and the little it knows of the rows at their other ends.

Own rows and ghosts have local numbers: the own ones from 0 in the order of the graph, then the ghosts in the order of the
graph. Ghosts of one owner so stand together. A row's arcs keep their order, ascending by the external id of the other end.
Nothing here is as long as the graph has vertices: arrays are as long as the shard has rows, arcs or ghosts, or there are ranks.
A shard of a road network has few ghosts; one of a social network may have a good part of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from kernels.backend import is_cupy_array
from kernels.graph import OFFSET, Array, Csr, Graph, index_dtype
from kernels.layout import shards

Answer = TypeVar("Answer")
_PIECE = 1 << 16  # rows of `rows_by_id` that are read at a time


@dataclass(frozen=True)
class Part(Generic[Answer]):
    """What a sharded kernel returns: the answer for the own rows, and how often the ranks had to exchange.

    Attributes
    ----------
    answer
        As the one-worker kernel's, but of the own rows only; what it names are rows of the whole graph.
    supersteps : int
        Rounds of local work, each followed by an exchange; the same on all ranks.
    """

    answer: Answer
    supersteps: int


@dataclass(frozen=True)
class Shard:
    """One rank's part of a graph, of n own rows and g ghosts.

    Attributes
    ----------
    rank : int
    bounds : int64 [size + 1]
        Rank r owns the rows `bounds[r]:bounds[r + 1]`; always a NumPy array.
    ids : int64 [n]
        External ids of the own rows.
    ranks : index width [n]
        Places of the own rows in the ascending order of all external ids.
    out, into : Csr
        Arcs of the own rows; indices are rows of the whole graph. The same object where the graph is symmetric.
    ghosts : index width [g]
        Rows that others own and an own row has an arc to or from; ascending, each once. No more than the shard has arcs.
    ghost_ranks : index width [g]
        Their places in the order of external ids, for rules that compare ids.
    """

    rank: int
    bounds: Array
    ids: Array
    ranks: Array
    out: Csr
    into: Csr
    ghosts: Array
    ghost_ranks: Array

    @property
    def rows(self) -> range:
        """The own rows."""
        return range(int(self.bounds[self.rank]), int(self.bounds[self.rank + 1]))

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the whole graph."""
        return int(self.bounds[-1])

    @property
    def symmetric(self) -> bool:
        """Whether in-arcs are out-arcs."""
        return self.into is self.out

    @property
    def num_ghosts(self) -> int:
        """Number of ghosts, g."""
        return len(self.ghosts)

    @cached_property
    def ghost_bounds(self) -> Array:
        """The ghosts that rank r owns stand at `ghost_bounds[r]:ghost_bounds[r + 1]` (int64 [size + 1], a NumPy array)."""
        bounds: Array = np.searchsorted(self.ghosts, self._like(self.bounds.astype(self.ghosts.dtype)))
        return bounds.get() if is_cupy_array(bounds) else bounds

    @cached_property
    def local_rows(self) -> Array:
        """The row of each local number (index width [n + g])."""
        xp_rows = np.arange(self.rows.start, self.rows.stop, dtype=self.ghosts.dtype, like=self.ghosts)
        return np.concatenate([xp_rows, self.ghosts])

    @cached_property
    def local_out(self) -> Csr:
        """The out-arcs by local numbers; ghosts have none. `offsets` has n + g + 1 entries."""
        return self._local(self.out)

    @cached_property
    def local_into(self) -> Csr:
        """The in-arcs by local numbers; ghosts have none. The same object as `local_out` where the graph is symmetric."""
        return self.local_out if self.symmetric else self._local(self.into)

    def require_row(self, row: int) -> None:
        """Raise IndexError unless `row` is a row of the whole graph."""
        if not 0 <= row < self.num_vertices:
            raise IndexError(f"row {row} is not in 0..{self.num_vertices - 1}, the rows of this graph")

    def own_numbers(self, row: int) -> Array:
        """The local number of a row, in an array of one; of none where another rank owns it."""
        numbers = [row - self.rows.start] if row in self.rows else []
        return np.array(numbers, self.ghosts.dtype, like=self.ghosts)

    def by_owner(self, of_ghosts: Array) -> list[Array]:
        """Cut an array of the ghosts [g] into the parts of their owners: what `Communicator.exchange` takes."""
        return np.split(of_ghosts, self.ghost_bounds[1:-1].tolist())

    def _local(self, csr: Csr) -> Csr:
        rows = self.rows
        own = (csr.indices >= rows.start) & (csr.indices < rows.stop)
        places = len(rows) + np.searchsorted(self.ghosts, csr.indices)
        indices = np.where(own, csr.indices - rows.start, places).astype(csr.indices.dtype)
        no_arcs = np.full(self.num_ghosts, csr.offsets[-1], OFFSET, like=csr.offsets)
        return Csr(np.concatenate([csr.offsets, no_arcs]), indices, csr.weights)

    def _like(self, array: Array) -> Array:
        return np.asarray(array, like=self.ghosts)


def assemble(rank: int, bounds: Array, ids: Array, rows_by_id: Array, out: Csr, into: Csr) -> Shard:
    """Make a shard of what a stored graph has of it.

    Parameters
    ----------
    rank : int
    bounds : int64 [size + 1]
    ids : int64 [n]
        External ids of the own rows.
    rows_by_id : index width [V]
        All rows in ascending order of their ids, as a memory map: it is read once, in pieces, and not kept.
    out, into : Csr
        Arcs of the own rows to rows of the whole graph; the same object where the graph is symmetric.
    """
    start, stop = bounds[rank], bounds[rank + 1]
    ghosts = _ghosts(range(int(start), int(stop)), (out,) if into is out else (out, into))
    ranks = np.empty(stop - start, index_dtype(int(bounds[-1])))
    ghost_ranks = np.empty_like(ghosts)
    for first in range(0, len(rows_by_id), _PIECE):
        rows = np.asarray(rows_by_id[first : first + _PIECE])
        own = np.flatnonzero((rows >= start) & (rows < stop))
        ranks[rows[own] - start] = first + own
        if len(ghosts):
            places = np.minimum(np.searchsorted(ghosts, rows), len(ghosts) - 1)
            known = np.flatnonzero(ghosts[places] == rows)
            ghost_ranks[places[known]] = first + known
    return Shard(rank, np.asarray(bounds, OFFSET), ids, ranks, out, into, ghosts, ghost_ranks)


def _ghosts(rows: range, directions: Sequence[Csr]) -> Array:
    foreign = [csr.indices[(csr.indices < rows.start) | (csr.indices >= rows.stop)] for csr in directions]
    return np.unique(np.concatenate(foreign))


def split(graph: Graph, bounds: Array) -> list[Shard]:
    """Cut a graph in memory into shards of the rows `bounds[r]:bounds[r + 1]` (int64 [size + 1]), arcs uncopied."""
    return [_split_off(graph, bounds, rank) for rank in range(len(bounds) - 1)]


def _split_off(graph: Graph, bounds: Array, rank: int) -> Shard:
    start, stop = int(bounds[rank]), int(bounds[rank + 1])
    out = _cut(graph.out, start, stop)
    into = out if graph.symmetric else _cut(graph.into, start, stop)
    return assemble(rank, bounds, graph.ids[start:stop], graph.rows_by_id, out, into)


def even_bounds(graph: Graph, size: int) -> Array:
    """Cut the rows where `size` ranks have about equally many arcs, as the stored graph does: int64 [size + 1]."""
    degrees = np.diff(graph.out.offsets) + np.diff(graph.into.offsets)
    return np.array([0, *(rows.stop for rows in shards.cut(degrees, size))], OFFSET)


def _cut(csr: Csr, start: int, stop: int) -> Csr:
    first, last = int(csr.offsets[start]), int(csr.offsets[stop])
    weights = None if csr.weights is None else csr.weights[first:last]
    return Csr(csr.offsets[start : stop + 1] - first, csr.indices[first:last], weights)
