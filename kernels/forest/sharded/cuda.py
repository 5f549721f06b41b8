"""Minimum spanning forest over shards on GPUs, by the steps of `kernels.forest.sharded`."""

from dataclasses import replace

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.components.sharded.joining import RankedEdges, join
from kernels.components.sharded.naming_cuda import name_own
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.forest import minimum_spanning_forest
from kernels.forest.sharded.filter import DENSE, without_heavy
from kernels.gpu.loader import launch, to_host
from kernels.graph import Array, Csr

_THREADS = 512
_FEW = 1 << 18  # edges of all ranks together that CPUs join sooner than GPUs


def span(
    shard: Shard, communicator: Communicator, gathered: int, few: int = _FEW, dense: int = DENSE
) -> ShardAnswer[Forest]:  # fmt: skip
    """Answer `kernels.forest.sharded.minimum_spanning_forest` on CuPy arrays.

    If at most `few` edges, of all ranks together, are left to join, the hosts join them. A graph of `dense` edges per row or
    more loses most of its arcs before they are copied.
    """
    filtered, supersteps = without_heavy(shard, communicator, dense)
    graph = local_graph(filtered)
    shard = shard if filtered is shard else _without_arcs(filtered)
    del filtered  # as each array that nothing reads any more, so that large graphs fit
    known, weighted = minimum_spanning_forest(graph), graph.out.weights is not None
    src, dst, weights = known.src, known.dst, known.weights if weighted else None
    del graph, known
    num_own, halo = len(shard.ids), Halo(shard, communicator)
    # The edges ascend by ends already, which is their order if the graph has no weights; -0 becomes 0
    order = None if weights is None else cupy.argsort(weights + weights.dtype.type(0))
    near, far, parent, taken = _take_safe(_in_order(src, order), _in_order(dst, order), num_own)
    is_shared = cupy.zeros(num_own, np.bool_)
    is_shared[parent[cupy.concatenate(halo.mirrored)]] = True
    owners, shared, number = Owners.of_marked(is_shared, communicator)
    number = halo.extended(number.astype(shard.ghosts.dtype)[parent])
    places = cupy.flatnonzero((near != far) & (near < num_own))
    del near, far
    those = places if order is None else order[places]
    edges = _ranked(shard, number, src[those], dst[those], None if weights is None else weights[those])
    del number
    if communicator.sum(len(places)) <= few:
        edges = RankedEdges(*map(to_host, edges))
    root, chosen = join(owners, edges, gathered)
    taken[places[cupy.asarray(chosen)]] = True
    del edges, places, those
    labels = name_own(shard, parent, shard.positions.copy(), shared, root, owners)
    chosen = cupy.flatnonzero(taken)
    chosen = chosen if order is None else cupy.sort(order[chosen])
    weights = cupy.ones(len(chosen), np.int64) if weights is None else weights[chosen]
    rows = shard.local_rows
    return ShardAnswer(Forest(rows[src[chosen]], rows[dst[chosen]], weights, labels), supersteps + owners.supersteps + 1)


def _without_arcs(shard: Shard) -> Shard:
    none = Csr(shard.out.offsets[:0], shard.ghosts[:0], None)
    return replace(shard, out=none, into=none)


def _in_order(column: Array, order: Array | None) -> Array:
    """A copy of a column of all edges, in their order."""
    copy: Array = column.copy() if order is None else column[order]
    return copy


def _ranked(shard: Shard, number: Array, src: Array, dst: Array, weights: Array | None) -> RankedEdges:
    """Edges between trees, of which the local rows have a `number`; a byte stands for equal weights."""
    positions = cupy.concatenate([shard.positions, shard.ghost_positions])
    weights = cupy.ones(len(src), np.int8) if weights is None else weights
    return RankedEdges(number[src], number[dst], weights, positions[src], positions[dst])


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
