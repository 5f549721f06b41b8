"""Weak components over shards: each rank joins by its own arcs, then the ranks join these local components.

After the local work, each local component with ghosts is a vertex of a smaller graph, whose edges are the ghosts. On a road
network that graph has about as many vertices as there are ranks, however large the components are. Components without ghosts are
complete, and their rank names them.
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import frozen, is_cupy, on_gpu
from kernels.components.sharded.joining import GATHERED
from kernels.components.sharded.naming import join_and_name, least_of_groups
from kernels.components.union_find import flatten, unite
from kernels.cpu.compiled import njit
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.graph import Array

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
    num_own, tree = len(shard.ids), np.arange(shard.num_local, dtype=shard.ghosts.dtype)
    for csr in (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into):
        _unite(frozen(csr.offsets), frozen(csr.indices), num_own, tree)
    flatten(tree)
    least, names = least_of_groups(tree, len(tree), np.concatenate([shard.positions, shard.ghost_positions]), shard.local_rows)
    is_shared = np.zeros(len(tree), np.bool_)
    is_shared[tree[num_own:]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = number.astype(tree.dtype)[tree]
    near, far = _without_repeats(number[num_own:], Halo(shard, communicator).refresh(number[:num_own]))
    del number
    names[shared] = join_and_name(owners, near, far, least[shared], names[shared], gathered)
    return ShardAnswer(Components(names[tree[:num_own]]), owners.supersteps + 1)


@njit(cache=True, nogil=True)
def _unite(offsets: Array, indices: Array, num_own: int, parent: Array) -> None:
    """Unite own rows with the heads of their arcs. No row is left out, because a ghost does not have its arcs to own rows."""
    for row in range(num_own):
        for arc in range(offsets[row], offsets[row + 1]):
            unite(parent, row, indices[arc])


def _without_repeats(near: Array, far: Array) -> tuple[Array, Array]:
    """Drop edges that equal the previous one."""
    differs = np.ones(len(near), np.bool_)
    differs[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    return near[differs], far[differs]
