"""How the schedule of a sweep is found, by peeling (Kahn, CACM 5(11), 1962).

In a superstep a rank takes all own nodes that do not wait for another rank's, and then sends to the other ranks which of their
ghosts are done.
"""

from collections.abc import Callable

import numpy as np

from kernels.arrays import frozen, is_cupy
from kernels.cpu.compiled import njit
from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import Array, Csr
from kernels.reachability.sharded.schedule import Schedule


def find_schedule(halo: Halo, into: Csr, out: Csr) -> tuple[Schedule, Array]:
    """Find the order of sweeps along `out`. A collective.

    Args:
        into: The in-arcs of each own node, as local nodes.
        out: The out-arcs of each own node, and those of each ghost to own nodes, as local nodes.

    Returns:
        Schedule.
        depth (int32 [n + g]): Arcs on the longest path that ends at the node.
    """
    shard, num_own = halo.shard, len(halo.shard.ids)
    waiting = np.diff(into.offsets[: num_own + 1]).astype(shard.ghosts.dtype)
    depth, order = np.zeros_like(shard.local_rows, np.int32), np.empty_like(waiting)
    peel = _peeler(out, waiting, depth, order)
    starts: Array = np.flatnonzero(waiting == 0)
    ends, received_ends = [0], [0]
    cuts: list[Array] = []
    sent, received = [order[:0]], [starts[:0]]
    while True:
        done = peel(starts)
        is_new = np.zeros_like(waiting, np.bool_)
        is_new[order[ends[-1] : done]] = True
        finished = [rows[is_new[rows]] for rows in halo.mirrored]
        ends.append(done)
        if not halo.communicator.any(sum(map(len, finished))):
            return Schedule(order, ends, np.concatenate(sent), cuts, np.concatenate(received), received_ends), depth
        columns = [own + shard.rows.start for own in finished], [depth[own] for own in finished]
        ghosts, depths = exchange_columns(halo.communicator, *columns)
        starts = num_own + np.searchsorted(shard.ghosts, ghosts)
        depth[starts] = depths
        first = cuts[-1][-1] if cuts else 0
        cuts.append(first + np.cumsum([0, *map(len, finished)]))
        received_ends.append(received_ends[-1] + len(starts))
        sent.append(np.concatenate(finished).astype(order.dtype))
        received.append(starts)


def _peeler(out: Csr, waiting: Array, depth: Array, order: Array) -> Callable[[Array], int]:
    """A function that continues from nodes that wait for no other node, and returns the length of the order."""
    if is_cupy(out):
        from kernels.reachability.sharded.sweeps_cuda import Peeler

        return Peeler(out, waiting, depth, order)
    rows, done = (frozen(out.offsets), frozen(out.indices)), 0

    def peel(starts: Array) -> int:
        nonlocal done
        done = int(_peel(*rows, waiting, depth, frozen(starts), order, done))
        return done

    return peel


@njit(cache=True, nogil=True)
def _peel(offsets: Array, indices: Array, waiting: Array, depth: Array, starts: Array, order: Array, tail: int) -> int:
    """Continue from nodes that wait for no other node, own ones or ghosts; append own nodes to `order`, return its new end."""
    head, num_own = tail, len(waiting)
    for start in starts:
        if start < num_own:
            order[tail] = start
            tail += 1
        else:
            tail = _pass_on(offsets, indices, waiting, depth, start, order, tail)
    while head < tail:
        tail = _pass_on(offsets, indices, waiting, depth, order[head], order, tail)
        head += 1
    return tail


@njit(cache=True, nogil=True, inline="always")
def _pass_on(offsets: Array, indices: Array, waiting: Array, depth: Array, node: int, order: Array, tail: int) -> int:
    for arc in range(offsets[node], offsets[node + 1]):
        child = indices[arc]
        if child < len(waiting):
            depth[child] = max(depth[child], depth[node] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                order[tail] = child
                tail += 1
    return tail
