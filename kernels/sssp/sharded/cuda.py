"""Shortest paths over shards on GPUs, by one of two methods, the first of which the whole graph's degrees decide.

Graphs with few arcs per row and no large row (roads, grids) have paths of many arcs: each rank works to its local fixpoint, then
all exchange. Other graphs have short paths and many arcs, and a local fixpoint would be far from the final one: all ranks settle
the same bucket at a time (sssp.cu), in the four parts of kernels/sssp/short_paths.cu, also once a graph turns out to have more
rows to relax than a rank's team of blocks can. Integer weights are summed in 32 bits
first, and in 64 if a sum does not fit.
"""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.gpu.loader import launch, to_host
from kernels.graph import NO_ROW, Array, distance_dtype
from kernels.paths.constants import THREADS
from kernels.paths.lengths import as_length, beyond, far_of, length_type
from kernels.paths.predecessors_cuda import types_of
from kernels.paths.sharded import long_paths_cuda as long_paths
from kernels.paths.sharded.predecessors_cuda import paths_of_lengths
from kernels.paths.sharded.totals import GraphTotals, note_long_sums, note_many_rows, totals_of
from kernels.paths.team import MOST_ROWS
from kernels.sssp.constants import CHUNK_BYTES, CONTROL_BYTES, PROGRESS_WORDS
from kernels.sssp.cuda import CORE, LIGHT_WIDTH, START_SHARE, WIDTH, chunks_of

_SOURCE = "sssp/sharded/sssp.cu"
_ALL = 1 << 62


