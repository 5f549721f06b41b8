"""Shortest paths over shards where paths have many arcs: each rank works to its local fixpoint, then they exchange."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.bfs.cuda import launch
from kernels.graph import Array, Csr
from kernels.sharded.fixpoint import settle
from kernels.sharded.halo import Halo
from kernels.sssp.team import Team, quads_of

HOPS = np.dtype(np.int32)  # type in which hops are summed


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
        As kernels/sssp/lengths.cuh encodes them; ghosts' are what this rank found.
    supersteps : int
    """
    team = Team(out, sums, mean, quads_of(out))
    team.lengths[rows] = 0

    def relax(rows: Array) -> None:
        if len(rows):
            team.start(rows)
            team.shorten()

    return team.lengths, settle(halo, relax, team.lengths, rows)


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
