"""What one rank holds: a contiguous range of rows, their arcs, and the little it knows of the rows at their other ends.

Rows are numbered as they were dealt to the ranks (`kernels.distributed.dealing`), which may differ from their stored numbers.
 Own rows and ghosts have local numbers: the own ones from 0 in the order of the graph, then the ghosts in the order of
the graph. Ghosts of one owner so stand together. A row's arcs keep their order, ascending by the external id of the other end.
Nothing here is as long as the graph has vertices: arrays are as long as the shard has rows, arcs or ghosts, or there are ranks.
A shard of a road network has few ghosts; one of a social network may have a good part of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Literal, TypeVar

import numpy as np

from kernels.arrays import is_cupy, is_cupy_array
from kernels.derived import Derived
from kernels.distributed.columns import distinct
from kernels.distributed.dealing import Dealing, cut_of
from kernels.distributed.searching import places_upto
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, Graph, joined_offsets

Answer = TypeVar("Answer")
Place = Literal["device", "host"]  # of a GPU's arcs: its memory, or the host's, which it reads at the speed of the bus
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


class LocalArcs(Csr):
    """Arcs of own rows that are kept by local numbers only; `indices`, rows of the whole graph, are made anew at each use.

    Parameters
    ----------
    local : Csr
        As `Shard.local_out`.
    start, num_own : int
        First own row, and n.
    ghosts : index width [g]
    """

    local: Csr

    def __init__(self, local: Csr, start: int, num_own: int, ghosts: Array):
        # As frozen as the base class, whose `indices` are a property here
        self.__dict__.update(local=local, offsets=local.offsets[: num_own + 1], weights=local.weights)
        self.__dict__["_names"] = start, num_own, ghosts

    @property
    def indices(self) -> Array:
        """Rows of the whole graph [A]."""
        return _local_rows(*self.__dict__["_names"])[self.local.indices]


def _local_rows(start: int, num_own: int, ghosts: Array) -> Array:
    return np.concatenate([np.arange(start, start + num_own, dtype=ghosts.dtype, like=ghosts), ghosts])


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
    positions : index width [n]
        Positions of the own rows in the ascending order of all external ids.
    out, into : Csr
        Arcs of the own rows; indices are rows of the whole graph. The same object where the graph is symmetric.
        On a GPU they are `LocalArcs`, and kernels take `local_out` and `local_into`.
    ghosts : index width [g]
        Rows that others own and an own row has an arc to or from; ascending, each once. No more than the shard has arcs.
    ghost_positions : index width [g]
        Their positions in the order of external ids, for rules that compare ids.
    derived : Derived
        What kernels derived from these arrays, kept as long as the shard.
    """

    rank: int
    bounds: Array
    ids: Array
    positions: Array
    out: Csr
    into: Csr
    ghosts: Array
    ghost_positions: Array
    derived: Derived = field(default_factory=Derived, init=False, compare=False, repr=False)

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
        bounds: Array = np.searchsorted(self.ghosts, np.asarray(self.bounds.astype(self.ghosts.dtype), like=self.ghosts))
        return to_host(bounds)

    @cached_property
    def local_rows(self) -> Array:
        """The row of each local number (index width [n + g])."""
        return _local_rows(self.rows.start, len(self.rows), self.ghosts)

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
        if isinstance(csr, LocalArcs):
            return csr.local
        if is_cupy(csr):
            from kernels.distributed.gpu import shard as cuda

            return cuda.local_arcs(self, csr)
        rows = self.rows
        own = (csr.indices >= rows.start) & (csr.indices < rows.stop)
        places = places_upto(self.ghosts, csr.indices)
        places += len(rows) - 1
        indices = np.where(own, csr.indices - rows.start, places)
        no_arcs = np.full_like(csr.offsets, csr.offsets[-1], OFFSET, shape=(self.num_ghosts,))
        return Csr(np.concatenate([csr.offsets, no_arcs]), indices, csr.weights)


def to_device(shard: Shard, arcs: Place = "device") -> Shard:
    """The same shard with CuPy arrays, on the current GPU; one that is there is copied.

    Parameters
    ----------
    shard : Shard
    arcs : "device" or "host"
        Where the arcs' other ends and weights lie. "host" is pinned memory that kernels read without a copy: for a GPU whose
        own is too small, some ten times slower to read. All else lies on the device.

    Notes
    -----
    Arcs are copied once and numbered in place; beside them the device holds a quarter of a byte for each row of the whole graph.
    """
    from kernels.distributed.gpu import shard as cuda

    return cuda.to_device(shard, arcs)


