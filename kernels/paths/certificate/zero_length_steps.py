"""Arcs of length zero over shards: a search from the rows that have a path to those that no strictly nearer row reaches tightly.

The search goes level by level, because the predecessor is a row one step nearer: it exchanges one bit per ghost as many times as
the longest such path has steps. Only arcs of weight 0, or of a weight that a float sum absorbs, are read.
"""

import numpy as np

from kernels.distributed.columns import lower_at
from kernels.distributed.halo import Halo
from kernels.graph import OFFSET, Array, Csr


def follow_steps(halo: Halo, weights: Array, known: Array, positions: Array, waiting: Array, nearest: Array) -> None:
    """Set `nearest` for the own rows that such steps reach.

    Args:
        weights ([arcs]): Of the in-arcs.
        known (int64 or float64 [n + g]): Distances.
        positions (index width [n + g]): Positions in ascending order of external ids.
        waiting (bool [n]): The reached own rows that have no path yet; all other reached rows have one.
        nearest (index width [n]): Where a row is reached, the least of `positions` one step nearer is written.
    """
    num_own = len(waiting)
    tails, heads = _arcs_of_length_zero(halo.shard.local_into, weights, known, np.flatnonzero(waiting))
    order = np.argsort(tails, kind="stable")
    tails, heads = tails[order], heads[order]
    with_path = halo.extended((known[:num_own] >= 0) & ~waiting)
    fresh = np.flatnonzero(with_path)
    while halo.communicator.any(len(fresh)):
        arcs = _ranges(np.searchsorted(tails, fresh), np.searchsorted(tails, fresh, side="right"))
        arcs = arcs[~with_path[heads[arcs]]]
        lower_at(nearest, heads[arcs], positions[tails[arcs]])
        reached = np.zeros(num_own, np.bool_, like=waiting)
        reached[heads[arcs]] = True
        reached = halo.extended(reached)
        with_path |= reached
        fresh = np.flatnonzero(reached)


def _arcs_of_length_zero(into: Csr, weights: Array, known: Array, rows: Array) -> tuple[Array, Array]:
    """Tails and heads of the in-arcs of own `rows` that add nothing to a distance."""
    arcs = _ranges(into.offsets[rows], into.offsets[rows + 1])
    heads = np.repeat(rows, into.offsets[rows + 1] - into.offsets[rows])
    tails = into.indices[arcs]
    kept = (known[tails] == known[heads]) & (known[tails] + weights[arcs] == known[heads])
    return tails[kept], heads[kept]


def _ranges(begins: Array, ends: Array) -> Array:
    """The integers of all ranges, one range after the other: int64."""
    lengths = ends - begins
    stops = np.cumsum(lengths)
    total = int(stops[-1]) if len(stops) else 0
    places: Array = np.arange(total, dtype=OFFSET, like=begins) + np.repeat(begins - (stops - lengths), lengths)
    return places
