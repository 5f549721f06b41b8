"""Breadth-first search over shards."""

import numpy as np

from kernels.answers import Paths
from kernels.arrays import on_gpu
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.graph import UNREACHED
from kernels.paths.sharded.multi_source_bfs_cpu import FAR, count_hops
from kernels.paths.sharded.predecessors_cpu import predecessors


def bfs(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Count the hops from `source_row` to every own row; weights are not read. A collective.

    Args:
        source_row: Row of the whole graph.

    Returns:
        ShardAnswer[Paths]: `distance` is int64.

    Raises IndexError if `source_row` is not a row of the graph.
    """
    source_row = shard.require_row(source_row)
    if on_gpu(shard.out, "bfs over shards"):
        from kernels.bfs.sharded.cuda import search

        return search(shard, communicator, source_row)
    halo = Halo(shard, communicator)
    hops = np.full(shard.num_local, FAR)
    starts = shard.own_numbers(source_row)
    hops[starts] = 0
    supersteps = count_hops(halo, shard.local_out, hops, starts)
    distance = hops[: len(shard.ids)]
    distance[distance == FAR] = UNREACHED
    ones = np.broadcast_to(np.int64(1), shard.out.indices.shape), np.broadcast_to(np.int64(1), shard.into.indices.shape)
    predecessor, _ = predecessors(halo, source_row, distance, ones)
    return ShardAnswer(Paths(source_row, distance, predecessor), supersteps)
