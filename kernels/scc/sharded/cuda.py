"""Strong components over shards on GPUs, by the rounds of `kernels.scc.sharded`.

Rows whose component is found lose their arcs, so that a round costs only what is left; the first one finds the giant component.
"""

import cupy
import numpy as np

from kernels.answers import Components
from kernels.components.sharded.naming_cuda import name_own
from kernels.distributed import Communicator, Halo, Owners, Shard, ShardAnswer
from kernels.graph import Array
from kernels.scc.sharded.pivot_first import PivotFirst
from kernels.scc.sharded.reach_cuda import ArcsLeft, first_reaching, trim

_CLOSED = np.uint32(0)


def components(shard: Shard, communicator: Communicator) -> ShardAnswer[Components]:
    """Answer `kernels.scc.sharded.scc` on CuPy arrays of a directed graph."""
    halo, owners = Halo(shard, communicator), Owners(shard.bounds, communicator)
    order = PivotFirst(shard, communicator)
    pivots, supersteps = _pivot_places(shard, halo, order.of(shard.local_rows))
    labels = _named(shard, owners, order.rows(pivots), order.pivot)
    return ShardAnswer(Components(labels), supersteps + owners.supersteps)


def _pivot_places(shard: Shard, halo: Halo, order: Array) -> tuple[Array, int]:
    """Return the place in the order of one row of each own row's component, uint64 [n], and the number of supersteps."""
    num_own, supersteps = len(shard.ids), 0
    arcs = ArcsLeft(shard.local_out.first_rows(num_own), shard.local_into.first_rows(num_own))
    pivots, open_rows = cupy.zeros(num_own, np.uint64), cupy.ones(num_own, np.bool_)
    while halo.communicator.any(int(cupy.count_nonzero(open_rows))):
        gone, trims = trim(arcs, halo, open_rows)
        inactive = halo.extended(gone | ~open_rows)
        reached, forward = first_reaching(arcs.out, halo, order, inactive)
        reaches, backward = first_reaching(arcs.into, halo, order, inactive)
        news = open_rows & (gone | (reached == reaches))
        pivots = cupy.where(news, cupy.where(gone, order[:num_own], reached), pivots)
        open_rows &= ~news
        arcs = arcs.within(halo.extended(cupy.where(open_rows, _class(reached, reaches), _CLOSED)))
        supersteps += trims + forward + backward + 2
    return pivots, supersteps


def _class(reached: Array, reaches: Array) -> Array:
    """Hash two places of the order to a uint32 other than 0. If pairs collide, some arcs stay too long, which is correct."""
    mixed = (reached ^ (reaches * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xFF51AFD7ED558CCD)
    return (mixed >> np.uint64(32)).astype(np.uint32) | np.uint32(1)


def _named(shard: Shard, owners: Owners, component: Array, pivot: int) -> Array:
    """Name components that are given by one of their rows, int64 [n]: index width [n].

    As a tree, a component has this row as its root; if another rank owns the row, the root is an index after the own rows.
    """
    row, num_own, start = shard.ghosts.dtype, len(shard.ids), shard.rows.start
    here = component - start
    foreign = (here < 0) | (here >= num_own)
    few = cupy.flatnonzero(foreign & (component != pivot))  # most rows may be in the pivot's component: they are not sorted
    others, place = cupy.unique(component[few], return_inverse=True)
    here[foreign] = num_own + len(others)
    here[few] = num_own + place
    others = cupy.append(others, cupy.arange(pivot, min(pivot + 1, shard.num_vertices)))
    behind = num_own + cupy.arange(len(others))
    parent = cupy.concatenate([here, behind]).astype(row)
    names = cupy.concatenate([shard.positions, cupy.full(len(others), np.iinfo(row).max, row)])
    used_elsewhere = cupy.unique(owners.send(cupy.sort(others))[0])
    shared, numbers = cupy.concatenate([used_elsewhere, behind]), cupy.concatenate([used_elsewhere + start, others])
    labels: Array = name_own(shard, parent, names, shared, numbers, owners)
    return labels
