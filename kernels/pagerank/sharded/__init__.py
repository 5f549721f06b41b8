"""PageRank over shards; on CPUs with the same bits for any number of shards.

A row sums what its in-arcs bring in their order, whoever owns it. What is summed over all rows (the ranks of rows without
out-arcs, and the changes) is summed in whole numbers, so that the order of summing does not matter.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from kernels.answers import Scores
from kernels.arrays import frozen, is_cupy, require_numpy
from kernels.cpu.parallel import over_rows
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.graph import Array, Csr
from kernels.pagerank import DAMPING, MOST_ITERATIONS, TOLERANCE, require_sense
from kernels.pagerank.cpu import pull_ranks

_LIMBS, _BITS = 3, 30  # whole numbers of 2^-30, 2^-60 and 2^-90; 2^33 rows' sum of each fits int64


def pagerank(
    shard: Shard,
    communicator: Communicator,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    most_iterations: int = MOST_ITERATIONS,
) -> ShardAnswer[Scores]:
    """Find the PageRank of every own row, as `kernels.pagerank.pagerank` defines it. A collective.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    damping, tolerance, most_iterations
        As the one-worker kernel's.

    Returns
    -------
    ShardAnswer[Scores]
        The ranks of all own rows of all ranks sum to 1. They differ from the one-worker kernel's by how sums over all rows
        are rounded, about 1e-15 an iteration in sum; from those of another number of shards not at all. The GPU's differ
        from the CPU's, and with the number of shards, by 1e-6 in sum at most; equal shards give the same bits in every run.

    Raises
    ------
    ValueError
        If `damping` is not in 0..1, or `tolerance` is negative or not a number.
    TypeError
        If the shard's arrays belong to a backend without this kernel.
    PeerLost
        See `Communicator`.
    """
    require_sense(damping, tolerance)
    if is_cupy(shard.out):
        from kernels.pagerank.sharded import cuda

        return cuda.scores(shard, communicator, damping, tolerance, most_iterations)
    require_numpy(shard.out, "pagerank over shards")
    halo, num_vertices, num_own = Halo(shard, communicator), shard.num_vertices, len(shard.ids)
    degrees = np.diff(shard.out.offsets)
    dangling = degrees == 0
    degrees = np.maximum(degrees, 1)
    into = Csr(shard.into.offsets, shard.local_into.indices, None)
    offsets, indices = frozen(into.offsets), frozen(into.indices)
    rank = np.full(num_own, 1 / max(num_vertices, 1))
    change, iteration = np.inf if num_vertices else 0.0, 0
    while change >= tolerance and iteration < most_iterations and num_vertices:
        shares = halo.extended(np.where(dangling, 0, rank / degrees))
        base = (1 - damping + damping * _total(communicator, rank[dangling])) / num_vertices
        following = np.empty(num_own)
        over_rows(into, partial(_pull, offsets, indices, shares, base, damping, following))
        change = _total(communicator, np.abs(following - rank))
        rank = following
        iteration += 1
    return ShardAnswer(Scores(rank, iteration, change), iteration)


def _pull(offsets: Array, indices: Array, shares: Array, base: float, damping: float, ranks: Array, begin: int, end: int) -> None:
    pull_ranks(offsets, indices, shares, base, damping, begin, end, ranks)


def _total(communicator: Communicator, values: Array) -> float:
    """Sum values of all ranks, each from 0 to 2, to 2^-90 a value and rounded once: the same in whatever order."""
    limbs = np.zeros(_LIMBS, np.int64)
    for limb in range(_LIMBS):
        values = values * 2.0**_BITS
        whole = np.floor(values)
        limbs[limb] = whole.astype(np.int64).sum()
        values = values - whole
    total = sum(whole << _BITS * (_LIMBS - 1 - limb) for limb, whole in enumerate(communicator.total(limbs).tolist()))
    return float(total / 2 ** (_BITS * _LIMBS))
