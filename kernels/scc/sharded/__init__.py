"""Strong components over shards: rows that the same row reaches first, and that reach the same row first.

In a round every row receives the first row, in a pseudo-random order, that reaches it, and the first one that it reaches. If the
two are the same row, it is in the same strong component. Rows for which one of the two differs are in different components, so
the arcs between them are dropped, and the next round continues on the arcs that are left. A pivot with many in-arcs and out-arcs
is the first row of all, so that the first round finds a giant component; with the pseudo-random order few rounds suffice for any
external ids.

After Fleischer, Hendrickson and Pinar, On Identifying Strongly Connected Components in Parallel (2000: forward, backward), Orzan,
On Distributed Verification and Verified Distribution (2004: colouring), and McLendon et al., Finding Strongly Connected
Components in Distributed Graphs, Journal of Parallel and Distributed Computing 65 (2005: trimming).
"""

import numpy as np

from kernels.answers import Components
from kernels.arrays import on_gpu
from kernels.components.sharded.naming import smallest_ids
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer, local_graph
from kernels.graph import Array
from kernels.scc.sharded.pivot_first import PivotFirst
from kernels.scc.sharded.reach import ShardArcs, first_reaching, trim
from kernels.wcc.sharded import wcc


def scc(shard: Shard, communicator: Communicator) -> ShardAnswer[Components]:
    """Find the strong components of the own rows, each named by its smallest external id. A collective."""
    if shard.symmetric:
        return wcc(shard, communicator)
    if on_gpu(shard.out, "scc over shards"):
        from kernels.scc.sharded import cuda

        return cuda.components(shard, communicator)
    halo, owners = Halo(shard, communicator), Owners(shard.bounds, communicator)
    rows, num_own = shard.local_rows, len(shard.ids)
    order = PivotFirst(shard, communicator)
    pivots, supersteps = _pivot_places(shard, halo, order.of(rows))
    labels = smallest_ids(owners, order.rows(pivots), shard.positions, rows[:num_own])
    return ShardAnswer(Components(labels), supersteps + owners.supersteps)


def _pivot_places(shard: Shard, halo: Halo, order: Array) -> tuple[Array, int]:
    """Return the place in the order of one row of each own row's component, uint64 [n], and the number of supersteps."""
    num_own, supersteps = len(shard.ids), 0
    graph = local_graph(shard)
    arcs = ShardArcs(graph.out, graph.into)
    reaches, reached = np.zeros_like(order), np.ones_like(order)  # different: nothing is found yet
    while True:
        open_rows = reaches != reached
        if not halo.communicator.any(open_rows[:num_own].any()):
            return reached[:num_own], supersteps
        gone, trims = trim(arcs, halo)
        arcs = arcs.among(open_rows & ~gone)
        (onto, forward), (back, backward) = first_reaching(arcs.out, halo, order), first_reaching(arcs.into, halo, order)
        reached, reaches = (
            halo.extended(np.where(open_rows, new, old)[:num_own]) for new, old in ((onto, reached), (back, reaches))
        )
        arcs = arcs.within(reached, reaches)
        supersteps += trims + forward + backward + 1
