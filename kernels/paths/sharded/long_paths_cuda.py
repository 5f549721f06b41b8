"""Shortest paths over shards for graphs with long paths: each rank works to its local fixpoint, then all exchange.

All ranks share a window of lengths, work inside it, and move it on when nothing inside it changes any more. So a length that
crosses a shard border late lowers no more lengths than the window holds. A path along a border crosses it many times, and each
crossing costs an exchange however wide the window is, while a narrow window adds exchanges of its own. The window is therefore
wide: about a thousand arcs.
"""

from typing import Any

import cupy
import numpy as np

from kernels.distributed.halo import Halo
from kernels.gpu.deep import NO_LIMIT
from kernels.graph import Array, Csr
from kernels.paths.lengths import as_length, beyond, far_of
from kernels.paths.predecessors_cuda import of_levels
from kernels.paths.team import Team, quads_of

_HOPS = np.dtype(np.int32)  # type in which hops are summed
_WINDOW = 1024.0  # width in mean weights


def shorten(
    halo: Halo, out: Csr, sums: np.dtype[Any], mean: float, rows: Array, most: int = NO_LIMIT
) -> tuple[Array, int] | None:
    """Find the smallest sums of weights from own rows; a collective. None, on all ranks, if one has more than `most` to relax.

    Args:
        out: By local rows; every arc weighs 1 if there are no weights.
        sums: Type in which weights are summed.
        mean: Mean weight.
        rows (index width [S]): Own rows to start from, each once, at length 0.

    Returns:
        lengths (uint32 or uint64 [n + g]): Encoded as in kernels/paths/lengths.cuh; those of ghosts are what this rank found.
        supersteps.
    """
    team, communicator, num_own, far = Team(out, sums, mean, quads_of(out)), halo.communicator, len(halo.shard.ids), far_of(sums)
    lengths = team.lengths
    lengths[rows] = 0
    ghosts, sent = lengths[num_own:], lengths[num_own:].copy()
    supersteps = 0
    while True:
        nearest = int(lengths[rows].min()) if len(rows) else far
        nearest = int(communicator.least(np.array([nearest], np.uint64))[0])
        if nearest == far:
            return lengths, supersteps
        bound, inside = beyond(sums, nearest, as_length(sums, _WINDOW * mean)), 1
        while inside:
            _relax(team, rows, bound, most)
            nearer = cupy.flatnonzero(ghosts < sent)
            sent[nearer] = ghosts[nearer]
            rows = halo.lower(lengths, nearer)
            left = np.array([int((lengths[rows] < bound).sum()), team.stopped_at() is not None], np.int64)
            inside, stopped = communicator.total(left).tolist()
            supersteps += 1
            if stopped:
                return None
        _relax(team, rows, bound, NO_LIMIT)  # they are all put aside
        rows = team.take_aside()
        rows = rows[(rows < num_own) & (lengths[rows] >= bound)]


def _relax(team: Team, rows: Array, bound: int, most: int) -> None:
    if len(rows):
        team.start(rows)
        team.shorten(bound, most)


def count_hops(halo: Halo, out: Csr, into: Csr, rows: Array, most: int = NO_LIMIT) -> tuple[Array, Array, int] | None:
    """Count the hops from own rows, which have 0, and find the unique predecessors of the others; a collective.

    None, on all ranks, if one of them has more than `most` rows to relax at a time.

    Returns:
        hops: int64 [n].
        predecessor (index width [n]): Local rows.
        supersteps.
    """
    num_own = len(halo.shard.ids)
    shortened = shorten(halo, Csr(out.offsets, out.indices, None), _HOPS, 1.0, rows, most)
    if shortened is None:
        return None
    lengths, supersteps = shortened
    levels = halo.extended(lengths[:num_own].view(_HOPS).astype(into.indices.dtype))
    return *of_levels(into, levels, num_own), supersteps
