"""The layout over ranks: from an edge list that is distributed over the ranks to a graph in shards.

The ranks clean the arcs in ranges of external ids (cleaning.py), agree on the order of the rows and on the ranges of rows
(ordering.py), and send every row to its owner. All shards together equal, to the byte, the graph that a single rank makes; or
that graph with its rows dealt (`kernels.distributed.dealing`), for ranks that continue with it in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernels.arrays import is_cupy
from kernels.distributed.assembly import ghosts_of, to_device
from kernels.distributed.communicator import Communicator
from kernels.distributed.dealing import Dealing, deal
from kernels.distributed.halo import Halo
from kernels.distributed.owners import Owners
from kernels.distributed.shard import Shard
from kernels.graph import OFFSET, Array, Csr, index_dtype
from kernels.layout.rows import take_rows
from kernels.layout.rules import Rules
from kernels.layout.sharded.cleaning import OwnArcs, OwnVertices, clean_arcs
from kernels.layout.sharded.ordering import cut_over_ranks, in_order


@dataclass(frozen=True)
class LaidOutRows:
    """A rank's rows of the graph, with stored or dealt numbers.

    Attributes
    ----------
    bounds : int64 [size + 1]
        Rank r owns the rows `bounds[r]:bounds[r + 1]`; always a NumPy array.
    ids : int64 [n]
        External ids of the own rows.
    positions : index width [n]
        Their positions in the ascending order of all external ids.
    out, into : Csr
        Their arcs to rows of the graph; the same object if the graph is symmetric.
    """

    bounds: Array
    ids: Array
    positions: Array
    out: Csr
    into: Csr


@dataclass(frozen=True)
class RowsById:
    """A slice of `Graph.rows_by_id`: `rows`, index width, from position `first` on."""

    first: int
    rows: Array


def lay_out(
    src: Array, dst: Array, weights: Array | None, rules: Rules, window: int | None, communicator: Communicator,
    deals: bool = False,
) -> tuple[LaidOutRows, RowsById]:  # fmt: skip
    """Build a graph from the edges of all ranks, with a share of the rows on every rank. Collective.

    Parameters
    ----------
    src, dst : int64 [E]
        External ids of the endpoints of this rank's edges, not negative, in any order; on a GPU also int32, on all ranks.
    weights : [E] or None
        Not negative, not NaN; of one type on all ranks.
    rules : Rules
    window : int or None
        Positions in a window of `kernels.layout.orders.by_degree_in_windows`: a number of at least V orders all rows by degree,
        None keeps the order of the ids.
    communicator : Communicator
    deals : bool
        Whether rows are dealt to ranks and renumbered for computing (see `kernels.distributed.dealing`). Otherwise a rank gets
        the rows that it stores: a range with its share of the arcs.

    Returns
    -------
    LaidOutRows, RowsById
        The second, concatenated over the ranks, is `Graph.rows_by_id`.
    """
    owned = clean_arcs(src, dst, weights, rules, communicator)
    owners = Owners.of_counts(len(owned.ids), communicator)
    order, rows = in_order(np.diff(owned.out.csr.offsets), owners, window)
    row_of_own = np.empty_like(rows)
    row_of_own[order] = rows
    directions = [_by_row(arcs, order, row_of_own, owned, communicator) for arcs in (owned.out, owned.into) if arcs]
    if owned.into and _alike(directions[0], directions[1], communicator):
        directions.pop()
    num_vertices = int(owners.bounds[-1])
    degrees = np.diff(directions[0].offsets)
    if len(directions) > 1:
        degrees = degrees + np.diff(directions[1].offsets)
    cut = cut_over_ranks(rows, degrees, num_vertices, communicator)
    dealing = deal(cut, communicator.size) if deals else Dealing.contiguous(cut(communicator.size, 0)[0])
    bounds = dealing.bounds
    if not dealing.keeps:
        rows, row_of_own = dealing.dealt(rows), dealing.dealt(row_of_own)
        ascending = np.argsort(rows).astype(order.dtype)
        rows, order = rows[ascending], order[ascending]
        directions = [take_rows(Csr(csr.offsets, dealing.dealt(csr.indices), csr.weights), ascending, None) for csr in directions]
    cuts = np.searchsorted(rows, np.asarray(bounds[1:-1].astype(rows.dtype), like=rows)).tolist()
    here = np.concatenate(communicator.exchange(np.split(rows, cuts))) - rows.dtype.type(bounds[communicator.rank])
    arrival = np.empty(len(here), index_dtype(len(here)), like=here)
    arrival[here] = np.arange(len(here), dtype=arrival.dtype, like=here)
    positions = (owners.own.start + order.astype(OFFSET)).astype(index_dtype(num_vertices))
    ids, positions = (
        np.concatenate(communicator.exchange(np.split(column, cuts)))[arrival] for column in (owned.ids[order], positions)
    )
    csrs = [_sent(csr, cuts, arrival, communicator) for csr in directions]
    return LaidOutRows(bounds, ids, positions, csrs[0], csrs[-1]), RowsById(owners.own.start, row_of_own)


def shard_of(rows: LaidOutRows, communicator: Communicator) -> Shard:
    """Make a shard of a rank's rows: find its ghosts and request their positions from the owners. Collective."""
    rank = communicator.rank
    own = range(int(rows.bounds[rank]), int(rows.bounds[rank + 1]))
    ghosts = ghosts_of(own, (rows.out,) if rows.into is rows.out else (rows.out, rows.into))
    shard = Shard(rank, rows.bounds, rows.ids, rows.positions, rows.out, rows.into, ghosts, ghosts)
    if is_cupy(rows.out):
        shard = to_device(shard)
    return replace(shard, ghost_positions=Halo(shard, communicator).refresh(rows.positions))


def _by_row(arcs: OwnArcs, order: Array, row_of_own: Array, owned: OwnVertices, communicator: Communicator) -> Csr:
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
