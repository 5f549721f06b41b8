"""Shortest paths over shards on GPUs, in one of two ways that the whole graph's numbers choose.

Graphs of few arcs a row and no large row (roads, grids) have paths of many arcs: each rank works to its local fixpoint, then all
exchange. Others have short paths and many arcs, and a local fixpoint would be far from the final one: all ranks settle the same
bucket at a time (sssp.cu), in the four parts of kernels/sssp/short_paths.cu. Integer weights are summed in 32 bits first, and in
64 where a sum does not fit.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu import loader as cuda
from kernels.gpu.loader import cooperative
from kernels.graph import NO_ROW, Array, distance_dtype
from kernels.paths.lengths import as_length, beyond, far_of, length_type
from kernels.paths.sharded import cuda_long_paths as long_paths
from kernels.paths.sharded.cuda_facts import Whole, kept, note_long_sums, whole_of
from kernels.paths.sharded.cuda_predecessors import complete
from kernels.sssp.cuda import CORE, LIGHT_WIDTH, PIECE_BYTES, START_SHARE, WIDTH, pieces_of

_SOURCE, _THREADS = "sssp/sharded/sssp.cu", 512
_ALL = 1 << 62
_CONTROL_BYTES = 256
_PLACE_WORDS = 2  # of a Place in sssp.cu; the second one is what is left in the queue


def search(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Answer `kernels.sssp.sharded.sssp` on CuPy arrays that have weights."""
    halo = Halo(shard, communicator)
    whole = whole_of(shard, communicator)
    kind = distance_dtype(shard.out.weights)
    sums = np.dtype(np.int32) if kind == np.int64 and whole.heaviest <= np.iinfo(np.int32).max else kind
    while True:
        lengths, supersteps = _shorten(halo, source_row, sums, whole)
        answer = complete(halo, _local_number(shard, source_row), lengths, sums)
        if answer is not None:
            distance, predecessor, more = answer
            return ShardAnswer(Paths(source_row, distance, predecessor), supersteps + more)
        if sums == kind:
            raise OverflowError(f"a distance exceeds the largest {kind}")
        note_long_sums(shard)
        sums = kind


def _shorten(halo: Halo, source_row: int, sums: np.dtype[Any], whole: Whole) -> tuple[Array, int]:
    """Final lengths of the own rows [n + g], and the number of supersteps."""
    if whole.long_paths:
        rows = halo.shard.own_numbers(source_row)
        return long_paths.shorten(halo, halo.shard.local_out, sums, whole.mean, rows)
    unit = 2 * whole.mean * whole.with_arcs / max(1, whole.arcs)
    core, light_width, width = (as_length(sums, factor * unit) for factor in (CORE, LIGHT_WIDTH, WIDTH))
    buckets, far = _Buckets(halo, _local_number(halo.shard, source_row), sums), far_of(sums)
    if buckets.settle(far, light_width, buckets.enough):
        cap = beyond(sums, buckets.limit, core)
        buckets.settle(cap, light_width, _ALL)
        buckets.pull(cap)
        buckets.settle(far, width, _ALL)
    return buckets.lengths, buckets.supersteps


def _local_number(shard: Shard, row: int) -> int:
    """The local number of a row; NO_ROW where another rank owns it."""
    return row - shard.rows.start if row in shard.rows else NO_ROW


