"""A shard without the arcs that cannot be in the forest: heavy ones between rows that lighter arcs connect (filter.cu).

By the cycle property, an edge is not in the forest if edges that are all less connect its ends. Dense graphs have a few edges per
row that connect nearly all rows, so nearly all other edges are dropped, before a rank copies arcs or sorts them.

Source: Osipov, Sanders, Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.distributed import Communicator, Halo, Shard
from kernels.distributed.shard import LocalArcs
from kernels.forest.constants import FILTER_ARCS
from kernels.gpu.loader import launch, pointer
from kernels.graph import OFFSET, Array, Csr
from kernels.wcc.sharded import wcc

DENSE = 6  # edges per row with arcs from which on arcs are dropped
_LIGHT = 3  # light edges per row with arcs
_SAMPLE = 1 << 14  # arcs of a rank in the sample by which light edges are chosen
_THREADS = 256


class _Limit(NamedTuple):
    """Edges are light if their (weight, smaller position of their ends) is less."""

    weight: Any  # of the weights' type
    low: int


def without_heavy(shard: Shard, communicator: Communicator, dense: int = DENSE) -> tuple[Shard, int]:
    """The shard with the arcs that may be in the forest, and the supersteps this took. Collective.

    A graph of fewer than `dense` edges per row with arcs keeps all.
    """
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    arcs, with_arcs = communicator.total(np.array([len(sides[0].indices), _with_arcs(shard)], OFFSET)).tolist()
    edges = arcs // 2 if shard.symmetric else arcs
    if not with_arcs or edges < dense * with_arcs:
        return shard, 0
    positions = cupy.concatenate([shard.positions, shard.ghost_positions])
    limit = _limit(sides[0], positions, _LIGHT * with_arcs / edges, communicator)
    light = _with_arcs_of(shard, [_kept(side, positions, limit, None) for side in sides])
    trees = wcc(light, communicator)
    del light
    labels = Halo(shard, communicator).extended(trees.answer.labels)
    return _with_arcs_of(shard, [_kept(side, positions, limit, labels) for side in sides]), trees.supersteps + 1


def _with_arcs(shard: Shard) -> int:
    return int(cupy.count_nonzero(cupy.diff(shard.local_out.offsets)))


def _limit(out: Csr, positions: Array, share: float, communicator: Communicator) -> _Limit:
    """The limit below which about this share of all ranks' edges are, by a sample; the same on all ranks. Collective."""
    arcs = cupy.arange(0, len(out.indices), max(1, len(out.indices) // _SAMPLE), dtype=OFFSET)
    tails = cupy.searchsorted(out.offsets, arcs, side="right") - 1
    low = cupy.minimum(positions[tails], positions[out.indices[arcs]]).get()
    weights = np.ones(len(low), np.int32) if out.weights is None else out.weights[arcs].get()
    low, weights = (np.concatenate(communicator.gather(column)) for column in (low, weights))
    order = np.lexsort((low, weights))
    place = order[min(int(share * len(order)), len(order) - 1)]
    return _Limit(weights[place], int(low[place]))


def _kept(csr: Csr, positions: Array, limit: _Limit, labels: Array | None) -> Csr:
    """The light arcs, and those between rows of different `labels` (index width [n + g], or None)."""
    num_rows, arcs = len(csr.offsets) - 1, len(csr.indices)
    types: dict[str, Any] = {"ROW": csr.indices.dtype, "WEIGHT": limit.weight.dtype}
    of_arcs = csr.offsets, csr.indices, pointer(csr.weights), np.int64(num_rows), np.int64(arcs)
    given = (*of_arcs, positions, pointer(labels), limit.weight, np.int64(limit.low))
    shares = -(-arcs // FILTER_ARCS)
    offsets, begins = cupy.zeros(num_rows + 1, OFFSET), cupy.zeros(shares + 1, OFFSET)
    _launch("count_kept", shares, *given, offsets[1:], begins[1:], **types)
    cupy.cumsum(offsets, out=offsets)
    cupy.cumsum(begins, out=begins)
    indices = cupy.empty(int(begins[-1]), csr.indices.dtype)
    weights = None if csr.weights is None else cupy.empty(len(indices), csr.weights.dtype)
    _launch("list_kept", shares, *given, begins, indices, pointer(weights), **types)
    return Csr(offsets, indices, weights)


def _launch(name: str, shares: int, *arguments: Any, **types: Any) -> None:
    launch("forest/sharded/filter.cu", name, _THREADS, 32 * shares, *arguments, **types)


def _with_arcs_of(shard: Shard, sides: list[Csr]) -> Shard:
    """The shard with some of its arcs, given by its local rows; ghosts without any arc are ghosts no more."""
    num_own = len(shard.ids)
    has_arcs = cupy.zeros(num_own + shard.num_ghosts, np.bool_)
    has_arcs[:num_own] = True
    for side in sides:
        has_arcs[side.indices] = True
    number = cupy.cumsum(has_arcs, dtype=shard.ghosts.dtype) - 1
    known = cupy.flatnonzero(has_arcs[num_own:])
    ghosts, ghost_positions, length = shard.ghosts[known], shard.ghost_positions[known], num_own + len(known) + 1
    arcs = [
        LocalArcs(Csr(side.offsets[:length], number[side.indices], side.weights), shard.rows.start, num_own, ghosts)
        for side in sides
    ]
    return replace(shard, out=arcs[0], into=arcs[-1], ghosts=ghosts, ghost_positions=ghost_positions)
