"""Minimum spanning forest over shards on GPUs, by the steps of `kernels.forest.sharded`."""

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.components.sharded.joining import RankedEdges, join
from kernels.components.sharded.naming_cuda import name_own
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.forest import minimum_spanning_forest
from kernels.forest.sharded.filter import DENSE, without_heavy
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array

_THREADS = 512
_FEW = 1 << 18  # edges of all ranks together that CPUs join sooner than GPUs


def span(
    shard: Shard, communicator: Communicator, gathered: int, few: int = _FEW, dense: int = DENSE
) -> ShardAnswer[Forest]:  # fmt: skip
    """Answer `kernels.forest.sharded.minimum_spanning_forest` on CuPy arrays.

    If at most `few` edges, of all ranks together, are left to join, the hosts join them. A graph of `dense` edges per row or
    more loses most of its arcs before they are copied.
    """
    shard, supersteps = without_heavy(shard, communicator, dense)
    num_own, halo = len(shard.ids), Halo(shard, communicator)
    graph = local_graph(shard)
    known = minimum_spanning_forest(graph)
    order = cupy.argsort(known.weights + known.weights.dtype.type(0))  # the edges ascend by ends already; -0 becomes 0
    near, far, parent, taken = _take_safe(known.src[order], known.dst[order], num_own)
    is_shared = cupy.zeros(num_own, np.bool_)
    is_shared[parent[cupy.concatenate(halo.mirrored)]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = halo.extended(number[parent])
    places = cupy.flatnonzero((near != far) & (near < num_own))
    src, dst = known.src[order[places]], known.dst[order[places]]
    edges = RankedEdges(number[src], number[dst], known.weights[order[places]], graph.ids[src], graph.ids[dst])
    if communicator.sum(len(places)) <= few:
        edges = RankedEdges(*map(to_host, edges))
    root, chosen = join(owners, edges, gathered)
    taken[places[cupy.asarray(chosen)]] = True
    labels = name_own(shard, parent, shard.positions.copy(), shared, root, owners)
    chosen = cupy.sort(order[cupy.flatnonzero(taken)])
    rows = shard.local_rows
    forest = Forest(rows[known.src[chosen]], rows[known.dst[chosen]], known.weights[chosen], labels)
    return ShardAnswer(forest, supersteps + owners.supersteps + 1)


def _take_safe(src: Array, dst: Array, num_own: int) -> tuple[Array, Array, Array, Array]:
    """Take the edges of a rank's forest, local rows in ascending order, that are certainly in the forest of the whole graph.

    Returns:
        index width [E], index width [E]: The trees or ghosts at the edges' ends; equal if the edge is taken. They overwrite `src`
            and `dst`.
        index width [n]: The root of each own row's tree.
        bool [E]: Which edges are taken.
    """
    row, parent, best = src.dtype, cupy.empty(num_own, src.dtype), cupy.empty(num_own, src.dtype)
    taken, control = cupy.empty(len(src), np.bool_), cupy.zeros(4, np.uint32)
    given = (row.type(num_own), np.int64(len(src)), src, dst, parent, best, taken, control)
    launch("forest/sharded/forest.cu", "take_safe", _THREADS, max(num_own, len(src)), *given, ROW=row)
    launch("forest/sharded/forest.cu", "flatten", _THREADS, num_own, parent, np.int64(num_own), ROW=row)
    return src, dst, parent, taken
