"""Weak components over shards: each rank joins by its own arcs, then the ranks join these local components.

After the local work, each local component with ghosts is a vertex of a smaller graph, whose edges are the ghosts. On a road
network that graph has about as many vertices as there are ranks, however large the components are. Components without ghosts are
complete, and their rank names them.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import is_cupy, on_gpu
from kernels.components.sharded.joining import GATHERED
from kernels.components.sharded.naming import join_and_name
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.graph import Array
from kernels.wcc import wcc as single_rank_wcc

GATHERED_BY_GPUS = 1 << 22  # components and edges: 64 MiB, and up to 96 MiB to join them


def wcc(shard: Shard, communicator: Communicator, gathered: int | None = None) -> ShardAnswer[Components]:
    """Find the weak components of the own rows, each named by its smallest external id. A collective.

    Args:
        gathered: Most components with ghosts, and edges between them, of all ranks together, that each rank may hold; never more
            than the average number of rows per rank. None for as many as are joined faster this way.
    """
    if gathered is None:
        gathered = GATHERED_BY_GPUS if is_cupy(shard.out) else GATHERED
    gathered = min(gathered, shard.num_vertices // communicator.size)
    if on_gpu(shard.out, "wcc over shards"):
        from kernels.wcc.sharded import cuda

        return cuda.components(shard, communicator, gathered)
    graph, num_own = local_graph(shard), len(shard.ids)
    labels = single_rank_wcc(graph).labels
    is_shared = np.zeros(len(labels), np.bool_)
    is_shared[labels[num_own:]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = number[labels]
    near, far = _without_repeats(number[num_own:], Halo(shard, communicator).refresh(number[:num_own]))
    names = shard.local_rows.copy()
    names[shared] = join_and_name(owners, near, far, graph.ids[shared].astype(names.dtype), names[shared], gathered)
    return ShardAnswer(Components(names[labels[:num_own]]), owners.supersteps + 1)


def _without_repeats(near: Array, far: Array) -> tuple[Array, Array]:
    """Drop edges that equal the previous one."""
    differs = np.ones(len(near), np.bool_)
    differs[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    return near[differs], far[differs]
