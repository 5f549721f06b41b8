"""Where steps have no length: rows that no strictly nearer row reaches tightly, breadth-first from those that have a path.

Level by level, since the predecessor is a row one step nearer: as many exchanges as the longest such way has steps, each of a
bit a ghost. Only arcs that weigh nothing, or too little to be seen in a sum of floats, are looked at.
"""

from __future__ import annotations

import numpy as np

from kernels.distributed.columns import lower_at
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array, Csr


def follow_steps(halo: Halo, weights: Array, known: Array, ranks: Array, waiting: Array, nearest: Array) -> None:
    """Give `nearest` to the own rows that such steps reach.

    Parameters
    ----------
    halo : Halo
    weights : [arcs]
        Of the in-arcs.
    known : int64 or float64 [n + g]
        Distances.
    ranks : index width [n + g]
        Places in the order of external ids.
    waiting : bool [n]
        The reached own rows that have no path yet; all other reached ones have.
    nearest : index width [n]
        The smallest of `ranks` one step nearer is written where a row is reached.
    """
    num_own = len(waiting)
    tails, heads = _of_no_length(halo.shard.local_into, weights, known, np.flatnonzero(waiting))
    order = np.argsort(tails, kind="stable")
    tails, heads = tails[order], heads[order]
    on_the_way = halo.extended((known[:num_own] >= 0) & ~waiting)
    fresh = np.flatnonzero(on_the_way)
    while halo.communicator.most(np.array([len(fresh)]))[0]:
        arcs = ranges(np.searchsorted(tails, fresh), np.searchsorted(tails, fresh, side="right"))
        arcs = arcs[~on_the_way[heads[arcs]]]
        lower_at(nearest, heads[arcs], ranks[tails[arcs]])
        reached = np.zeros(num_own, np.bool_, like=waiting)
        reached[heads[arcs]] = True
        reached = halo.extended(reached)
        on_the_way |= reached
        fresh = np.flatnonzero(reached)


def _of_no_length(into: Csr, weights: Array, known: Array, rows: Array) -> tuple[Array, Array]:
    """Tails and heads of the in-arcs of own `rows` that add nothing to a distance."""
    arcs = ranges(into.offsets[rows], into.offsets[rows + 1])
    heads = np.repeat(rows, into.offsets[rows + 1] - into.offsets[rows])
    tails = into.indices[arcs]
    kept = (known[tails] == known[heads]) & (known[tails] + weights[arcs] == known[heads])
    return tails[kept], heads[kept]


def ranges(begins: Array, ends: Array) -> Array:
    """All numbers of ranges, one after the other: int64."""
    lengths = ends - begins
    stops = np.cumsum(lengths)
    total = int(stops[-1]) if len(stops) else 0
    return np.arange(total, dtype=OFFSET, like=begins) + np.repeat(begins - (stops - lengths), lengths)