class _Buckets:
    """Lengths, bucket by bucket; all methods are collective.

    Attributes
    ----------
    lengths : uint32 or uint64 [n + g]
        Ghosts' are what this rank found, or was told.
    limit : int
        End of the bucket: all rows nearer than it are settled, unless `settle` broke off.
    enough : int
        Pieces in a rank's queue from which on it takes most of the rank's arcs.
    supersteps : int
    """

    def __init__(self, halo: Halo, source: int, sums: np.dtype[Any]):
        self._halo, shard = halo, halo.shard
        self._own, self._ghosts = len(shard.ids), shard.num_ghosts
        row, of_length = shard.ghosts.dtype, length_type(sums)
        weights: Array = shard.out.weights
        self._sums, self._types = sums, {"ROW": row, "WEIGHT": weights.dtype, "SUM": sums}
        rows = self._own + self._ghosts
        pieces = kept(shard, "pieces", _pieces)
        self.enough = 1 + (pieces + self._own // 16) // START_SHARE
        self.lengths, self.limit, self.supersteps = cupy.empty(rows, of_length), 0, 0
        self._queue = (
            cupy.empty(2 * rows, row), cupy.empty(2 * pieces * PIECE_BYTES, np.uint8), np.int64(pieces),
            cupy.empty(2 * -(-rows // 32), np.uint32),
        )  # fmt: skip
        self._control = cupy.empty(_CONTROL_BYTES, np.uint8)
        self._state = cupy.zeros(_PLACE_WORDS + halo.communicator.size, np.uint64)  # a Place, and proposals to each rank
        self._told = cupy.full(self._ghosts, far_of(sums), of_length)
        self._words = 1 if row.itemsize + np.dtype(of_length).itemsize == 8 else 2  # of a Proposal
        self._proposals, self._received = cupy.empty(self._words * self._ghosts, np.uint64), cupy.empty(0, np.uint64)
        self._bounds = cupy.asarray(shard.ghost_bounds)
        self._pending = False  # whether some rank has rows in its queue, or was told something
        cuda.launch(_SOURCE, "prepare", _THREADS, rows, np.int64(rows), np.int64(source), self.lengths, self._queue[-1],
                    self._control, **self._types)  # fmt: skip

    def settle(self, cap: int, width: Any, enough: int) -> bool:
        """Settle all rows nearer than `cap`, in buckets of this width. Break off, and return True, when a queue has `enough`."""
        while True:
            start = self.limit
            if not self._pending:
                start = self._nearest()
                if start >= cap:
                    self.limit = cap
                    return False
                self.limit = min(beyond(self._sums, start, width), cap)
            if self._superstep(start, cap, enough):
                return True

    def pull(self, cap: int) -> None:
        """Lower all rows at `cap` or beyond over their in-arcs."""
        self._refresh()
        into, sizes = self._halo.shard.local_into, (np.int64(self._own), np.int64(self._ghosts))
        self._run("pull_beyond", into.offsets, into.indices, into.weights, *sizes, self.lengths, *self._queue, self._length(cap),
                  self._control, self._state)  # fmt: skip
        self._refresh()
        self.supersteps += 2

    def _superstep(self, start: int, cap: int, enough: int) -> bool:
        """Work on the bucket, also on its rows from `start` on, then exchange; return whether a rank broke off."""
        shard, out = self._halo.shard, self._halo.shard.local_out
        self._state[_PLACE_WORDS:] = 0
        self._run(
            "settle_bucket", out.offsets, out.indices, out.weights, np.int64(self._own), np.int64(shard.rows.start), self.lengths,
            *self._queue, shard.ghosts, self._bounds, np.int64(self._ghosts), self._told, self._proposals,
            self._state[_PLACE_WORDS:], self._received, np.int64(len(self._received) // self._words), self._length(start),
            self._length(self.limit), self._length(cap), np.int64(enough), self._control, self._state,
        )  # fmt: skip
        of_ranks = np.stack(self._halo.communicator.gather(self._state[_PLACE_WORDS - 1 :].get(), alike=True)).astype(np.int64)
        broken_off, told = bool(of_ranks[:, 0].any()), of_ranks[:, 1:]
        self._received = self._exchange(told) if told.any() else self._received[:0]
        self._pending = broken_off or bool(told.any())
        self.supersteps += 1
        return broken_off

    def _exchange(self, counts: Array) -> Array:
        """Send the proposals and return those for own rows; `counts` [size, size] are of all ranks, by sender and receiver."""
        shard, rank, words = self._halo.shard, self._halo.communicator.rank, self._words
        begins, lengths = words * shard.ghost_bounds, words * counts[rank]
        parts = [self._proposals[begin : begin + length] for begin, length in zip(begins, lengths, strict=False)]
        *cuts, end = np.cumsum(words * counts[:, rank]).tolist()
        received = cupy.empty(end, np.uint64)
        self._halo.communicator.exchange(parts, np.split(received, cuts))
        return received

    def _nearest(self) -> int:
        """The least length, on any rank, that is not settled."""
        nearest = cupy.full(1, np.iinfo(np.uint64).max, np.uint64)
        own = self.lengths, np.int64(self._own)
        cuda.launch(_SOURCE, "find_nearest", _THREADS, self._own, *own, self._length(self.limit), nearest, **self._types)
        return int(self._halo.communicator.least(nearest.get())[0])

    def _refresh(self) -> None:
        self.lengths[self._own :] = self._told[:] = self._halo.refresh(self.lengths[: self._own])

    def _length(self, length: int) -> Any:
        return length_type(self._sums)(length)

    def _run(self, name: str, *arguments: Any) -> None:
        kernel, blocks = cooperative(_SOURCE, name, _THREADS, cupy.cuda.Device().id, **self._types)
        kernel((blocks,), (_THREADS,), arguments)


def _pieces(shard: Shard) -> int:
    out, into = shard.local_out, shard.local_into
    return pieces_of(out.offsets) if into is out else max(pieces_of(out.offsets), pieces_of(into.offsets))
