"""From an edge list that lies in parts on the ranks to a graph that lies in shards on them: what `kernels.layout` does, together.

The ranks clean the arcs in ranges of external ids (cleaning.py), agree on the order of the rows and on where they are cut
(ordering.py), and send every row to its owner. All shards together are, to the byte, the graph that one worker makes; or that
graph with its rows dealt (dealing.py), for ranks that go on with what they have in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from kernels.layout.sharded.cleaning import Arcs, Owned, Rules, clean_arcs
from kernels.layout.sharded.ordering import cut_over_ranks, in_order


@dataclass(frozen=True)
class Rows:
    """A rank's rows of the graph, numbered as they are stored, or dealt.

    Attributes
    ----------
    bounds : int64 [size + 1]
        Rank r owns the rows `bounds[r]:bounds[r + 1]`; always a NumPy array.
    ids : int64 [n]
        External ids of the own rows.
    positions : index width [n]
        Their places in the ascending order of all external ids.
    out, into : Csr
        Their arcs to rows of the whole graph; the same object where the graph is symmetric.
    """

    bounds: Array
    ids: Array
    positions: Array
    out: Csr
    into: Csr


@dataclass(frozen=True)
class RowsById:
    """A slice of all rows in ascending order of their external ids: `rows`, index width, from place `first` on."""

    first: int
    rows: Array


def lay_out(
    src: Array, dst: Array, weights: Array | None, rules: Rules, window: int | None, communicator: Communicator,
    deals: bool = False,
) -> tuple[Rows, RowsById]:  # fmt: skip
    """Make a graph of the edges of all ranks, with a share of the rows on every rank.

    Parameters
    ----------
    src, dst : int64 [E]
        External ids of the ends of this rank's edges, none negative, in any order; on a GPU also int32, on all ranks.
    weights : [E] or None
        None negative, or NaN; of one type on all ranks.
    rules : Rules
    window : int or None
        Vertices in a window of `kernels.layout.orders.by_degree_in_windows`; as many as there can be order all by degree, and
        None keeps the order of the ids.
    communicator : Communicator
    deals : bool
        Whether ranks get the rows, and rows the numbers, with which the ranks work on a graph: see `kernels.distributed.dealing`.
        Else a rank gets the rows that it stores: a range that has its share of the arcs.

    Returns
    -------
    Rows, RowsById
        The second has, of the ranks in turn, all of `Graph.rows_by_id`.
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
    degrees = sum(np.diff(csr.offsets) for csr in directions)
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
    came = np.empty(len(here), index_dtype(len(here)), like=here)
    came[here] = np.arange(len(here), dtype=came.dtype, like=here)
    positions = (owners.own.start + order.astype(OFFSET)).astype(index_dtype(num_vertices))
    ids, positions = (
        np.concatenate(communicator.exchange(np.split(column, cuts)))[came] for column in (owned.ids[order], positions)
    )
    csrs = [_sent(csr, cuts, came, communicator) for csr in directions]
    return Rows(bounds, ids, positions, csrs[0], csrs[-1]), RowsById(owners.own.start, row_of_own)


def shard_of(rows: Rows, communicator: Communicator) -> Shard:
    """Make a shard of a rank's rows: find its ghosts, and ask their owners for their positions. Collective."""
    rank = communicator.rank
    own = range(int(rows.bounds[rank]), int(rows.bounds[rank + 1]))
    ghosts = ghosts_of(own, (rows.out,) if rows.into is rows.out else (rows.out, rows.into))
    shard = Shard(rank, rows.bounds, rows.ids, rows.positions, rows.out, rows.into, ghosts, ghosts)
    if is_cupy(rows.out):
        shard = to_device(shard)
    return replace(shard, ghost_positions=Halo(shard, communicator).refresh(rows.positions))


def _by_row(arcs: Arcs, order: Array, row_of_own: Array, owned: Owned, communicator: Communicator) -> Csr:
    """The own vertices' arcs in the order of their rows, which are anywhere in the graph; the ends are rows."""
    return take_rows(arcs.csr, order, owned.ask(arcs.heads, row_of_own, communicator))


def _alike(out: Csr, into: Csr, communicator: Communicator) -> bool:
    """Whether the arcs of both directions are the same on all ranks."""
    columns: list[tuple[Array, Array]] = [(out.offsets, into.offsets), (out.indices, into.indices), (out.weights, into.weights)]
    same = all(one is other or (len(one) == len(other) and bool((one == other).all())) for one, other in columns)
    return bool(communicator.least(np.array([same], OFFSET))[0])


def _sent(csr: Csr, cuts: list[int], came: Array, communicator: Communicator) -> Csr:
    """Send rows, cut where those of the next rank begin, and put what came into order: row i came at `came[i]`."""
    at = csr.offsets[np.asarray(np.array(cuts, OFFSET), like=csr.offsets)].tolist()
    degrees = np.concatenate(communicator.exchange(np.split(np.diff(csr.offsets), cuts)))
    offsets = np.zeros(len(degrees) + 1, OFFSET, like=degrees)
    offsets[1:] = np.cumsum(degrees)
    indices, weights = (
        None if column is None else np.concatenate(communicator.exchange(np.split(column, at)))
        for column in (csr.indices, csr.weights)
    )
    return take_rows(Csr(offsets, indices, weights), came, None)
