"""Proof of triangles and clustering coefficients over shards, by the rules of `kernels.triangles.certificate`.

A rank finds the triangles whose second corner it owns, for which it reads the lists of earlier ghosts, some at a time.
"""

from typing import Any

import numpy as np

from kernels.answers import Certificate, Clustering, TriangleCounts
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Entries, RowNames
from kernels.distributed import Communicator, Halo, Shard
from kernels.distributed.columns import add_at
from kernels.distributed.lists import fetch_lists, gathered
from kernels.graph import Array
from kernels.triangles.certificate import certify_coefficients, certify_counts
from kernels.triangles.certificate.neighbourhoods import divided
from kernels.triangles.certificate.order import SideLists, numbers_of_arcs, ordered
from kernels.triangles.certificate.recount import Recount, add_triangles, times_of

LEAST_BLOCK = 1 << 22  # entries of lists that a rank may ask for at a time, if its own are fewer


def certify_triangles(shard: Shard, communicator: Communicator, answer: TriangleCounts) -> Certificate:
    """Prove numbers of triangles of all ranks' own rows; the same on all ranks. A collective."""
    return certify_counts(_ShardCounts(shard, communicator), answer)


def certify_lcc(shard: Shard, communicator: Communicator, answer: Clustering) -> Certificate:
    """Prove local clustering coefficients of all ranks' own rows; the same on all ranks. A collective."""
    return certify_coefficients(_ShardCounts(shard, communicator), answer)


class _ShardCounts:
    """See `kernels.triangles.certificate.CountView`."""

    def __init__(self, shard: Shard, communicator: Communicator):
        self._view, self._shard, self._communicator = GlobalView(shard, communicator), shard, communicator
        self.names: RowNames = self._view
        self.first_row = self._view.first_row

    def entries(self, array: Array) -> Entries:
        return self._view.spread(array)

    def form(self, name: str, array: Any, dtype: np.dtype[Any]) -> Array:
        return self._view.form(name, array, len(self._shard.ids), dtype)

    def sum(self, array: Array) -> int:
        return self._communicator.sum(int(array.sum()))

    def recount(self, directed: bool) -> Recount:
        return _recount(Halo(self._shard, self._communicator), directed)


def _recount(halo: Halo, directed: bool) -> Recount:
    """As `recount_graph`, of the own rows. There are no hubs, so all triangles are found one by one."""
    shard, num_own = halo.shard, len(halo.shard.ids)
    sides = tuple(map(shard.with_ghosts, [shard.local_out] if shard.symmetric else [shard.local_out, shard.local_into]))
    by_id = np.argsort(np.concatenate([shard.positions, shard.ghost_positions])).astype(shard.positions.dtype)
    order = ordered(halo.extended(numbers_of_arcs(sides)[:num_own]), by_id)
    of_own, of_ghosts = np.split(order.places, [num_own])
    earlier, later = divided(sides, order, len(by_id), directed)
    neighbours = earlier.ends - earlier.begins + later.ends - later.begins
    sums = np.zeros_like(neighbours)
    counts = np.array(add_triangles(earlier, later, later, len(by_id), sums))
    read = np.zeros_like(order.places, np.bool_)
    read[earlier.places[gathered(earlier.begins, earlier.ends, of_own)[0]]] = True
    weighted = directed and not shard.symmetric
    values = later.arcs if weighted else np.zeros_like(later.places, np.uint8)
    lists, entries = (later.begins[of_own], later.ends[of_own]), (order.rows[later.places], values)
    for some in fetch_lists(halo, lists, entries, read[of_ghosts], max(LEAST_BLOCK, len(later.places))):
        begins, ends = np.zeros_like(sums), np.zeros_like(sums)
        begins[of_ghosts[some.ghosts]], ends[of_ghosts[some.ghosts]] = some.begins, some.ends
        fetched = SideLists(begins, ends, order.places[some.rows], some.values if weighted else later.arcs)
        counts += add_triangles(earlier, later, fetched, len(by_id), sums)
    elsewhere = sums[of_ghosts]
    triangles, total = halo.communicator.total(counts).tolist()
    mine = sums[of_own]
    rows, values = halo.send(np.flatnonzero(elsewhere), elsewhere)
    add_at(mine, rows, values)
    times = times_of(directed and shard.symmetric)
    return Recount(times * mine, neighbours[of_own], triangles, times * total)
