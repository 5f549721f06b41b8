"""The fixpoint of shortest paths over all ranks, in supersteps.

A rank lowers the distances of its rows, and its own idea of its ghosts', to its local fixpoint; then every ghost that came
nearer is told to its owner, who goes on from there. A distance may so be found too large at first and be lowered later, as in
Bellman's and Ford's method. Addition is monotone, so the fixpoint is the one of the one-worker kernels, to the bit of a float.

Where many arcs lead to ghosts, as in a social network, most of what a rank finds by itself is lowered later. A search may
then be held to a window: only rows whose distance lies within it of the nearest unfinished row, of all ranks, are gone on from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernels.graph import Array
from kernels.sharded.halo import Halo

# Lowers what some rows reach from below a limit; returns the rows that are not below it, to be gone on from later.
Relax = Callable[[Array, Any], Array]


def settle(halo: Halo, relax: Relax, values: Array, rows: Array, far: Any, window: int | None = None) -> int:
    """Lower `values` to the fixpoint of all ranks; return the number of supersteps.

    Parameters
    ----------
    halo : Halo
    relax : callable
        Does the local work, on `values`.
    values : [n + g]
        Of the own rows and the ghosts, `far` where no path is known; lowered in place. The ghosts' are what this rank found,
        and their owners may know better.
    rows : index width [S]
        Own rows to start from, each once.
    far : scalar
        Larger than any distance.
    window : int or None
        How far from the nearest unfinished row relaxing goes in one superstep; None for the local fixpoint.
    """
    ghosts = values[len(values) - halo.shard.num_ghosts :]
    told = ghosts.copy()
    supersteps = 0
    while True:
        own_nearest = np.append(values[rows], values.dtype.type(far)).min(keepdims=True)
        nearest = halo.communicator.least(own_nearest)[0]
        if nearest == far:
            return supersteps
        later = relax(rows, far if window is None else nearest + window)
        nearer = np.flatnonzero(ghosts < told)
        told[nearer] = ghosts[nearer]
        rows = np.union1d(later, halo.lower(values, nearer))
        supersteps += 1
