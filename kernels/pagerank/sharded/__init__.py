"""PageRank over shards; on CPUs with the same bits for any number of shards.

A row adds the shares of its in-arcs in their order, whichever rank owns it. Sums over all rows (the scores of rows without
out-arcs, and the changes) are sums of integers, so that their order does not matter.
"""

from functools import partial

import numpy as np

from kernels.answers import Scores
from kernels.arrays import on_gpu
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.graph import Array, Csr
from kernels.pagerank.cpu import iterate
from kernels.pagerank.parameters import ANYWHERE, DAMPING, TOLERANCE, checked

_LIMBS, _BITS = 3, 30  # integers of 2^-30, 2^-60 and 2^-90; the sum of each over 2^33 rows fits int64


def pagerank(
    shard: Shard,
    communicator: Communicator,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> ShardAnswer[Scores]:
    """Find the PageRank score of every own row, as `kernels.pagerank.pagerank` defines it. A collective.

    Args:
        damping, tolerance, iterations: See `kernels.pagerank.pagerank`.

    Returns:
        ShardAnswer[Scores]: The scores of all ranks' own rows sum to 1. On CPUs they do not depend on the number of shards, and
            differ from those of the kernel for one rank only by the rounding of sums over all rows, about 1e-15 per iteration in
            sum. On GPUs they depend on the shards, and differ from the CPU's as those of one GPU do; equal shards give
            the same bits in every run.

    Raises ValueError as `kernels.pagerank.pagerank`.
    """
    parameters = checked(damping, tolerance, iterations)
    if on_gpu(shard.out, "pagerank over shards"):
        if parameters.is_precise:
            from kernels.pagerank.seeded.sharded import rankings

            return rankings(shard, communicator, [ANYWHERE], damping, tolerance)[0]
        from kernels.pagerank.sharded import cuda

        return cuda.scores(shard, communicator, parameters)
    into, degrees = Csr(shard.into.offsets, shard.local_into.indices, None), np.diff(shard.out.offsets)
    extended = Halo(shard, communicator).extended
    scores = iterate(into, degrees, shard.num_vertices, parameters, extended, partial(_total, communicator))
    return ShardAnswer(scores, scores.iterations)


def _total(communicator: Communicator, values: Array) -> float:
    """Sum values of all ranks, each from 0 to 2, to 2^-90 per value and rounded once: the same in any order."""
    limbs = np.zeros(_LIMBS, np.int64)
    for limb in range(_LIMBS):
        values = values * 2.0**_BITS
        integers = np.floor(values)
        limbs[limb] = integers.astype(np.int64).sum()
        values = values - integers
    total = sum(value << _BITS * (_LIMBS - 1 - limb) for limb, value in enumerate(communicator.total(limbs).tolist()))
    return float(total / 2 ** (_BITS * _LIMBS))
