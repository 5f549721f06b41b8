"""Breadth-first search over shards on GPUs; the degrees of the whole graph select the first of two methods.

Graphs with few arcs per row and no large row (roads, grids) have many levels: each rank works to its local fixpoint, and a level
costs no exchange. Other graphs have few levels and many arcs, and are searched level by level, in both directions (bfs.cu). So is
a graph that turns out to have more rows in a frontier than a rank's team of blocks can relax.
"""

from functools import partial

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.constants import CONTROL_WORDS, LANE_ARCS, THREADS, WARP_ARCS, WARP_ROW
from kernels.bfs.cuda import closed_rows
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.distributed.gpu.bits import HaloBits
from kernels.gpu.loader import cooperative, launch
from kernels.graph import Array, Csr
from kernels.paths.sharded.long_paths_cuda import count_hops
from kernels.paths.sharded.predecessors_cuda import to_global_rows
from kernels.paths.sharded.totals import note_many_rows, totals_of
from kernels.paths.team import MOST_ROWS

_SOURCE = "bfs/sharded/bfs.cu"
_PUSHED_SHARE = 128  # push a frontier with at most 1/128 of the unseen arcs, because marking an arc costs more than reading one
_FEW_ARCS = 1 << 24  # unseen arcs per rank up to which reading all of them is faster than a push with its exchange
_REACHED = slice(2, 4)  # words of Control (bottom_up.cuh): rows and arcs found in the first level


def search(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Answer `kernels.bfs.sharded.bfs` on CuPy arrays."""
    halo = Halo(shard, communicator)
    totals, counted = totals_of(shard, communicator), None
    if totals.long_paths:
        counted = count_hops(halo, shard.local_out, shard.local_into, shard.own_numbers(source_row), MOST_ROWS)
        if counted is None:
            note_many_rows(shard)
    distance, predecessor, supersteps = counted or _search_levels(halo, source_row, totals.num_arcs)
    to_global_rows(shard, predecessor)
    return ShardAnswer(Paths(source_row, distance, predecessor), supersteps)


def _search_levels(halo: Halo, source_row: int, num_arcs: int) -> tuple[Array, Array, int]:
    """Search level by level; return the hops, the predecessors as local rows, and the number of levels.

    The last level is the first whose rows have no arcs, apart from, in a symmetric graph, the one that each was found by.
    """
    levels, few = _Levels(halo, source_row), _FEW_ARCS * halo.communicator.size
    level, arcs, unseen, goes_on = 0, 0, num_arcs, True
    while goes_on:
        level += 1
        rows, arcs = levels.advance(level, push=unseen > few and arcs <= unseen // _PUSHED_SHARE)
        unseen, goes_on = unseen - arcs, arcs > (rows if halo.shard.symmetric else 0)
    return levels.distance, levels.predecessor, level


class _Levels:
    """A search between two levels: every rank knows which of its own rows and of its ghosts are in the frontier."""

    def __init__(self, halo: Halo, source_row: int):
        shard, num_own = halo.shard, len(halo.shard.ids)
        closed = shard.derived.get(closed_rows, lambda: closed_rows(shard.local_into, num_own))
        self._bits, self._out, self._into, self._row = HaloBits(halo), shard.local_out, shard.local_into, shard.ghosts.dtype
        self._size, self._control = np.int64(num_own), cupy.empty(CONTROL_WORDS, np.uint64)
        self._visited, self._skipped = cupy.empty_like(closed), cupy.empty_like(closed)
        self._frontier, self._next_frontier, self._marks = (self._bits.empty() for _ in range(3))
        self.distance, self.predecessor = cupy.empty(num_own, np.int64), cupy.empty(num_own, self._row)
        for name in ("push", "pull"):  # loaded here, because no kernel may be loaded during an exchange (`exchange_then`)
            cooperative(_SOURCE, name, THREADS, cupy.cuda.Device().id, 0, ROW=self._row)
        known = self._size, np.int64(shard.rows.start), shard.ghosts, np.int64(shard.num_ghosts)
        launch(_SOURCE, "prepare", THREADS, num_own, *known, np.int64(source_row), closed, self._visited, self._frontier,
               self.distance, self.predecessor, ROW=self._row)  # fmt: skip
        self._lists = _list(self._into, LANE_ARCS, shard), _list(self._into, LANE_ARCS + WARP_ARCS, shard)
        self._large = _list(self._out, WARP_ROW, shard)

    def advance(self, level: int, push: bool) -> tuple[int, int]:
        """Find the rows of `level`, which become the frontier; return their number over all ranks, and that of their out-arcs."""
        self._control.fill(0)
        pull = partial(self._pull, level, push)
        if push:
            bitmaps = self._visited, self._frontier, self._marks
            launch(_SOURCE, "push", THREADS, None, self._out.offsets, self._out.indices, self._size, *bitmaps, self._large,
                   self._control, ROW=self._row)  # fmt: skip
        rows, arcs = self._bits.mark_owners(self._marks, pull) if push else pull()
        return rows, arcs

    def _pull(self, level: int, pushed: bool) -> list[int]:
        bitmaps = self._frontier, self._visited, self._marks, self._skipped, self._next_frontier
        launch(_SOURCE, "pull", THREADS, None, self._into.offsets, self._into.indices, self._out.offsets, self._size,
               np.int64(self._bits.words), np.bool_(pushed), *bitmaps, self.distance, self.predecessor, *self._lists,
               np.int64(level), self._control, ROW=self._row)  # fmt: skip
        self._frontier, self._next_frontier = self._next_frontier, self._frontier
        return self._bits.refresh(self._frontier, self._control[_REACHED])


def _list(csr: Csr, arcs: int, shard: Shard) -> Array:
    """An empty list with space for all rows of more than `arcs` arcs."""
    rows: Array = cupy.empty(min(len(csr.indices) // arcs, len(shard.ids)) + 1, csr.indices.dtype)
    return rows
