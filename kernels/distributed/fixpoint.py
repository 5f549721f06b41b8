"""The fixpoint of shortest paths over all ranks, in supersteps.

A rank lowers the distances of its rows, and its own idea of its ghosts', to its local fixpoint; then every ghost that came
nearer is told to its owner, who goes on from there. A distance may so be found too large at first and be lowered later, as in
Bellman's and Ford's method. Addition is monotone, so the fixpoint is the one of the one-worker kernels, to the bit of a float.

A social network of few levels takes no more supersteps so than level by level, and about the same work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.distributed.halo import Halo
from kernels.graph import Array


def settle(halo: Halo, relax: Callable[[Array], None], values: Array, rows: Array) -> int:
    """Lower `values` to the fixpoint of all ranks; return the number of supersteps.

    Parameters
    ----------
    halo : Halo
    relax : callable
        Lowers `values` to the local fixpoint from the own rows that it is given, each once.
    values : [n + g]
        Of the own rows and the ghosts, larger than any distance where no path is known; lowered in place. The ghosts' are what
        this rank found, and their owners may know better.
    rows : index width [S]
        Own rows to start from, each once.
    """
    ghosts = values[len(values) - halo.shard.num_ghosts :]
    told = ghosts.copy()
    supersteps = 0
    while halo.communicator.total(np.array([len(rows)]))[0]:
        relax(rows)
        nearer = np.flatnonzero(ghosts < told)
        told[nearer] = ghosts[nearer]
        rows = halo.lower(values, nearer)
        supersteps += 1
    return supersteps
