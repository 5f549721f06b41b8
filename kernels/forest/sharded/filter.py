"""A shard without the arcs that cannot be in the forest: heavy ones between rows that lighter arcs connect (filter.cu).

By the cycle property, an edge is not in the forest if edges that are all less connect its ends. Dense graphs have a few edges per
row that connect nearly all rows, so nearly all other edges are dropped, before a rank copies arcs or sorts them. Passes with
growing limits keep what leads from one tree of the lighter edges to another: each time the rows that are still alone keep only
the lightest part of their edges.

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
_LIGHT, _GROWTH = 1, 4  # edges per row with arcs below the first limit, and how many times as many are below the next one
_MOST = 0.5  # of the edges below the last limit
_SAMPLE = 1 << 14  # arcs of a rank in the sample by which limits are chosen
_THREADS = 256
_BLOCK = 1 << 26  # arcs that are renumbered at a time


class _Limit(NamedTuple):
    """Edges are below it if their (weight, smaller position of their ends) is less."""

    weight: Any  # of the weights' type
    low: int


def without_heavy(shard: Shard, communicator: Communicator, dense: int = DENSE) -> tuple[Shard, int]:
    """The shard with the arcs that may be in the forest, and the supersteps this took. Collective.

    A graph of fewer than `dense` edges per row with arcs keeps all. Beside the shard there are at most a bit for each of its
    arcs, the kept arcs, and 40 bytes for each local row.
    """
    sides = (shard.local_out,) if shard.symmetric else (shard.local_out, shard.local_into)
    arcs, with_arcs = communicator.total(np.array([len(sides[0].indices), _with_arcs(shard)], OFFSET)).tolist()
    edges = arcs // 2 if shard.symmetric else arcs
    if not with_arcs or edges < dense * with_arcs:
        return shard, 0
    positions, labels, supersteps = cupy.concatenate([shard.positions, shard.ghost_positions]), None, 0
    marks = [cupy.zeros(-(-len(side.indices) // 32), np.uint32) for side in sides]
    for limit in _limits(sides[0], positions, _LIGHT * with_arcs / edges, communicator):
        light = _with_arcs_of(shard, [_kept(*side, positions, labels, limit) for side in zip(sides, marks, strict=True)])
        labels = None
        trees = wcc(light, communicator)
        del light
        labels = Halo(shard, communicator).extended(trees.answer.labels)
        supersteps += trees.supersteps + 1
    return _with_arcs_of(shard, [_kept(*side, positions, labels, None) for side in zip(sides, marks, strict=True)]), supersteps


def _with_arcs(shard: Shard) -> int:
    return int(cupy.count_nonzero(cupy.diff(shard.local_out.offsets)))


def _limits(out: Csr, positions: Array, share: float, communicator: Communicator) -> list[_Limit]:
    """Limits below which there are about this share of all ranks' edges, `_GROWTH` times as many, and so on, up to `_MOST`.

    They are estimated by a sample, and the same on all ranks. Collective.
    """
    arcs = cupy.arange(0, len(out.indices), max(1, len(out.indices) // _SAMPLE), dtype=OFFSET)
    tails = cupy.searchsorted(out.offsets, arcs, side="right") - 1
    low = cupy.minimum(positions[tails], positions[out.indices[arcs]]).get()
    weights = np.ones(len(low), np.int32) if out.weights is None else out.weights[arcs].get()
    low, weights = (np.concatenate(communicator.gather(column)) for column in (low, weights))
    shares = [share]
    while shares[-1] * _GROWTH < _MOST:
        shares.append(shares[-1] * _GROWTH)
    order = np.lexsort((low, weights))
    places = (order[min(int(part * len(order)), len(order) - 1)] for part in shares)
    return [_Limit(weights[place], int(low[place])) for place in places]


def _kept(csr: Csr, marks: Array, positions: Array, labels: Array | None, limit: _Limit | None) -> Csr:
    """The marked arcs, and those below the limit, or all, between rows of different `labels`, which are marked, too.

    Args:
        marks (uint32 [A / 32]): A bitmap of the arcs.
        labels: Index width [n + g], or None if each row has its own.
    """
    num_rows, arcs = len(csr.offsets) - 1, len(csr.indices)
    weight, low = limit or _Limit(np.dtype(np.int32 if csr.weights is None else csr.weights.dtype).type(0), 0)
    types: dict[str, Any] = {"ROW": csr.indices.dtype, "WEIGHT": weight.dtype}
    given = csr.offsets, csr.indices, pointer(csr.weights), np.int64(num_rows), np.int64(arcs), positions, pointer(labels)
    shares = -(-arcs // FILTER_ARCS)
    offsets, begins = cupy.zeros(num_rows + 1, OFFSET), cupy.zeros(shares + 1, OFFSET)
    limited = weight, np.int64(low), np.bool_(limit is None)
    _launch("mark_kept", shares, *given, *limited, marks, offsets[1:], begins[1:], **types)
    cupy.cumsum(offsets, out=offsets)
    cupy.cumsum(begins, out=begins)
    indices = cupy.empty(int(begins[-1]), csr.indices.dtype)
    weights = None if csr.weights is None else cupy.empty(len(indices), csr.weights.dtype)
    listed = csr.indices, pointer(csr.weights), np.int64(arcs), marks, begins, indices, pointer(weights)
    _launch("list_kept", shares, *listed, **types)
    return Csr(offsets, indices, weights)


def _launch(name: str, shares: int, *arguments: Any, **types: Any) -> None:
    launch("forest/sharded/filter.cu", name, _THREADS, 32 * shares, *arguments, **types)


def _with_arcs_of(shard: Shard, sides: list[Csr]) -> Shard:
    """The shard with some of its arcs, given by its local rows, which are renumbered in place.

    Ghosts without any arc are ghosts no more.
    """
    num_own = len(shard.ids)
    has_arcs = cupy.zeros(num_own + shard.num_ghosts, np.bool_)
    has_arcs[:num_own] = True
    for side in sides:
        has_arcs[side.indices] = True
    number = cupy.cumsum(has_arcs, dtype=shard.ghosts.dtype) - 1
    known = cupy.flatnonzero(has_arcs[num_own:])
    ghosts, ghost_positions, length = shard.ghosts[known], shard.ghost_positions[known], num_own + len(known) + 1
    for side in sides:
        for begin in range(0, len(side.indices), _BLOCK):
            block = side.indices[begin : begin + _BLOCK]
            block[...] = number[block]
    arcs = [
        LocalArcs(Csr(side.offsets[:length], side.indices, side.weights), shard.rows.start, num_own, ghosts) for side in sides
    ]
    return replace(shard, out=arcs[0], into=arcs[-1], ghosts=ghosts, ghost_positions=ghost_positions)
