"""Triangles over shards: the lists of the own rows are intersected with those of ghosts, which their owners send, some at a time.

Local rows get labels in the order of all ranks, that of the kernel for one rank. A rank counts the triangles whose corner of
fewest arcs it owns; what it counts for the other corners it sends to their owners at the end.
"""

from collections.abc import Iterator

import numpy as np

from kernels.answers import Clustering, TriangleCounts
from kernels.distributed import Communicator, Halo, Shard, ShardAnswer
from kernels.distributed.columns import add_at
from kernels.distributed.lists import fetch_lists
from kernels.graph import Array
from kernels.triangles.counting import backend_of
from kernels.triangles.lists import ArcsOfRows, NeighbourLists
from kernels.triangles.quotients import clustering_of

LEAST_BLOCK = 1 << 22  # entries of lists that a rank may ask for at a time, if its own are fewer


def triangles(shard: Shard, communicator: Communicator) -> ShardAnswer[TriangleCounts]:
    """Count the triangles at every own row, as `kernels.triangles.triangles`. A collective."""
    counted = _count(shard, communicator, "triangles over shards", directed=False)
    return ShardAnswer(TriangleCounts(counted.answer[0]), counted.supersteps)


def lcc(shard: Shard, communicator: Communicator) -> ShardAnswer[Clustering]:
    """Find the local clustering coefficient of every own row, as `kernels.triangles.lcc`. A collective."""
    counted = _count(shard, communicator, "lcc over shards", directed=True)
    return ShardAnswer(clustering_of(*counted.answer), counted.supersteps)


def _count(shard: Shard, communicator: Communicator, kernel: str, directed: bool) -> ShardAnswer[tuple[Array, Array]]:
    """As `kernels.triangles.counting.count`, for the own rows, int64 [n]."""
    backend, halo, num_own = backend_of(shard.out, kernel), Halo(shard, communicator), len(shard.ids)
    arcs = _arcs_of(halo)
    order = backend.labelled(arcs, _in_order(shard))
    labels = np.empty_like(order)
    labels[order] = np.arange(len(order), dtype=order.dtype, like=order)
    lists, neighbours = backend.list_neighbours(arcs, order, directed)
    sums = np.zeros_like(neighbours)
    supersteps = 2  # degrees, and sums
    backend.add_triangles(lists, lists, sums)
    for others in _lists_of_ghosts(halo, lists, order, labels):
        backend.add_triangles(lists, others, sums)
        supersteps += 1
    own, of_ghosts = np.split(sums[labels], [num_own])
    rows, values = halo.send(np.flatnonzero(of_ghosts), of_ghosts)
    add_at(own, rows, values)
    return ShardAnswer((own * 2 if directed and shard.symmetric else own, neighbours[labels[:num_own]]), supersteps)


def _arcs_of(halo: Halo) -> ArcsOfRows:
    shard = halo.shard
    into = None if shard.symmetric else shard.with_ghosts(shard.local_into)
    degrees = np.diff(shard.out.offsets)
    if into:
        degrees = degrees + np.diff(shard.into.offsets)
    positions = np.concatenate([shard.positions, shard.ghost_positions])
    return ArcsOfRows(shard.with_ghosts(shard.local_out), into, positions, halo.extended(degrees))


def _in_order(shard: Shard) -> Array:
    """The local rows in the order of the graph's rows."""
    numbers = np.arange(len(shard.ids) + shard.num_ghosts, dtype=shard.ghosts.dtype, like=shard.ghosts)
    own, ghosts = np.split(numbers, [len(shard.ids)])
    before = int(shard.ghost_bounds[shard.rank])
    return np.concatenate([ghosts[:before], own, ghosts[before:]])


def _lists_of_ghosts(halo: Halo, lists: NeighbourLists, order: Array, labels: Array) -> Iterator[NeighbourLists]:
    """The lists of all ghosts in own lists, some at a time."""
    num_own = len(halo.shard.ids)
    listed = np.zeros_like(labels, np.bool_)
    listed[lists.heads] = True
    own = lists.begins[labels[:num_own]], lists.ends[labels[:num_own]]
    weighted = len(lists.mutual) > 0
    entries = order[lists.heads], lists.mutual if weighted else np.zeros_like(lists.heads, np.uint8)
    for some in fetch_lists(halo, own, entries, listed[labels[num_own:]], max(LEAST_BLOCK, len(lists.heads))):
        begins, ends = np.zeros_like(lists.begins), np.zeros_like(lists.begins)
        of_ghosts = labels[num_own + some.ghosts]
        begins[of_ghosts], ends[of_ghosts] = some.begins, some.ends
        yield NeighbourLists(begins, ends, labels[some.rows], some.values if weighted else lists.mutual)
