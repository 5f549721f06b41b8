"""The fixpoint of shortest paths over all ranks, in supersteps.

A rank lowers the distances of its own rows, and its estimates for its ghosts, to its local fixpoint; then every ghost whose
distance fell is sent to its owner, which continues from there. A distance may therefore be too large at first and be lowered
later, as in the method of Bellman and Ford. Addition is monotone, so the fixpoint equals that of the single-rank kernels, to the
bit of a float.

Ranks tell each other in the same exchange whether any of them sent something. So a superstep is one exchange, and the last one
may lower nothing.

A social network of few levels takes no more supersteps than level by level, and about the same work.
"""

from collections.abc import Callable

import numpy as np

from kernels.distributed.halo import Halo
from kernels.graph import Array


def settle(halo: Halo, relax: Callable[[Array], None], values: Array, rows: Array) -> int:
    """Lower `values` to the fixpoint of all ranks; return the number of supersteps.

    Args:
        relax: Lowers `values` to the local fixpoint from the own rows that it is given, which are distinct.
        values ([n + g]): Of the own rows and the ghosts, larger than any distance where no path is known; lowered in place. Those
            of ghosts are this rank's estimates; their owners may have smaller ones.
        rows (index width [S]): Own rows to start from, distinct.
    """
    ghosts = values[len(values) - halo.shard.num_ghosts :]
    sent = ghosts.copy()
    supersteps = 0
    more = halo.communicator.any(len(rows))
    while more:
        relax(rows)
        lowered = np.flatnonzero(ghosts < sent)
        sent[lowered] = ghosts[lowered]
        rows, more = halo.lower_and_tell(values, lowered)
        supersteps += 1
    return supersteps
