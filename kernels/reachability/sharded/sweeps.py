"""Sweeps over an acyclic graph, each node after all nodes before it, over all ranks.

Who is after whom is found once, by peeling (Kahn, CACM 5(11), 1962): a rank works through all nodes that wait for nobody
elsewhere, then tells the others which of their ghosts are done. Every sweep repeats these supersteps, and sends a node's values
once, after the superstep that makes them final, to the ranks that have it as a ghost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from kernels.arrays import frozen, is_cupy
from kernels.distributed.columns import exchange_columns
from kernels.distributed.halo import Halo
from kernels.graph import Array, Csr


class Schedule(NamedTuple):
    """The order of a sweep, in S supersteps, the last of which nobody waits for.

    Attributes
    ----------
    nodes : index width [n]
        Own nodes, each after all before it; superstep s has `nodes[ends[s]:ends[s + 1]]`.
    ends : list of int
    sent : index width
        Own nodes that other ranks have as ghosts, by superstep, then by rank.
    cuts : list of int64 [size + 1]
        Superstep s sends `sent[cuts[s][r]:cuts[s][r + 1]]` to rank r.
    received : int64 [g]
        The ghosts, by local numbers, as their values come; after superstep s `received[came[s]:came[s + 1]]`.
    came : list of int
    """

    nodes: Array
    ends: list[int]
    sent: Array
    cuts: list[Array]
    received: Array
    came: list[int]

    @property
    def supersteps(self) -> int:
        """S."""
        return len(self.ends) - 1


class Way(NamedTuple):
    """The graph in one direction, by local numbers: where arcs come from and lead to, depths, and how a sweep goes along them."""

    near: Csr
    far: Csr
    depth: Array
    schedule: Schedule


class Work(NamedTuple):
    """What a sweep does: `update(nodes)` fills in `values`, each [n + g], of own nodes."""

    update: Callable[[Array], None]
    values: Sequence[Array]


def plan(halo: Halo, near: Csr, far: Csr) -> tuple[Schedule, Array]:
    """Find the order of sweeps along `far`. A collective.

    Parameters
    ----------
    halo : Halo
    near : Csr
        What each own node comes after, by local numbers.
    far : Csr
        What comes after each own node, and what own nodes after each ghost, by local numbers.

    Returns
    -------
    Schedule
    depth : int32 [n + g]
        Arcs on the longest path that ends at the node.
    """
    shard, num_own = halo.shard, len(halo.shard.ids)
    waiting = np.diff(near.offsets[: num_own + 1]).astype(shard.ghosts.dtype)
    depth, order = np.zeros_like(shard.local_rows, np.int32), np.empty_like(waiting)
    peel = _peeler(far, waiting, depth, order)
    starts: Array = np.flatnonzero(waiting == 0)
    ends, came = [0], [0]
    cuts: list[Array] = []
    sent, received = [order[:0]], [starts[:0]]
    while True:
        done = peel(starts)
        is_new = np.zeros_like(waiting, np.bool_)
        is_new[order[ends[-1] : done]] = True
        told = [asked[is_new[asked]] for asked in halo.asked]
        ends.append(done)
        if not halo.communicator.most(np.array([sum(map(len, told))]))[0]:
            return Schedule(order, ends, np.concatenate(sent), cuts, np.concatenate(received), came), depth
        rows, depths = exchange_columns(halo.communicator, [own + shard.rows.start for own in told], [depth[own] for own in told])
        starts = num_own + np.searchsorted(shard.ghosts, rows)
        depth[starts] = depths
        first = cuts[-1][-1] if cuts else 0
        cuts.append(first + np.cumsum([0, *map(len, told)]))
        came.append(came[-1] + len(starts))
        sent.append(np.concatenate(told).astype(order.dtype))
        received.append(starts)


def sweep(halo: Halo, schedule: Schedule, *works: Work) -> int:
    """Do some works in one sweep; return the number of supersteps. A collective."""
    values = [value for work in works for value in work.values]
    for step in range(schedule.supersteps):
        for work in works:
            work.update(schedule.nodes[schedule.ends[step] : schedule.ends[step + 1]])
        if values and step < len(schedule.cuts):
            first, *cuts, end = schedule.cuts[step].tolist()
            told, parts = schedule.sent[first:end], [cut - first for cut in cuts]
            came = exchange_columns(halo.communicator, *(np.split(value[told], parts) for value in values))
            places = schedule.received[schedule.came[step] : schedule.came[step + 1]]
            for value, here in zip(values, came, strict=True):
                value[places] = here
    return schedule.supersteps


def _peeler(far: Csr, waiting: Array, depth: Array, order: Array) -> Callable[[Array], int]:
    """What goes on from nodes that wait for nobody any more, own ones or ghosts, and returns how many are in the order."""
    if is_cupy(far):
        from kernels.reachability.sharded.cuda_sweeps import Peeler

        return Peeler(far, waiting, depth, order)
    rows, done = (frozen(far.offsets), frozen(far.indices)), 0

    def peel(starts: Array) -> int:
        nonlocal done
        done = int(_peel(*rows, waiting, depth, frozen(starts), order, done))
        return done

    return peel


@njit(cache=True, nogil=True)
def _peel(offsets, indices, waiting, depth, starts, order, tail):  # type: ignore[no-untyped-def]
    """Go on from nodes that wait for nobody any more, own ones or ghosts; append own ones to `order`, return its new end."""
    head, num_own = tail, len(waiting)
    for start in starts:
        if start < num_own:
            order[tail] = start
            tail += 1
        else:
            tail = _pass(offsets, indices, waiting, depth, start, order, tail)
    while head < tail:
        tail = _pass(offsets, indices, waiting, depth, order[head], order, tail)
        head += 1
    return tail


@njit(cache=True, nogil=True, inline="always")
def _pass(offsets, indices, waiting, depth, node, order, tail):  # type: ignore[no-untyped-def]
    for arc in range(offsets[node], offsets[node + 1]):
        far = indices[arc]
        if far < len(waiting):
            depth[far] = max(depth[far], depth[node] + 1)
            waiting[far] -= 1
            if waiting[far] == 0:
                order[tail] = far
                tail += 1
    return tail
