"""Single-source shortest paths over shards: a rank's local work is that of the kernel for one rank."""

import numpy as np

from kernels.answers import Paths
from kernels.arrays import on_gpu
from kernels.bfs.sharded import bfs
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer, settle
from kernels.graph import UNREACHED, distance_dtype
from kernels.paths.sharded.predecessors_cpu import predecessors
from kernels.sssp.cpu import far_of, shorten, slot_width


def sssp(shard: Shard, communicator: Communicator, source_row: int) -> ShardAnswer[Paths]:
    """Find the smallest sum of weights from `source_row` to every own row; without weights every arc weighs 1. A collective.

    Args:
        source_row: Row of the whole graph.

    Returns:
        ShardAnswer[Paths]: `distance` is int64 for integer weights and float64 for floats, rounded once per arc, from the source
            outwards.

    Raises:
        IndexError: If `source_row` is not a row of the graph.
        OverflowError: On all ranks, if a distance exceeds int64, or is not finite.
    """
    if shard.out.weights is None or shard.into.weights is None:
        return bfs(shard, communicator, source_row)
    source_row = shard.require_row(source_row)
    if on_gpu(shard.out, "sssp over shards"):
        from kernels.sssp.sharded.cuda import search

        return search(shard, communicator, source_row)
    halo, out = Halo(shard, communicator), shard.local_out
    kind = distance_dtype(shard.out.weights)
    far = far_of(kind)
    lengths = np.full(shard.num_local, far)
    starts = shard.own_numbers(source_row)
    lengths[starts] = 0
    width = slot_width(shard.out.weights)
    supersteps = settle(halo, lambda rows: shorten(out, width, rows, lengths), lengths, starts)
    distance = lengths[: len(shard.ids)].view(kind)
    distance[lengths[: len(shard.ids)] == far] = UNREACHED
    predecessor, more = predecessors(halo, source_row, distance, (shard.out.weights, shard.into.weights))
    return ShardAnswer(Paths(source_row, distance, predecessor), supersteps + more)
