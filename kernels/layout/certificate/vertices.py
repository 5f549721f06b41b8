"""The vertices of a stored graph, by position and by row, on one rank or over several."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.certificate.rules import Broken
from kernels.cpu.parallel import differences, elementwise
from kernels.distributed import Communicator, Halo, Owners, Shard
from kernels.graph import ID, OFFSET, Array, Csr, Graph


class HeldRows(NamedTuple):
    """The rows of a rank, by local rows: n own rows, then ghosts."""

    bounds: Array  # int64 [size + 1]: rank r owns the rows `bounds[r]:bounds[r + 1]`
    num_own: int  # n
    ids: Array  # int64 [n + g]: of local rows
    # out, into: the same object if the graph is symmetric.
    out: Csr
    into: Csr
    directed: bool

    def degrees(self, csr: Csr) -> Array:
        """Numbers of arcs of the own rows."""
        return differences(csr.offsets[: self.num_own + 1])


def held_rows(graph: Graph | Shard, ranks: Communicator) -> HeldRows:
    """The rows of this rank. Collective."""
    if isinstance(graph, Graph):
        bounds = np.array([0, graph.num_vertices], OFFSET)
        return HeldRows(bounds, graph.num_vertices, graph.ids, graph.out, graph.into, graph.directed)
    ids = np.concatenate([graph.ids, Halo(graph, ranks).refresh(graph.ids)])
    return HeldRows(graph.bounds, len(graph.ids), ids, graph.local_out, graph.local_into, graph.directed)


class ClaimedVertices:
    """The vertices at this rank's positions: all, or a slice of them. The constructor and the methods are collective.

    Attributes:
        ids (int64 [k]): Ascending.
        rows (index width [k]): Their rows in the graph.
        has_arcs: bool [k].

    Raises:
        Broken: The ids do not ascend with the positions, or two rows have one position.
    """

    def __init__(self, graph: Graph | Shard, held: HeldRows, ranks: Communicator):
        self._ranks = ranks
        has_arcs = held.degrees(held.out) > 0
        if held.into is not held.out:
            has_arcs |= held.degrees(held.into) > 0
        if isinstance(graph, Graph):
            self.rows = graph.rows_by_id
            self._require_within("rows_by_id", self.rows, len(graph.ids), len(graph.ids))
            self.ids = elementwise(graph.ids.take, self.rows, dtype=ID)
            self.has_arcs = elementwise(has_arcs.take, self.rows, dtype=np.bool_)
        else:
            self.ids, self.rows, self.has_arcs = self._by_position(graph, has_arcs)
        later = elementwise(np.greater, self.ids[1:], self.ids[:-1], dtype=np.bool_)
        wrong = np.flatnonzero(~later)[:1]
        require(ranks, f"ids do not ascend with the positions, after vertex {int(self.ids[int(wrong[0])])}" if len(wrong) else "")
        firsts, lasts = (np.concatenate(ranks.gather(end)) for end in (self.ids[:1], self.ids[-1:]))
        require(ranks, "" if bool((firsts[1:] > lasts[:-1]).all()) else "ids do not ascend with the positions")

    @cached_property
    def _directory(self) -> Any:
        return backend_of(self.ids).Directory(self.ids)

    def count_of(self, declared: range) -> int:
        """How many of the declared ids are vertices."""
        ends = np.searchsorted(self.ids, np.array([declared.start, declared.stop], ID, like=self.ids)).tolist()
        return self._ranks.sum(int(max(ends[1] - ends[0], 0)))

    def rows_of(self, ids: Array) -> Array:
        """The rows of ids in any order; -1 where an id is not a vertex's."""
        if self._ranks.size == 1:
            return self._rows_of(ids)
        order, requests = self._exchanged(ids)
        replies = self._ranks.exchange([self._rows_of(part) for part in requests])
        rows = np.empty(len(ids), self.rows.dtype, like=ids)
        rows[order] = np.concatenate(replies)
        return rows

    def first_unnamed(self, declared: range, loops: Array) -> int:
        """The first vertex that is not declared and has neither an arc nor one of the self-loops `loops` (ids); -1 if none."""
        named = self.has_arcs | ((self.ids >= declared.start) & (self.ids < declared.stop))
        for part in [loops] if self._ranks.size == 1 else self._exchanged(loops)[1]:
            if len(part):
                places = self._directory.places(part)
                named[places[places >= 0]] = True
        unnamed = np.concatenate(self._ranks.gather(self.ids[np.flatnonzero(~named)[:1]]))
        return int(unnamed[0]) if len(unnamed) else -1

    def _rows_of(self, ids: Array) -> Array:
        """The rows of ids of this slice; -1 where an id is not a vertex's."""
        return _taken(self.rows, self._directory.places(ids)) if len(ids) else np.empty_like(self.rows, shape=(0,))

    def _exchanged(self, ids: Array) -> tuple[Array, list[Array]]:
        """Send ids to the ranks that have their positions: the order in which they are sent, and what this rank received."""
        order = np.argsort(ids)
        ascending, after, cuts = ids[order], np.iinfo(ID).max, []
        for first in reversed(self._ranks.gather(self.ids[:1])[1:]):
            after = int(first[0]) if len(first) else after
            cuts.append(after)
        places = np.searchsorted(ascending, np.array(cuts[::-1], ID, like=ids)).tolist()
        return order, self._ranks.exchange(np.split(ascending, places))

    def _by_position(self, shard: Shard, has_arcs: Array) -> tuple[Array, Array, Array]:
        ranks, vertices, positions = self._ranks, shard.num_vertices, shard.positions
        self._require_within("positions", positions, len(shard.ids), vertices)
        owners = Owners(np.array([vertices * rank // ranks.size for rank in range(ranks.size + 1)], OFFSET), ranks)
        order = np.argsort(positions)
        rows = order.astype(positions.dtype) + positions.dtype.type(shard.rows.start)
        here, *columns = owners.send(positions[order], shard.ids[order], rows, has_arcs[order])
        counts = np.bincount(here, minlength=len(owners.own))
        require(ranks, "" if bool((counts == 1).all()) else "two rows have one position")
        known = Halo(shard, ranks).refresh(positions)
        require(ranks, "" if bool((known == shard.ghost_positions).all()) else "two ranks read different rows_by_id")
        placed = [np.empty_like(column) for column in columns]
        for values, column in zip(placed, columns, strict=True):
            values[here] = column
        return placed[0], placed[1], placed[2]

    def _require_within(self, name: str, rows: Array, length: int, stop: int) -> None:
        reason = f"{name} has {len(rows)} entries, not {length}" if len(rows) != length else ""
        if not reason and length and not 0 <= int(rows.min()) <= int(rows.max()) < stop:
            reason = f"{name} {int(rows.min())}..{int(rows.max())} leaves 0..{stop - 1}"
        require(self._ranks, reason)


def backend_of(array: Array) -> Any:
    """The module with the passes over such arrays: `cpu` or `cuda`."""
    if is_cupy_array(array):
        from kernels.layout.certificate import cuda

        return cuda
    from kernels.layout.certificate import cpu

    return cpu


def require(ranks: Communicator, reason: str) -> None:
    """Raise Broken on all ranks, for the first rank's `reason` that is not empty. Collective."""
    for of_rank in ranks.gather(np.array(list(reason.encode()), np.uint8)):
        if len(of_rank):
            raise Broken(bytes(of_rank).decode())


def _taken(column: Array, places: Array) -> Array:
    """The entries at these places; -1 where the place is -1."""
    taken = column[np.maximum(places, 0)] if len(column) else np.empty(len(places), column.dtype, like=column)
    taken[places < 0] = -1
    return taken
