"""Minimum spanning forest over shards: each rank drops and takes the edges that it can decide on, then the ranks join the others.

An edge outside the forest of the edges that one rank has is outside the forest of the graph (the cycle property). Among the
others, a rank takes the lightest edge of each tree of own rows, unless it leads to another rank, because it is the lightest edge
that leaves this tree (the cut property). Trees with rows that are ghosts elsewhere are the vertices of a smaller graph; the other
trees are complete, and their rank names them. On GPUs, dense graphs first lose arcs that cannot be in the forest (filter.py).
"""

import numpy as np

from kernels.answers import Forest
from kernels.arrays import on_gpu
from kernels.components.sharded.joining import GATHERED, RankedEdges, join
from kernels.components.sharded.naming import least_of_groups, smallest_ids
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.forest.sharded.cpu import EdgesOfRows, decide
from kernels.graph import Array


def minimum_spanning_forest(shard: Shard, communicator: Communicator, gathered: int = GATHERED) -> ShardAnswer[Forest]:
    """Find the forest of least weight: the labels of the own rows, and the edges whose `src` is one of them. A collective.

    What counts as an edge, and their order, are those of `kernels.forest.minimum_spanning_forest`.

    Args:
        gathered: Most edges between trees left to join, of all ranks together, that each rank may hold; never more than the
            average number of rows per rank.

    Returns:
        ShardAnswer of Forest: Edges ascend by external (src, dst) within a rank; those of all ranks together are the forest.
    """
    gathered = min(gathered, shard.num_vertices // communicator.size)
    if on_gpu(shard.out, "minimum_spanning_forest over shards"):
        from kernels.forest.sharded import cuda

        return cuda.span(shard, communicator, gathered)
    rows = shard.local_rows
    safe, left, tree = decide(shard)
    halo, trees = Halo(shard, communicator), int(tree.max(initial=-1)) + 1
    is_shared = np.zeros(trees, np.bool_)
    is_shared[tree[halo.all_mirrored]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = halo.extended(number.astype(rows.dtype)[tree])
    root, chosen = join(owners, _ranked(shard, left, number), gathered)
    del number
    src, dst, weights = (np.concatenate([column, more[chosen]]) for column, more in zip(safe, left, strict=True))
    del safe, left
    positions = _positions(shard)
    order = np.lexsort((positions[dst], positions[src]))
    del positions
    least, names = least_of_groups(tree, trees, shard.positions, rows[: len(shard.ids)])
    names[shared] = smallest_ids(owners, root, least[shared], names[shared])
    return ShardAnswer(Forest(rows[src[order]], rows[dst[order]], weights[order], names[tree]), owners.supersteps + 1)


def _ranked(shard: Shard, edges: EdgesOfRows, number: Array) -> RankedEdges:
    """Edges between trees, of which the local rows have a `number`."""
    positions = _positions(shard)
    return RankedEdges(number[edges.src], number[edges.dst], edges.weights, positions[edges.src], positions[edges.dst])


def _positions(shard: Shard) -> Array:
    return np.concatenate([shard.positions, shard.ghost_positions])
