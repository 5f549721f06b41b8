"""Core numbers over shards: each rank lowers the bounds of its own rows to their fixpoint, then ghosts get those of their owners.

The bounds only fall, so that the fixpoint of all ranks is that of one (Montresor, De Pellegrini, Miorandi: Distributed k-Core
Decomposition, IEEE Transactions on Parallel and Distributed Systems 24, 2013).
"""

from collections.abc import Callable

import numpy as np

from kernels.arrays import on_gpu
from kernels.cores import Cores
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer, local_graph
from kernels.graph import OFFSET, Array, Csr
from kernels.neighbours import neighbours


def cores(shard: Shard, communicator: Communicator) -> ShardAnswer[Cores]:
    """Find the core numbers of the own rows, as `kernels.cores.cores`. A collective."""
    settle = _settle_of(on_gpu(shard.out, "cores over shards"))
    around, halo, num_own = neighbours(local_graph(shard)), Halo(shard, communicator), len(shard.ids)
    bounds = halo.extended(np.diff(around.offsets)[:num_own].astype(shard.ghosts.dtype))
    rows, supersteps = np.arange(num_own, dtype=OFFSET, like=bounds), 0
    more = True
    while more:
        settle(around, bounds, rows, num_own)
        ghosts = halo.refresh(bounds[:num_own])
        fallen = np.flatnonzero(ghosts < bounds[num_own:]) + num_own
        rows = _around(around, fallen, num_own)
        bounds[num_own:] = ghosts
        supersteps += 1
        more = communicator.any(len(rows))
    return ShardAnswer(Cores(bounds[:num_own].astype(OFFSET)), supersteps)


def _settle_of(gpu: bool) -> Callable[[Csr, Array, Array, int], None]:
    if gpu:
        from kernels.cores.sharded.cuda import settle as on_device

        return on_device
    from kernels.cores.cpu import settle

    return settle


def _around(around: Csr, ghosts: Array, num_own: int) -> Array:
    """The own rows that are neighbours of some ghosts, local rows: ascending, distinct, int64."""
    marked = np.zeros_like(around.indices, np.bool_, shape=(num_own,))
    counts = around.offsets[ghosts + 1] - around.offsets[ghosts]
    ends = np.cumsum(counts)
    places = np.arange(int(ends[-1]) if len(ends) else 0, dtype=OFFSET, like=ghosts)
    of_ghost = np.searchsorted(ends, places, side="right")
    marked[around.indices[places - (ends - counts)[of_ghost] + around.offsets[ghosts][of_ghost]]] = True
    return np.flatnonzero(marked)
