"""Weak components over shards: each rank joins what its own arcs join, then the ranks join these components.

After the local work those of a rank's components that have ghosts are vertices of a smaller graph, whose edges are the ghosts. On
a road network that graph has about as many vertices as there are ranks, however far the components reach. The other components
are complete, and named where they are.
"""

from __future__ import annotations

import numpy as np

from kernels import wcc as one_worker
from kernels.answers import Components
from kernels.arrays import is_cupy, require_numpy
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.joining import GATHERED
from kernels.distributed.local_graph import local_graph
from kernels.distributed.naming import join_and_name
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard, ShardAnswer
from kernels.graph import OFFSET, Array

GATHERED_BY_GPUS = 1 << 22  # 64 MiB, and up to 96 to join them


def wcc(shard: Shard, communicator: Communicator, gathered: int | None = None) -> ShardAnswer[Components]:
    """Find the weak components of the own rows, each named by its smallest external id. A collective.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    gathered : int, or None
        Most components that have ghosts, and edges between them, of all ranks together, that each rank may hold;
        never more than it has rows on average. None: as many as are joined faster so.

    Raises
    ------
    TypeError
        If the shard's arrays belong to a backend without this kernel.
    PeerLost
        See `Communicator`.
    """
    if gathered is None:
        gathered = GATHERED_BY_GPUS if is_cupy(shard.out) else GATHERED
    gathered = min(gathered, shard.num_vertices // communicator.size)
    if is_cupy(shard.out):
        from kernels.wcc.sharded import cuda

        return cuda.components(shard, communicator, gathered)
    require_numpy(shard.out, "wcc over shards")
    graph, num_own = local_graph(shard), len(shard.ids)
    labels = one_worker.wcc(graph).labels
    is_shared = np.zeros(len(labels), np.bool_)
    is_shared[labels[num_own:]] = True
    shared = np.flatnonzero(is_shared)
    owners = Owners.of_counts(len(shared), communicator)
    number = np.full(len(labels), -1, OFFSET)
    number[shared] = np.arange(owners.own.start, owners.own.stop)
    number = number[labels]
    near, far = _differing(number[num_own:], Halo(shard, communicator).refresh(number[:num_own]))
    names = shard.local_rows.copy()
    names[shared] = join_and_name(owners, near, far, graph.ids[shared].astype(names.dtype), names[shared], gathered)
    return ShardAnswer(Components(names[labels[:num_own]]), owners.supersteps + 1)


def _differing(near: Array, far: Array) -> tuple[Array, Array]:
    """The edges between components: of copies of one in a row, the first."""
    differs = np.ones(len(near), np.bool_)
    differs[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    return near[differs], far[differs]
