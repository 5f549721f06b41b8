"""Minimum spanning forest over shards: each rank drops and takes the edges that it can decide on, then the ranks join the others.

An edge outside the forest of the edges that one rank has is outside the forest of the graph (the cycle property). Among the
others, in ascending order, a rank takes an edge if one of the two trees that it joins has met no edge to another rank, because it
is then the lightest edge that leaves this tree (the cut property). Trees with rows that are ghosts elsewhere are the vertices of
a smaller graph; the other trees are complete, and their rank names them.
"""

from dataclasses import replace

import numpy as np

from kernels.answers import Forest
from kernels.arrays import on_gpu
from kernels.components.sharded.joining import GATHERED, RankedEdges, join
from kernels.components.sharded.naming import least_of_groups, smallest_ids
from kernels.components.union_find import number_trees, root_of
from kernels.cpu.compiled import njit
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.forest import minimum_spanning_forest as single_rank_forest
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
    num_own, rows = len(shard.ids), shard.local_rows
    known = replace(single_rank_forest(local_graph(shard)), labels=rows[:0])  # the ranks name the trees
    order = np.argsort(known.weights, kind="stable")  # the edges ascend by ends already
    taken, left, tree = _take_safe(known.src, known.dst, order, num_own)
    del order
    halo, trees = Halo(shard, communicator), int(tree.max(initial=-1)) + 1
    is_shared = np.zeros(trees, np.bool_)
    is_shared[tree[halo.all_mirrored]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = number.astype(rows.dtype)[tree]
    places = np.flatnonzero(left).astype(rows.dtype)
    root, chosen = join(owners, _edges_left(halo, known, places, number), gathered)
    del number
    taken[places[chosen]] = True
    least, names = least_of_groups(tree, trees, shard.positions, rows[:num_own])
    names[shared] = smallest_ids(owners, root, least[shared], names[shared])
    labels = names[tree]
    forest = Forest(rows[known.src[taken]], rows[known.dst[taken]], known.weights[taken], labels)
    return ShardAnswer(forest, owners.supersteps + 1)


def _edges_left(halo: Halo, known: Forest, places: Array, number: Array) -> RankedEdges:
    """The edges at some places between trees, of which the own rows have a `number`."""
    shard, src, dst = halo.shard, known.src[places], known.dst[places]
    number, positions = halo.extended(number), np.concatenate([shard.positions, shard.ghost_positions])
    return RankedEdges(number[src], number[dst], known.weights[places], positions[src], positions[dst])


@njit(cache=True, nogil=True)
def _take_safe(src: Array, dst: Array, order: Array, num_own: int) -> tuple[Array, Array, Array]:
    """Decide on the edges of a rank's forest, in ascending order.

    Returns which are certainly in the forest of the whole graph; which may be and belong to this rank (edges to ghosts belong to
    the owner of the smaller external id); and the tree of each own row by the certain ones: 0, 1, ...
    """
    parent = np.arange(num_own).astype(src.dtype)
    met_others = np.zeros(num_own, np.bool_)
    taken, left = np.zeros(len(src), np.bool_), np.zeros(len(src), np.bool_)
    for edge in order:
        near, far = src[edge], dst[edge]
        if near >= num_own:
            met_others[root_of(parent, far)] = True
        elif far >= num_own:
            met_others[root_of(parent, near)] = True
            left[edge] = True
        else:
            near, far = root_of(parent, near), root_of(parent, far)
            if met_others[near] and met_others[far]:
                left[edge] = True
            else:
                taken[edge] = True
                parent[max(near, far)] = min(near, far)
                met_others[min(near, far)] = met_others[near] or met_others[far]
    number_trees(parent)
    return taken, left, parent
