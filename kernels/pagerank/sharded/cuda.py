"""PageRank over shards on GPUs: the step of the kernel for one rank on a rank's own rows, then an exchange (pagerank.cu).

An iteration exchanges the ghosts' shares, 4 bytes each, and the sums. What a tile of rows contributes to a row is added
in float, and the tiles are those of the shard; so the last bits of the scores depend on how rows are divided among the ranks.
"""

from itertools import accumulate
from typing import Any

import cupy
import numpy as np

from kernels.answers import Scores
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.distributed.gpu.memory import memory_of
from kernels.gpu.loader import launch
from kernels.graph import Array, Csr
from kernels.pagerank.constants import THREADS, UNIT
from kernels.pagerank.parameters import PageRankParameters
from kernels.pagerank.tiles import TilePlan, make_plan, sizes

_SOURCE = "pagerank/sharded/pagerank.cu"
_CHANGE, _UNSETTLED, _JOBS, _WORDS = 0, 2, 3, 4  # words that a step adds to; those before the jobs taken are Sums of step.cuh
_HEAD = 2 * _WORDS  # words of 32 bits before the shares of a message


def scores(shard: Shard, communicator: Communicator, parameters: PageRankParameters) -> ShardAnswer[Scores]:
    """Answer `kernels.pagerank.sharded.pagerank` on CuPy arrays."""
    _, tolerance, most_iterations = parameters
    if shard.num_vertices == 0 or most_iterations < 1:
        equal = cupy.full(len(shard.ids), 1 / max(shard.num_vertices, 1))
        return ShardAnswer(Scores(equal, 0, np.inf if shard.num_vertices else 0.0), 0)
    own, messages = _OwnScores(shard, parameters), _ShareMessages(Halo(shard, communicator))
    sums, iteration, change = own.begin(), 0, np.inf
    while True:
        totals = messages.exchange(own.shares, sums)
        if iteration:
            change = int(totals[_CHANGE]) / UNIT
        if (change < tolerance and not int(totals[_UNSETTLED])) or iteration == most_iterations:
            return ShardAnswer(Scores(own.end(), iteration, change), iteration)
        sums = own.step(totals)
        iteration += 1


class _ShareMessages:
    """Messages of shares to the ranks that have the rows as ghosts, each after the iteration's sums: one exchange for both."""

    def __init__(self, halo: Halo):
        self._halo = halo
        self._sent = _buffers([len(rows) for rows in halo.mirrored])
        self._received = _buffers(np.diff(halo.shard.ghost_bounds).tolist())

    def exchange(self, shares: Array, sums: Array) -> Array:
        """Refresh the ghosts' part of `shares`, float32 [n + g]; return the sums of all ranks (int64 [_WORDS]). A collective."""
        own, ghosts = cupy.split(shares.view(np.uint32), [len(self._halo.shard.ids)])
        for message, rows in zip(self._sent, self._halo.mirrored, strict=True):
            message[:_HEAD] = sums.view(np.uint32)
            if len(rows):
                cupy.take(own, rows, out=message[_HEAD:])
        received = self._halo.communicator.exchange(self._sent, self._received)
        for message, of_sender in zip(received, self._halo.shard.by_owner(ghosts), strict=True):
            of_sender[...] = message[_HEAD:]
        totals: Array = cupy.concatenate([message[:_HEAD] for message in received]).view(np.int64).reshape(-1, _WORDS).sum(axis=0)
        return totals


def _buffers(counts: list[int]) -> list[Array]:
    """A buffer for a message of each number of shares; all begin at multiples of 32 bytes."""
    lengths = [_HEAD + count for count in counts]
    starts = [0, *accumulate(-(-length // _HEAD) * _HEAD for length in lengths)]
    memory = cupy.empty(starts[-1], np.uint32)
    return [memory[start : start + length] for start, length in zip(starts, lengths, strict=False)]


class _OwnScores:
    """The own rows' scores, and the shares of own rows and ghosts. Sums are int64, see step.cuh."""

    def __init__(self, shard: Shard, parameters: PageRankParameters):
        self._shard, self._row = shard, shard.ghosts.dtype
        self._factors = np.float64(parameters.damping), np.float64(parameters.settled)
        self.shares: Array = cupy.empty(len(shard.ids) + shard.num_ghosts, np.float32)
        self._scores: Array = cupy.empty(len(shard.ids), np.float64)
        self._control = cupy.zeros(2, np.uint64)
        self._plan = shard.derived.get(_plan_of, lambda: _plan_of(shard))
        if self._plan:
            self._partials = cupy.empty(self._plan.num_partials, np.float32)
            self._next = self._plan.next_shares(self.shares[: len(shard.ids)])

    def begin(self) -> Array:
        """Give every row an equal score; return the sums."""
        sums = cupy.zeros(_WORDS, np.uint64)
        results = self.shares, self._scores, sums, self._control
        self._launch("begin", self._shard.out.offsets, np.int64(len(self._scores)), np.int64(self._shard.num_vertices), *results)
        return _sums_of(sums)

    def step(self, totals: Array) -> Array:
        """Give every row its next score, by the last sums of all ranks; return the sums."""
        sums = cupy.zeros(_WORDS, np.uint64)
        plan = self._plan
        if plan:
            counts = len(self.shares), len(self._scores), self._shard.num_vertices, plan.num_without_arcs
            numbers = map(np.int64, counts)
            launch(_SOURCE, "iterate", THREADS, None,
                   *plan.arguments, *numbers, *self._factors, totals, self.shares, self._next, self._partials, self._scores,
                   sums, sums[_JOBS:], self._control, **sizes(), ROW=self._row)  # fmt: skip
        return _sums_of(sums)

    def end(self) -> Array:
        """The scores."""
        offsets = self._shard.out.offsets, self._shard.into.offsets
        self._launch("end", *offsets, np.int64(len(self._scores)), self._scores, self._control)
        return self._scores

    def _launch(self, kernel: str, *arguments: Any) -> None:
        launch(_SOURCE, kernel, THREADS, len(self._scores), *arguments, ROW=self._row, **sizes() | {"shared": 0})


def _sums_of(words: Any) -> Array:
    sums: Array = words.view(np.int64)
    return sums


def _plan_of(shard: Shard) -> TilePlan | None:
    """Make the plan of the own rows' in-arcs, or return None if there are no rows.

    Its arcs, 2 bytes each, are in the same kind of memory as the shard's.
    """
    if not len(shard.ids):
        return None
    own = Csr(shard.into.offsets, shard.local_into.indices, None)
    return make_plan(own, shard.out.offsets, len(shard.ids) + shard.num_ghosts, memory_of(own.indices))
