"""A pseudo-random order of all rows, the same on every rank, whose first row has many arcs."""

import numpy as np

from kernels.distributed import Communicator, Shard
from kernels.graph import OFFSET, Array

_SHIFT = np.uint64(33)
_FACTORS = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)  # of MurmurHash3's finalizer, a bijection of 64 bits that maps 0 to 0
_INVERSE = tuple(pow(factor, -1, 2**64) for factor in reversed(_FACTORS))


class PivotFirst:
    """The order. Its construction is a collective.

    Attributes:
        pivot: The first row: that with the largest minimum of its in-degree and out-degree; 0 in an empty graph.
    """

    def __init__(self, shard: Shard, communicator: Communicator):
        arcs = np.minimum(np.diff(shard.out.offsets), np.diff(shard.into.offsets))
        most = int(arcs.argmax()) if len(arcs) else 0
        best = np.array([int(arcs[most]) if len(arcs) else -1, shard.rows.start + most], OFFSET)
        self.pivot = int(max(communicator.gather(best), key=lambda of_rank: int(of_rank[0]))[1])

    def of(self, rows: Array) -> Array:
        """The places of rows in the order, uint64, 0 for the pivot."""
        return _mixed(rows.astype(np.uint64) ^ np.uint64(self.pivot), _FACTORS)

    def rows(self, places: Array) -> Array:
        """The rows, int64, at these places."""
        rows: Array = (_mixed(places, _INVERSE) ^ np.uint64(self.pivot)).astype(OFFSET)
        return rows


def _mixed(keys: Array, factors: tuple[int, ...]) -> Array:
    """Apply a bijection that scatters uint64; the inverse factors give the inverse."""
    for factor in factors:
        keys = (keys ^ (keys >> _SHIFT)) * np.uint64(factor)
    mixed: Array = keys ^ (keys >> _SHIFT)
    return mixed
