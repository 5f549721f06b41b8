"""What one rank holds: a contiguous range of rows, their arcs, and a little about the rows at the arcs' other endpoints.

Rows are numbered as they were dealt to the ranks (`kernels.distributed.dealing`), which may differ from how they are stored.
Own rows and ghosts have local rows: the own ones from 0 in the order of the graph, then the ghosts in the order of the graph, so
that the ghosts of one owner are contiguous. A row's arcs keep their order, ascending by the external id of their neighbour.
No array is as long as the graph has vertices: arrays are as long as the shard has rows, arcs or ghosts, or there are ranks. A
shard of a road network has few ghosts; one of a social network may have a good part of all rows.

`kernels.distributed.assembly` makes shards.
"""

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from kernels.arrays import ArrayOrFile, frozen, is_cupy, require_row
from kernels.derived import Derived
from kernels.distributed.searching import places_upto
from kernels.gpu.loader import to_host
from kernels.graph import Array, Csr
from kernels.records import dataclass

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class ShardAnswer(Generic[Answer]):
    """What a sharded kernel returns: the answer for the own rows, and the number of exchanges between the ranks."""

    answer: Answer  # as the single-rank kernel's, but for the own rows only; rows that it names are rows of the whole graph
    supersteps: int  # rounds of local work, each followed by an exchange; the same on all ranks


@dataclass(frozen=True)
class StoredRows:
    """A rank's rows of a stored graph, or of a graph on a GPU; NumPy's arrays may be memory maps."""

    ids: Array  # int64 [n]: external ids of the own rows
    # Index width [V]: all stored rows in ascending order of their ids; a memory map is read once, in blocks, and not kept.
    rows_by_id: ArrayOrFile
    # out, into: arcs of the own rows to stored rows, in blocks of consecutive own rows; the same object if the graph is
    # symmetric.
    out: Sequence[Csr]
    into: Sequence[Csr]
    directed: bool  # as `kernels.graph.Graph.directed`

    @property
    def directions(self) -> tuple[Sequence[Csr], ...]:
        """The out-arcs, and the in-arcs unless the graph is symmetric."""
        return (self.out,) if self.into is self.out else (self.out, self.into)


class LocalArcs(Csr):
    """Arcs of own rows that are stored by local rows only; `indices`, rows of the whole graph, are computed at each use.

    So a shard has one array of heads, and not one for each numbering.

    Args:
        local: As `Shard.local_out`.
        start, num_own: First own row, and n.
        ghosts: index width [g].
    """

    local: Csr
    start: int
    num_own: int
    ghosts: Array

    def __init__(self, local: Csr, start: int, num_own: int, ghosts: Array):
        values = {"local": local, "start": start, "num_own": num_own, "ghosts": ghosts}
        for name, value in (values | {"offsets": local.offsets[: num_own + 1], "weights": local.weights}).items():
            object.__setattr__(self, name, value)

    @property
    def indices(self) -> Array:
        """Rows of the whole graph [A]."""
        return _rows_of_local(self.start, self.num_own, self.ghosts)[self.local.indices]


def _rows_of_local(start: int, num_own: int, ghosts: Array) -> Array:
    return np.concatenate([np.arange(start, start + num_own, dtype=ghosts.dtype, like=ghosts), ghosts])


@dataclass(frozen=True)
class Shard:
    """One rank's part of a graph, of n own rows and g ghosts."""

    rank: int
    bounds: Array  # int64 [size + 1]: rank r owns the rows `bounds[r]:bounds[r + 1]`; always a NumPy array
    ids: Array  # int64 [n]: external ids of the own rows
    positions: Array  # index width [n]: positions of the own rows in the ascending order of all external ids
    # out, into: arcs of the own rows; indices are rows of the whole graph. The same object if the graph is symmetric. In a shard
    # that was assembled they are `LocalArcs`, and kernels take `local_out` and `local_into`.
    out: Csr
    into: Csr
    # index width [g]: rows that other ranks own and that an own row has an arc to or from; ascending, distinct. At most one per
    # arc.
    ghosts: Array
    ghost_positions: Array  # index width [g]: their positions in the order of external ids, for rules that compare ids
    directed: bool  # as `kernels.graph.Graph.directed`
    # What kernels derived from these arrays, kept as long as the shard.
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
        """Rank r owns the ghosts at `ghost_bounds[r]:ghost_bounds[r + 1]` (int64 [size + 1], a NumPy array)."""
        bounds: Array = np.searchsorted(self.ghosts, np.asarray(self.bounds.astype(self.ghosts.dtype), like=self.ghosts))
        return to_host(bounds)

    @property
    def num_local(self) -> int:
        """Number of local rows, n + g."""
        return len(self.ids) + self.num_ghosts

    @property
    def local_rows(self) -> Array:
        """The row of the graph for each local row (index width [n + g]); made at each use, as a shard is kept between steps."""
        return _rows_of_local(self.rows.start, len(self.rows), self.ghosts)

    @cached_property
    def local_out(self) -> Csr:
        """The out-arcs by local rows. `offsets` has n + 1 entries; on a GPU n + g + 1, where ghosts have no arcs."""
        return self._local(self.out)

    @cached_property
    def local_into(self) -> Csr:
        """The in-arcs by local rows, as `local_out`; the same object if the graph is symmetric."""
        return self.local_out if self.symmetric else self._local(self.into)

    def with_ghosts(self, local: Csr) -> Csr:
        """`local_out` or `local_into` with the rows of ghosts, which have no arcs: `offsets` has n + g + 1 entries."""
        more = len(self.ids) + self.num_ghosts + 1 - len(local.offsets)
        ends = np.broadcast_to(local.offsets[-1:], (more,))
        return Csr(np.concatenate([local.offsets, ends]), local.indices, local.weights) if more else local

    def require_row(self, row: Any) -> int:
        """Return a row of the whole graph; raises as `kernels.arrays.require_row`."""
        return require_row(self, row)

    def own_numbers(self, row: int) -> Array:
        """The local row of a row of the graph, in an array of one; an empty array if another rank owns it."""
        numbers = [row - self.rows.start] if row in self.rows else []
        return np.array(numbers, self.ghosts.dtype, like=self.ghosts)

    def by_owner(self, of_ghosts: Array) -> list[Array]:
        """Cut an array with an entry per ghost [g] into the parts of their owners, as `Communicator.exchange` takes them."""
        return np.split(of_ghosts, self.ghost_bounds[1:-1].tolist())

    def _local(self, csr: Csr) -> Csr:
        if isinstance(csr, LocalArcs):
            return csr.local
        rows = self.rows
        if is_cupy(csr):
            from kernels.distributed.gpu import numbering as cuda

            return cuda.local_arcs(rows, self.num_vertices, self.ghosts, csr)
        return in_local_rows(csr, rows, self.ghosts)


def in_local_rows(csr: Csr, rows: range, ghosts: Array) -> Csr:
    """The arcs of own `rows` to local rows, on CPUs; `ghosts` as in `Shard`. Offsets and weights are not copied."""
    heads = frozen(csr.indices)
    local = places_upto(ghosts, heads)
    local += len(rows) - 1
    np.subtract(heads, rows.start, out=local, where=(heads >= rows.start) & (heads < rows.stop))
    return Csr(csr.offsets, local, csr.weights)
