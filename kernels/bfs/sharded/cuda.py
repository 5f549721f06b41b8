"""Breadth-first search over shards on GPUs, in one of two ways that the whole graph's numbers choose.

Graphs of few arcs a row and no large row (roads, grids) have many levels: each rank works to its local fixpoint, and a level
costs no exchange. Others have few levels and many arcs, and are searched a level at a time, in both directions (bfs.cu).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.distributed.communicator import Communicator
from kernels.distributed.gpu.bits import HaloBits
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu import loader as cuda
from kernels.gpu.loader import cooperative
from kernels.graph import Array, Csr
from kernels.paths.sharded.cuda_facts import closed, whole_of
from kernels.paths.sharded.cuda_long_paths import count_hops
from kernels.paths.sharded.cuda_predecessors import name_rows

_SOURCE, _THREADS = "bfs/sharded/bfs.cu", 512
_PUSHED_ARCS = 128  # a frontier of at most 1/128 of the arcs not seen is pushed: a mark costs more than a look
_FEW_ARCS = 1 << 24  # not seen, on average over the ranks, are all looked at in less time than a push and its exchange take
_LANE_ARCS, _WARP_ARCS = 32, 512  # as in bottom_up.cuh
_WARP_ROW = 1024  # as in bfs.cu
_CONTROL_WORDS = 14  # as in bottom_up.cuh ...
_FOUND = slice(2, 4)  # ... and where the first level's rows and arcs stand


def search(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Answer `kernels.bfs.sharded.bfs` on CuPy arrays."""
    halo = Halo(shard, communicator)
    whole = whole_of(shard, communicator)
    if whole.long_paths:
        starts = shard.own_numbers(source_row)
        distance, predecessor, supersteps = count_hops(halo, shard.local_out, shard.local_into, starts)
    else:
        distance, predecessor, supersteps = _search_levels(halo, source_row, whole.arcs)
    name_rows(shard, predecessor)
    return ShardAnswer(Paths(source_row, distance, predecessor), supersteps)


def _search_levels(halo: Halo, source_row: int, num_arcs: int) -> tuple[Array, Array, int]:
    """Search a level at a time; return the hops, the predecessors by local numbers, and the number of levels.

    The last level is one whose rows have no arc but, in a symmetric graph, the one they were found by.
    """
    levels, few = _Levels(halo, source_row), _FEW_ARCS * halo.communicator.size
    level, arcs, unseen, goes_on = 0, 0, num_arcs, True
    while goes_on:
        level += 1
        rows, arcs = levels.advance(level, push=unseen > few and arcs <= unseen // _PUSHED_ARCS)
        unseen, goes_on = unseen - arcs, arcs > (rows if halo.shard.symmetric else 0)
    return levels.distance, levels.predecessor, level


class _Levels:
    """A search between two levels: every rank knows the frontier among its own rows and its ghosts."""

    def __init__(self, halo: Halo, source_row: int):
        shard, own_words = halo.shard, len(closed(halo.shard))
        self._bits, self._out, self._into, self._row = HaloBits(halo), shard.local_out, shard.local_into, shard.ghosts.dtype
        self._size, self._control = np.int64(len(shard.ids)), cupy.empty(_CONTROL_WORDS, np.uint64)
        self._visited, self._closed = cupy.empty(own_words, np.uint32), cupy.empty(own_words, np.uint32)
        self._frontier, self._found, self._marks = (self._bits.empty() for _ in range(3))
        self.distance, self.predecessor = cupy.empty(len(shard.ids), np.int64), cupy.empty(len(shard.ids), self._row)
        device = cupy.cuda.Device().id
        self._kernels = {name: cooperative(_SOURCE, name, _THREADS, device, ROW=self._row) for name in ("push", "pull")}
        known = self._size, np.int64(shard.rows.start), shard.ghosts, np.int64(shard.num_ghosts)
        cuda.launch(_SOURCE, "prepare", _THREADS, len(shard.ids), *known, np.int64(source_row), closed(shard), self._visited,
                    self._frontier, self.distance, self.predecessor, ROW=self._row)  # fmt: skip
        self._lists = _list(self._into, _LANE_ARCS, shard), _list(self._into, _LANE_ARCS + _WARP_ARCS, shard)
        self._large = _list(self._out, _WARP_ROW, shard)

    def advance(self, level: int, push: bool) -> tuple[int, int]:
        """Find the rows of `level`, which become the frontier; return how many all ranks have, and their out-arcs."""
        self._control.fill(0)
        pull = partial(self._pull, level, push)
        if push:
            self._run("push", self._out.offsets, self._out.indices, self._size, self._visited, self._frontier, self._marks,
                      self._large, self._control)  # fmt: skip
        rows, arcs = self._bits.tell(self._marks, pull) if push else pull()
        return rows, arcs

    def _pull(self, level: int, pushed: bool) -> list[int]:
        bitmaps = self._frontier, self._visited, self._marks, self._closed, self._found
        self._run("pull", self._into.offsets, self._into.indices, self._out.offsets, self._size, np.int64(self._bits.words),
                  np.bool_(pushed), *bitmaps, self.distance, self.predecessor, *self._lists, np.int64(level),
                  self._control)  # fmt: skip
        self._frontier, self._found = self._found, self._frontier
        return self._bits.refresh(self._frontier, self._control[_FOUND])

    def _run(self, name: str, *arguments: Any) -> None:
        kernel, blocks = self._kernels[name]
        kernel((blocks,), (_THREADS,), arguments)


def _list(csr: Csr, arcs: int, shard: Shard) -> Array:
    """Room for all rows of more than so many arcs."""
    return cupy.empty(min(len(csr.indices) // arcs, len(shard.ids)) + 1, csr.indices.dtype)
