"""PageRank over shards on GPUs: the one-worker kernel's step for a rank's own rows, then two exchanges (pagerank.cu).

An iteration exchanges the ghosts' shares, 4 bytes each, and two words of sums. What a row gets from a tile of rows is summed in
float, and the tiles are those of the shard; so the last bits of the ranks depend on where the rows are cut.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import cupy
import numpy as np

from kernels.answers import Ranks
from kernels.cuda import cooperative, launch
from kernels.graph import Array, Csr
from kernels.pagerank.cuda import SHARED, THREADS
from kernels.pagerank.tiles import Plan, make_plan
from kernels.sharded.communicator import Communicator
from kernels.sharded.cuda.memory import place_of, zeros
from kernels.sharded.halo import Halo
from kernels.sharded.shard import Part, Shard

_SOURCE, _CHANGE, _DEALT, _WORDS = "sharded/cuda/pagerank.cu", 0, 2, 4  # words of what a step adds to
_UNIT = 2.0**60


def ranks(shard: Shard, communicator: Communicator, damping: float, tolerance: float, most_iterations: int) -> Part[Ranks]:
    """Answer `kernels.sharded.pagerank.pagerank` on CuPy arrays."""
    if shard.num_vertices == 0 or most_iterations < 1:
        equal = cupy.full(len(shard.ids), 1 / max(shard.num_vertices, 1))
        return Part(Ranks(equal, 0, np.inf if shard.num_vertices else 0.0), 0)
    own, halo = _Own(shard, damping), Halo(shard, communicator)
    totals = communicator.total(own.begin())
    iteration, change = 0, np.inf
    while change >= tolerance and iteration < most_iterations:
        own.shares[len(shard.ids) :] = halo.refresh(own.shares[: len(shard.ids)])
        totals = communicator.total(own.step(totals))
        change = int(totals[_CHANGE]) / _UNIT
        iteration += 1
    return Part(Ranks(own.end(), iteration, change), iteration)


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
        room = partial(zeros, place=place_of(own.indices))
        plan = vars(shard)["_pagerank_plan"] = make_plan(own, shard.out.offsets, len(shard.ids) + shard.num_ghosts, room)
    return plan