def search(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Answer `kernels.sssp.sharded.sssp` on CuPy arrays that have weights."""
    halo = Halo(shard, communicator)
    totals = totals_of(shard, communicator)
    kind = distance_dtype(shard.out.weights)
    sums = np.dtype(np.int32) if kind == np.int64 and totals.heaviest <= np.iinfo(np.int32).max else kind
    source = source_row - shard.rows.start if source_row in shard.rows else NO_ROW
    while True:
        lengths, supersteps = _shorten(halo, source, sums, totals)
        answer = paths_of_lengths(halo, source, lengths, sums)
        if answer is not None:
            distance, predecessor, more = answer
            return ShardAnswer(Paths(source_row, distance, predecessor), supersteps + more)
        if sums == kind:
            raise OverflowError(f"a distance exceeds the largest {kind}")
        note_long_sums(shard)
        sums = kind


def _shorten(halo: Halo, source: int, sums: np.dtype[Any], totals: GraphTotals) -> tuple[Array, int]:
    """Final lengths of the own rows [n + g], and the number of supersteps; `source` is NO_ROW if another rank owns it."""
    if totals.long_paths:
        rows = np.array([] if source == NO_ROW else [source], halo.shard.ghosts.dtype, like=halo.shard.ghosts)
        shortened = long_paths.shorten(halo, halo.shard.local_out, sums, totals.mean, rows, MOST_ROWS)
        if shortened is not None:
            return shortened
        note_many_rows(halo.shard)
    unit = 2 * totals.mean * totals.with_arcs / max(1, totals.num_arcs)
    core, light_width, width = (as_length(sums, factor * unit) for factor in (CORE, LIGHT_WIDTH, WIDTH))
    buckets, far = _Buckets(halo, source, sums), far_of(sums)
    if buckets.settle(far, light_width, buckets.enough):
        cap = beyond(sums, buckets.limit, core)
        buckets.settle(cap, light_width, _ALL)
        buckets.pull(cap)
        buckets.settle(far, width, _ALL)
    return buckets.lengths, buckets.supersteps


class _Buckets:
    """Lengths, found bucket by bucket; all methods are collective.

    Attributes:
        lengths (uint32 or uint64 [n + g]): Those of ghosts are what this rank found or received.
        limit: End of the bucket: all rows nearer than it are settled, unless `settle` stopped early.
        enough: Chunks in a rank's queue from which on the queue holds a large share of the rank's arcs.
    """

    def __init__(self, halo: Halo, source: int, sums: np.dtype[Any]):
        self._halo, shard = halo, halo.shard
        self._own, self._ghosts = len(shard.ids), shard.num_ghosts
        row, of_length = shard.ghosts.dtype, length_type(sums)
        self._sums, self._types = sums, types_of(shard.local_out, sums)
        rows = self._own + self._ghosts
        chunks = shard.derived.get(_chunks_of, lambda: _chunks_of(shard))
        self.enough = 1 + (chunks + self._own // 16) // START_SHARE
        self.lengths, self.limit, self.supersteps = cupy.empty(rows, of_length), 0, 0
        self._queue = (
            cupy.empty(2 * rows, row), cupy.empty(2 * chunks * CHUNK_BYTES, np.uint8), np.int64(chunks),
            cupy.empty(2 * -(-rows // 32), np.uint32),
        )  # fmt: skip
        self._control = cupy.empty(CONTROL_BYTES, np.uint8)
        self._state = cupy.zeros(PROGRESS_WORDS + halo.communicator.size, np.uint64)  # Progress, and proposals to each rank
        self._known = cupy.full(self._ghosts, far_of(sums), of_length)
        self._words = 1 if row.itemsize + np.dtype(of_length).itemsize == 8 else 2  # of a Proposal
        self._proposals, self._received = cupy.empty(self._words * self._ghosts, np.uint64), cupy.empty(0, np.uint64)
        self._bounds = cupy.asarray(shard.ghost_bounds)
        self._pending = False  # whether some rank has rows in its queue, or received proposals
        launch(_SOURCE, "prepare", THREADS, rows, np.int64(rows), np.int64(source), np.bool_(False), self.lengths,
               self._queue[-1], self._control, **self._types)  # fmt: skip

    def settle(self, cap: int, width: Any, enough: int) -> bool:
        """Settle all rows nearer than `cap`, in buckets of this width. Stop early and return True when a queue has `enough`."""
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
        self._run("pull_beyond", None, into.offsets, into.indices, into.weights, *sizes, self.lengths, *self._queue,
                  self._length(cap), self._control, self._state)  # fmt: skip
        self._refresh()
        self.supersteps += 2

    def _superstep(self, start: int, cap: int, enough: int) -> bool:
        """Work on the bucket, including its rows from `start` on, then exchange; return whether a rank stopped early."""
        shard, out = self._halo.shard, self._halo.shard.local_out
        self._state[PROGRESS_WORDS:] = 0
        self._run(
            "settle_bucket", None, out.offsets, out.indices, out.weights, np.int64(self._own), np.int64(shard.rows.start),
            self.lengths, *self._queue, shard.ghosts, self._bounds, np.int64(self._ghosts), self._known, self._proposals,
            self._state[PROGRESS_WORDS:], self._received, np.int64(len(self._received) // self._words), self._length(start),
            self._length(self.limit), self._length(cap), np.int64(enough), self._control, self._state,
        )  # fmt: skip
        left_and_counts = to_host(self._state[PROGRESS_WORDS - 1 :])
        of_ranks = np.stack(self._halo.communicator.gather(left_and_counts, alike=True)).astype(np.int64)
        stopped, counts = bool(of_ranks[:, 0].any()), of_ranks[:, 1:]
        self._received = self._exchange(counts) if counts.any() else self._received[:0]
        self._pending = stopped or bool(counts.any())
        self.supersteps += 1
        return stopped

    def _exchange(self, counts: Array) -> Array:
        """Send the proposals and return those for own rows; `counts` [size, size] are of all ranks, by sender and receiver."""
        shard, rank, words = self._halo.shard, self._halo.communicator.rank, self._words
        begins, lengths = words * shard.ghost_bounds, words * counts[rank]
        parts = [self._proposals[begin : begin + length] for begin, length in zip(begins, lengths, strict=False)]
        *cuts, end = np.cumsum(words * counts[:, rank]).tolist()
        received: Array = cupy.empty(end, np.uint64)
        self._halo.communicator.exchange(parts, np.split(received, cuts))
        return received

    def _nearest(self) -> int:
        """The least length that is not settled on any rank."""
        nearest = cupy.full(1, np.iinfo(np.uint64).max, np.uint64)
        self._run("find_nearest", self._own, self.lengths, np.int64(self._own), self._length(self.limit), nearest)
        return int(self._halo.communicator.least(to_host(nearest))[0])

    def _refresh(self) -> None:
        self.lengths[self._own :] = self._known[:] = self._halo.refresh(self.lengths[: self._own])

    def _length(self, length: int) -> Any:
        return length_type(self._sums)(length)

    def _run(self, name: str, items: int | None, *arguments: Any) -> None:
        launch(_SOURCE, name, THREADS, items, *arguments, **self._types)


def _chunks_of(shard: Shard) -> int:
    out, into = shard.local_out, shard.local_into
    return chunks_of(out.offsets) if into is out else max(chunks_of(out.offsets), chunks_of(into.offsets))
