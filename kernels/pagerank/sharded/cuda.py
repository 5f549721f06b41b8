"""PageRank over shards on GPUs: the one-worker kernel's step for a rank's own rows, then an exchange (pagerank.cu).

An iteration exchanges the ghosts' shares, 4 bytes each, and two words of sums. What a row gets from a tile of rows is summed in
float, and the tiles are those of the shard; so the last bits of the ranks depend on where the rows are cut.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from typing import Any

import cupy
import numpy as np

from kernels.answers import Scores
from kernels.distributed.communicator import Communicator
from kernels.distributed.gpu.memory import memory_of, zeros
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.gpu.loader import cooperative, launch
from kernels.graph import Array, Csr
from kernels.pagerank.cuda import SHARED, THREADS
from kernels.pagerank.tiles import Plan, make_plan

_SOURCE = "pagerank/sharded/pagerank.cu"
_CHANGE, _DEALT, _WORDS = 0, 2, 4  # words of what a step adds to: change, lost ranks, jobs
_HEAD = 4  # words of 32 bits before the shares of a message: the change and the lost ranks
_UNIT = 2.0**60


def scores(
    shard: Shard, communicator: Communicator, damping: float, tolerance: float, most_iterations: int
) -> ShardAnswer[Scores]:
    """Answer `kernels.pagerank.sharded.pagerank` on CuPy arrays."""
    if shard.num_vertices == 0 or most_iterations < 1:
        equal = cupy.full(len(shard.ids), 1 / max(shard.num_vertices, 1))
        return ShardAnswer(Scores(equal, 0, np.inf if shard.num_vertices else 0.0), 0)
    own, messages = _Own(shard, damping), _Messages(Halo(shard, communicator))
    sums, iteration, change = own.begin(), 0, np.inf
    while True:
        totals = messages.exchange(own.shares, sums)
        if iteration:
            change = int(totals[_CHANGE]) / _UNIT
        if change < tolerance or iteration == most_iterations:
            return ShardAnswer(Scores(own.end(), iteration, change), iteration)
        sums = own.step(totals)
        iteration += 1


class _Messages:
    """Shares for those who have the rows as ghosts, behind the sums of the iteration: one exchange does for both.

    Parameters
    ----------
    halo : Halo
    """

    def __init__(self, halo: Halo):
        self._halo = halo
        self._sent = _room_for([len(rows) for rows in halo.asked])
        self._received = _room_for(np.diff(halo.shard.ghost_bounds).tolist())

    def exchange(self, shares: Array, sums: Array) -> Array:
        """Refresh the ghosts' part of `shares`, float32 [n + g]; return the sums of all ranks (int64 [2]). A collective."""
        own, ghosts = cupy.split(shares.view(np.uint32), [len(self._halo.shard.ids)])
        for message, rows in zip(self._sent, self._halo.asked, strict=True):
            message[:_HEAD] = sums.view(np.uint32)
            if len(rows):
                cupy.take(own, rows, out=message[_HEAD:])
        received = self._halo.communicator.exchange(self._sent, self._received)
        for message, of_sender in zip(received, self._halo.shard.by_owner(ghosts), strict=True):
            of_sender[...] = message[_HEAD:]
        return cupy.concatenate([message[:_HEAD] for message in received]).view(np.int64).reshape(-1, _DEALT).sum(axis=0)


def _room_for(counts: list[int]) -> list[Array]:
    """Room for messages of so many shares, beginning at multiples of 16 bytes."""
    lengths = [_HEAD + count for count in counts]
    starts = [0, *accumulate(-(-length // _HEAD) * _HEAD for length in lengths)]
    room = cupy.empty(starts[-1], np.uint32)
    return [room[start : start + length] for start, length in zip(starts, lengths, strict=False)]


class _Own:
    """The own rows' ranks, and the shares of these and of the ghosts. Sums are int64: of changes and of lost ranks, in 2^-60."""

    def __init__(self, shard: Shard, damping: float):
        self._shard, self._damping, self._row = shard, damping, shard.ghosts.dtype
        self.shares = cupy.empty(len(shard.ids) + shard.num_ghosts, np.float32)
        self._ranks = cupy.empty(len(shard.ids), np.float64)
        self._control = cupy.zeros(2, np.uint64)
        self._plan = _plan_of(shard)
        if self._plan:
            self._partials = cupy.empty(self._plan.num_partials, np.float32)
            self._partials[self._plan.bands] = 0

    def begin(self) -> Array:
        """Give every row an equal rank; return the sums."""
        sums = cupy.zeros(_WORDS, np.uint64)
        there = np.int64(self._shard.num_vertices), self.shares, self._ranks, sums, self._control
        self._launch("begin", self._shard.out.offsets, np.int64(len(self._ranks)), *there)
        return sums[:_DEALT].view(np.int64)

    def step(self, totals: Array) -> Array:
        """Give every row what its in-arcs bring, by the sums of all ranks before; return the sums."""
        sums = cupy.zeros(_WORDS, np.uint64)
        plan = self._plan
        if plan:
            kernel, blocks = cooperative(_SOURCE, "iterate", THREADS, cupy.cuda.Device().id, SHARED, ROW=self._row)
            slices, jobs = np.int64(len(plan.slices)), np.int64(len(plan.jobs) - 1)
            numbers = np.int64(len(self.shares)), np.int64(self._shard.num_vertices), np.int64(plan.num_without_arcs)
            kernel((blocks,), (THREADS,), (
                plan.tasks, plan.jobs, jobs, plan.arcs, plan.slices, slices, plan.items, plan.rows, plan.degrees, *numbers,
                np.float64(self._damping), totals, self.shares, self._partials, self._ranks, sums, sums[_DEALT:], self._control,
            ), shared_mem=SHARED)  # fmt: skip
        return sums[:_DEALT].view(np.int64)

    def end(self) -> Array:
        """The ranks."""
        self._launch(
            "end", self._shard.out.offsets, self._shard.into.offsets, np.int64(len(self._ranks)), self._ranks, self._control
        )
        return self._ranks

    def _launch(self, kernel: str, *arguments: Any) -> None:
        launch(_SOURCE, kernel, THREADS, len(self._ranks), *arguments, ROW=self._row)


def _plan_of(shard: Shard) -> Plan | None:
    """The plan of the own rows' in-arcs, made on the first call and kept with the shard; None where there is no row.

    Its arcs, 2 bytes each, lie where the shard's do.
    """
    if not len(shard.ids):
        return None
    plan: Plan | None = vars(shard).get("_pagerank_plan")
    if plan is None:
        own = Csr(shard.into.offsets, shard.local_into.indices, None)
        room = partial(zeros, memory=memory_of(own.indices))
        plan = vars(shard)["_pagerank_plan"] = make_plan(own, shard.out.offsets, len(shard.ids) + shard.num_ghosts, room)
    return plan
