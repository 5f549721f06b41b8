"""Weak components over shards on GPUs: each rank joins by its own arcs, then the ranks join the few trees that they share.

The giant component of a social network has most rows and ghosts. Its parts on the ranks, the giant trees, are joined first: once
each rank has learned which of its ghosts are in their owners' giant trees, and again after it has read the remaining arcs. Only
ghosts that are then outside the giant component and in a tree with own rows are sent to their owners, and joined one by one
(shared_trees.py).
"""

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from kernels.answers import Components
from kernels.components.sharded.naming_cuda import find_holders, label
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.distributed.gpu.bits import HaloBits
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array
from kernels.wcc.constants import CONTROL_WORDS, SAMPLED_THREADS, TILE_THREADS, WARP_ROW
from kernels.wcc.cuda import MANY_ARCS, tiles
from kernels.wcc.sharded.shared_trees import FIRST, SharedTrees

_SOURCE, _THREADS = "wcc/sharded/wcc.cu", 512


def components(shard: Shard, communicator: Communicator, gathered: int) -> ShardAnswer[Components]:
    """Answer `kernels.wcc.sharded.wcc` on CuPy arrays."""
    trees, bits = _Trees(shard), HaloBits(Halo(shard, communicator))
    in_giant = bits.empty()
    trees.join_own(in_giant)
    bits.refresh(in_giant)
    trees.join_rest(in_giant, _largest_cluster(communicator.gather(trees.meetings(in_giant), alike=True)))
    in_giant.fill(0)
    trees.find_members(in_giant)
    bits.refresh(in_giant)
    shared = SharedTrees(shard, trees.parent)
    shared.exchange(trees.open_ghosts(in_giant), communicator)
    names, holders = trees.names()
    supersteps = 4 + shared.name(names, holders, communicator, gathered)
    return ShardAnswer(Components(label(len(shard.ids), trees.parent, FIRST, holders)), supersteps)


def _largest_cluster(meets: Sequence[Array]) -> Array:
    """The ranks whose giant trees form the giant component, bool [size]: the most that `meets`, [size] of each rank, connects."""
    linked = np.stack(meets).astype(np.bool_)
    linked |= linked.T
    np.fill_diagonal(linked, True)
    for _ in range(len(linked).bit_length() * (not linked.all())):
        linked = linked @ linked
    cluster: Array = linked[linked.sum(axis=1).argmax()]
    return cluster


def _rows_with_out_arcs(shard: Shard) -> int:
    return int(cupy.count_nonzero(cupy.diff(shard.local_out.offsets)))


def _ghost_bounds(shard: Shard) -> Array:
    bounds: Array = cupy.asarray(shard.ghost_bounds)
    return bounds


class _Trees:
    """Union-find over a shard's own rows and ghosts; wcc.cu describes slots, names, the giant component and `in_giant`."""

    def __init__(self, shard: Shard):
        self._shard, row = shard, shard.ghosts.dtype
        self._row, size = row, FIRST + len(shard.ids) + shard.num_ghosts
        self.parent, self._names = cupy.empty(size, row), cupy.empty(size, row)
        self._bounds = shard.derived.get(_ghost_bounds, lambda: _ghost_bounds(shard))
        self._owners = self._bounds, np.int32(len(self._bounds) - 1)
        self._num_own = row.type(len(shard.ids))
        sides = (shard.local_out, shard.local_into)
        self._arcs = (*(array for csr in sides for array in (csr.offsets, csr.indices)), np.bool_(shard.symmetric), self._num_own)
        arcs = sum(len(csr.indices) for csr in (sides[:1] if shard.symmetric else sides))
        rows_with_arcs = shard.derived.get(_rows_with_out_arcs, lambda: _rows_with_out_arcs(shard))
        self._sampled = len(sides[0].indices) >= MANY_ARCS * rows_with_arcs
        self._queue = cupy.empty(2 * (arcs // WARP_ROW), np.int64)  # pairs
        self._control = cupy.zeros(CONTROL_WORDS, np.int64)

    def join_own(self, in_giant: Array) -> None:
        """Join by the arcs of own rows, or by a sample of those between own rows; set the bits of own rows in the giant tree."""
        shard = self._shard
        self._run("start_ghosts", SAMPLED_THREADS, self._num_own, self._row.type(shard.num_ghosts), self.parent, self._names)
        given = (*self._arcs, shard.positions, self.parent, self._names, self._queue, self._control)
        if self._sampled:
            self._run("join_sample", SAMPLED_THREADS, *given)
        else:
            tile, sizes = tiles(_SOURCE, self._row, len(shard.ids))
            open_rows = cupy.empty(-(-len(shard.ids) // 32), np.uint32)
            launch(_SOURCE, "join_all", TILE_THREADS, None, *given, np.int32(tile), open_rows, **sizes, ROW=self._row)
            self._run("join_ghosts", SAMPLED_THREADS, *self._arcs, self.parent, self._queue, self._control)
        self._run("find_giant", SAMPLED_THREADS, self._num_own, self.parent, in_giant, self._control)

    def meetings(self, in_giant: Array) -> Array:
        """The ranks whose giant trees meet this rank's, uint8 [size], a NumPy array; a sample may miss some."""
        meets = cupy.zeros(len(self._bounds) - 1, np.uint8)
        known = np.bool_(self._sampled), np.int32(self._shard.rank), self.parent, self._control, in_giant
        self._run("find_meetings", _THREADS, *self._arcs, *known, *self._owners, meets)
        return to_host(meets)

    def join_rest(self, in_giant: Array, joined: Array) -> None:
        """Join the giant trees of the ranks `joined`, bool [size]; then join by the arcs that a sample left out."""
        bounds, size = self._owners
        ghosts = np.bool_(self._sampled), np.int32(self._shard.rank), in_giant, bounds, cupy.asarray(joined.view(np.uint8)), size
        last = self.parent, self._queue, self._control, cupy.zeros(CONTROL_WORDS, np.int64)
        self._run("join_rest", SAMPLED_THREADS, *self._arcs, *ghosts, *last)

    def find_members(self, in_giant: Array) -> None:
        """Set the bits of the own rows that are in the giant component."""
        self._run("find_members", _THREADS, self._num_own, self.parent, in_giant)

    def open_ghosts(self, in_giant: Array) -> list[Array]:
        """Put the ghosts that their owners have in the giant component there, too; list the others in trees with own rows.

        For each owner its ghosts, of index width, in no order.
        """
        listed, counts = cupy.empty(self._shard.num_ghosts, self._row), cupy.zeros(len(self._bounds) - 1, np.uint64)
        given = self._num_own, np.bool_(self._sampled), self.parent, in_giant, *self._owners, listed, counts
        self._run("list_open_ghosts", _THREADS, *given)
        return [part[:count] for part, count in zip(self._shard.by_owner(listed), counts.tolist(), strict=True)]

    def names(self) -> tuple[Array, Array]:
        """For each root the smallest position of its own rows, and the row that has it, as in `find_holders`."""
        holders = find_holders(self._shard.positions, self._shard.rows.start, self.parent, FIRST, self._names)
        return self._names, holders

    def _run(self, name: str, threads: int, *arguments: Any) -> None:
        launch(_SOURCE, name, threads, max(len(self._shard.ids), self._shard.num_ghosts), *arguments, ROW=self._row)
