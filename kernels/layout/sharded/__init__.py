"""The layout over ranks: from an edge list that is distributed over the ranks to a graph in shards.

The ranks clean the arcs in ranges of external ids (cleaning.py), agree on the order of the rows and on the ranges of rows
(ordering.py), and send every row to its owner. All shards together equal, to the byte, the graph that a single rank makes; or
that graph with its rows dealt (`kernels.distributed.dealing`), for ranks that continue with it in memory.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kernels.arrays import is_cupy
from kernels.distributed import Communicator, Halo, Owners, Shard
from kernels.distributed.assembly import ghosts_of, to_device
from kernels.distributed.dealing import Dealing, deal, leaving_arcs, sampled_rows
from kernels.gpu.loader import to_host
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout.laid_out import LaidOut, take_rows
from kernels.layout.rules import ArcRules, Edges
from kernels.layout.sharded.cleaning import ArcsToIds, VerticesOfRange, clean_arcs
from kernels.layout.sharded.ordering import cut_over_ranks, in_order

Item = TypeVar("Item")


def build_csr_over_ranks(
    edges: Edges, rules: ArcRules, window: int | None, communicator: Communicator, deals: bool = False
) -> LaidOut:
    """Answer `kernels.layout.building.build_csr`, over any number of ranks. Collective."""
    owned = clean_arcs(edges, rules, communicator)
    self_loops = communicator.sum(owned.self_loops)
    owners = Owners.of_counts(len(owned.ids), communicator)
    order, rows = in_order(np.diff(owned.arcs[0].csr.offsets), owners, window)
    row_of_own = np.empty_like(rows)
    row_of_own[order] = rows
    directions = [_by_row(arcs, order, row_of_own, owned, communicator) for arcs in _taken_out(owned.arcs)]
    if len(directions) > 1 and _alike(directions[0], directions[1], communicator):
        directions.pop()
    num_vertices = int(owners.bounds[-1])
    degrees = np.diff(directions[0].offsets)
    if len(directions) > 1:
        degrees = degrees + np.diff(directions[1].offsets)
    cut = cut_over_ranks(rows, degrees, num_vertices, communicator)

    def leaving(bounds: Array) -> Array:
        here, places = _sampled_of(to_host(rows), num_vertices)
        return communicator.total(leaving_arcs(bounds, here, places, directions[0]))

    dealing = deal(cut, leaving, communicator.size) if deals else Dealing.contiguous(cut(communicator.size, 0)[0])
    bounds = dealing.bounds
    if not dealing.keeps:
        rows, row_of_own = dealing.dealt(rows), dealing.dealt(row_of_own)
        ascending = np.argsort(rows).astype(order.dtype)
        rows, order = rows[ascending], order[ascending]
        directions = [
            take_rows(Csr(csr.offsets, dealing.dealt(csr.indices), csr.weights), ascending, None)
            for csr in _taken_out(directions)
        ]
    cuts = np.searchsorted(rows, np.asarray(bounds[1:-1].astype(rows.dtype), like=rows)).tolist()
    here = np.concatenate(communicator.exchange(np.split(rows, cuts))) - rows.dtype.type(bounds[communicator.rank])
    arrival = np.empty(len(here), index_dtype(len(here)), like=here)
    arrival[here] = np.arange(len(here), dtype=arrival.dtype, like=here)
    positions = (owners.own.start + order.astype(OFFSET)).astype(index_dtype(num_vertices))
    ids, positions = (
        np.concatenate(communicator.exchange(np.split(column, cuts)))[arrival] for column in (owned.ids[order], positions)
    )
    sent = [_sent(csr, cuts, arrival, communicator) for csr in _taken_out(directions)]
    by_name, own = dict(zip(("out", "in"), sent, strict=False)), range(communicator.rank, communicator.rank + 1)
    first, directed = owners.own.start, not rules.both
    return LaidOut(bounds, own, ids, positions, first, row_of_own, by_name, directed, False, self_loops, owned.dropped)


def shard_of(part: LaidOut, communicator: Communicator) -> Shard:
    """Make a shard of a rank's rows: find its ghosts and request their positions from the owners. Collective."""
    rank, directions = communicator.rank, [part.take(communicator.rank, name) for name in part.directions]
    ghosts = ghosts_of(part.rows(rank), directions)
    shard = Shard(rank, part.bounds, part.ids, part.positions, directions[0], directions[-1], ghosts, ghosts, part.directed)
    if is_cupy(shard.out):
        shard = to_device(shard)
    return replace(shard, ghost_positions=Halo(shard, communicator).refresh(part.positions))


def _sampled_of(rows: Array, num_vertices: int) -> tuple[Array, Array]:
    """Those of the sampled rows that are among `rows`, which ascend, and their places there."""
    sample = sampled_rows(num_vertices)
    places: Array = np.searchsorted(rows, sample)
    is_here = places < len(rows)
    is_here[is_here] = rows[places[is_here]] == sample[is_here]
    return sample[is_here], places[is_here]


def _taken_out(items: list[Item]) -> Iterator[Item]:
    """The items in order; the list has none of them any more when they are used, so that each is freed before the next one."""
    while items:
        yield items.pop(0)


def _by_row(arcs: ArcsToIds, order: Array, row_of_own: Array, owned: VerticesOfRange, communicator: Communicator) -> Csr:
    """The arcs of the own vertices in the order of their rows, with rows as indices. Collective."""
    return take_rows(arcs.csr, order, owned.request(arcs.heads, row_of_own, communicator))


def _alike(out: Csr, into: Csr, communicator: Communicator) -> bool:
    """Whether both directions have equal arcs on all ranks. Collective."""
    columns: list[tuple[Any, Any]] = [(out.offsets, into.offsets), (out.indices, into.indices), (out.weights, into.weights)]
    same = all(one is other or (len(one) == len(other) and bool((one == other).all())) for one, other in columns)
    return bool(communicator.least(np.array([same], OFFSET))[0])


def _sent(csr: Csr, cuts: list[int], arrival: Array, communicator: Communicator) -> Csr:
    """Send each rank the rows between its `cuts` and return the received ones in order: row i arrived as number `arrival[i]`."""
    at = csr.offsets[np.asarray(np.array(cuts, OFFSET), like=csr.offsets)].tolist()
    degrees = np.concatenate(communicator.exchange(np.split(np.diff(csr.offsets), cuts)))
    offsets = np.zeros(len(degrees) + 1, OFFSET, like=degrees)
    offsets[1:] = np.cumsum(degrees)
    indices = np.concatenate(communicator.exchange(np.split(csr.indices, at)))
    weights = None if csr.weights is None else np.concatenate(communicator.exchange(np.split(csr.weights, at)))
    return take_rows(Csr(offsets, indices, weights), arrival, None)
