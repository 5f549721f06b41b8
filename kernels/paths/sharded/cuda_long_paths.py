"""Shortest paths over shards where paths have many arcs: each rank works to its local fixpoint, then all exchange.

They do so within a window of lengths that all ranks share, and move it on when nothing in it changes any more: what crosses a
border late lowers again no more than the window holds. A path along a border crosses it many times, and each time is an exchange,
however wide the window; a narrow one adds exchanges of its own, so it is wide: about a thousand arcs.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.bfs.cuda import launch
from kernels.distributed.halo import Halo
from kernels.graph import Array, Csr
from kernels.paths.lengths import as_length, beyond, far_of
from kernels.paths.team import Team, quads_of

HOPS = np.dtype(np.int32)  # type in which hops are summed
_WIDTH = 1024.0  # of a window, in mean weights


def shorten(halo: Halo, out: Csr, sums: np.dtype[Any], mean: float, rows: Array) -> tuple[Array, int]:
    """Find the smallest sums of weights from own rows; a collective.

    Parameters
    ----------
    halo : Halo
    out : Csr
        By local numbers; every arc weighs 1 where it has no weights.
    sums : dtype
        Type in which weights are summed.
    mean : float
        Mean weight.
    rows : index width [S]
        Own rows to start from, each once, at length 0.

    Returns
    -------
    lengths : uint32 or uint64 [n + g]
        As kernels/paths/lengths.cuh encodes them; ghosts' are what this rank found.
    supersteps : int
    """
    team, communicator, num_own, far = Team(out, sums, mean, quads_of(out)), halo.communicator, len(halo.shard.ids), far_of(sums)
    lengths = team.lengths
    lengths[rows] = 0
    ghosts, told = lengths[num_own:], lengths[num_own:].copy()
    supersteps = 0
    while True:
        nearest = int(lengths[rows].min()) if len(rows) else far
        nearest = int(communicator.least(np.array([nearest], np.uint64))[0])
        if nearest == far:
            return lengths, supersteps
        bound, near = beyond(sums, nearest, as_length(sums, _WIDTH * mean)), 1
        while near:
            _relax(team, rows, bound)
            nearer = cupy.flatnonzero(ghosts < told)
            told[nearer] = ghosts[nearer]
            rows = halo.lower(lengths, nearer)
            near = int(communicator.total(np.array([int((lengths[rows] < bound).sum())]))[0])
            supersteps += 1
        _relax(team, rows, bound)
        rows = team.take_aside()
        rows = rows[(rows < num_own) & (lengths[rows] >= bound)]


def _relax(team: Team, rows: Array, bound: int) -> None:
    if len(rows):
        team.start(rows)
        team.shorten(bound)


def count_hops(halo: Halo, out: Csr, into: Csr, rows: Array) -> tuple[Array, Array, int]:
    """Count the hops from own rows at 0, and find the unique predecessors of the others; a collective.

    Returns
    -------
    hops : int64 [n]
    predecessor : index width [n]
        Local numbers.
    supersteps : int
    """
    num_own, row = len(halo.shard.ids), halo.shard.ghosts.dtype
    lengths, supersteps = shorten(halo, Csr(out.offsets, out.indices, None), HOPS, 1.0, rows)
    levels = halo.extended(lengths[:num_own].view(HOPS).astype(row))
    hops, predecessor = cupy.empty(num_own, np.int64), cupy.empty(num_own, row)
    size = np.int64(num_own)
    launch("top_down", "find_predecessors", row, num_own, into.offsets, into.indices, levels, size, hops, predecessor)
    return hops, predecessor, supersteps