def assemble(
    rank: int, dealing: Dealing, ids: Array, rows_by_id: Array, out: Sequence[Csr], into: Sequence[Csr], gpu: Place | None = None
) -> Shard:
    """Make a shard of what a stored graph has of it, or of a part of a graph on a GPU.

    Parameters
    ----------
    rank : int
    dealing : Dealing
    ids : int64 [n]
        External ids of the own rows.
    rows_by_id : index width [V]
        All stored rows in ascending order of their ids, as a memory map: it is read once, in pieces, and not kept.
    out, into : sequence of Csr
        Arcs of the own rows, some rows after the others, to stored rows; the same object where the graph is symmetric.
    gpu : "device", "host" or None
        None for arrays like those given. Else the shard's arrays are CuPy's, on the current GPU, and this is where its arcs lie
        (`to_device`); the given ones may still be NumPy's, memory maps too. This is the way with the smallest peak.
    """
    if gpu or is_cupy(out[0]):
        from kernels.distributed.gpu import shard as cuda

        return cuda.assemble(rank, dealing, ids, rows_by_id, out, into, gpu or "device")
    start, stop = dealing.bounds[rank], dealing.bounds[rank + 1]
    directions = [_joined(parts, dealing) for parts in ((out,) if into is out else (out, into))]
    ghosts = ghosts_of(range(int(start), int(stop)), directions)
    positions = np.empty(stop - start, ghosts.dtype)
    ghost_positions = np.empty_like(ghosts)
    for first in range(0, len(rows_by_id), _PIECE):
        rows = dealing.dealt(np.asarray(rows_by_id[first : first + _PIECE]))
        own = np.flatnonzero((rows >= start) & (rows < stop))
        positions[rows[own] - start] = first + own
        if len(ghosts):
            places = np.maximum(places_upto(ghosts, rows) - 1, 0)
            known = np.flatnonzero(ghosts[places] == rows)
            ghost_positions[places[known]] = first + known
    return Shard(rank, dealing.bounds, ids, positions, directions[0], directions[-1], ghosts, ghost_positions)


def _joined(parts: Sequence[Csr], dealing: Dealing) -> Csr:
    """The arcs of all parts, to dealt rows; uncopied where that is what the only part has."""
    if len(parts) == 1 and dealing.keeps:
        return parts[0]
    offsets = joined_offsets(parts)
    indices = np.empty(offsets[-1], parts[0].indices.dtype)
    begin = 0
    for part in parts:
        dealing.dealt(part.indices, indices[begin : begin + len(part.indices)])
        begin += len(part.indices)
    weights = None if parts[0].weights is None else np.concatenate([part.weights for part in parts])
    return Csr(offsets, indices, weights)


def ghosts_of(rows: range, directions: Sequence[Csr]) -> Array:
    """The rows at the other ends of arcs of `rows`, those aside: ascending, each once."""
    if is_cupy_array(directions[0].indices):
        from kernels.distributed.gpu import shard as cuda

        return cuda.ghosts_of(rows, [csr.indices for csr in directions])
    foreign = [csr.indices[(csr.indices < rows.start) | (csr.indices >= rows.stop)] for csr in directions]
    return distinct(np.concatenate(foreign))


def split(graph: Graph, bounds: Array) -> list[Shard]:
    """Cut a graph in memory into shards of the rows `bounds[r]:bounds[r + 1]` (int64 [size + 1]), arcs uncopied."""
    return [_split_off(graph, bounds, rank) for rank in range(len(bounds) - 1)]


def _split_off(graph: Graph, bounds: Array, rank: int) -> Shard:
    start, stop = int(bounds[rank]), int(bounds[rank + 1])
    out = [_cut(graph.out, start, stop)]
    into = out if graph.symmetric else [_cut(graph.into, start, stop)]
    return assemble(rank, Dealing.contiguous(bounds), graph.ids[start:stop], graph.rows_by_id, out, into)


def even_bounds(graph: Graph, size: int) -> Array:
    """Cut the rows where `size` ranks have about equally many arcs: int64 [size + 1]."""
    directions = (graph.out,) if graph.symmetric else (graph.out, graph.into)
    degrees = to_host(sum(np.diff(csr.offsets) for csr in directions))
    return cut_of(degrees)(size, 0)[0]


def _cut(csr: Csr, start: int, stop: int) -> Csr:
    first, last = int(csr.offsets[start]), int(csr.offsets[stop])
    weights = None if csr.weights is None else csr.weights[first:last]
    return Csr(csr.offsets[start : stop + 1] - first, csr.indices[first:last], weights)
