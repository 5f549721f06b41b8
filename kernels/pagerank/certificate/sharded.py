"""Proof of PageRank over shards, by the rules of `kernels.pagerank.certificate`.

A row adds the shares of its in-arcs, so each rank needs the shares of its ghosts, and only sums from the other ranks.
"""

from typing import Any

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import RowNames
from kernels.distributed import Communicator, Halo, Shard
from kernels.graph import Array
from kernels.pagerank.certificate import arriving, certify


def certify_pagerank(shard: Shard, communicator: Communicator, answer: Scores) -> Certificate:
    """Prove that the scores of all ranks' own rows are PageRank with damping 0.85, as the certificate for one rank. A collective.

    Args:
        answer: Of the own rows; only `scores` is read.

    Returns:
        The same on all ranks, and for any number of ranks except for the rounding of sums. Malformed answers do not hold.
    """
    return certify(_ShardView(shard, communicator), answer)


class _ShardView:
    """See `kernels.pagerank.certificate.View`."""

    def __init__(self, shard: Shard, communicator: Communicator):
        self._view = GlobalView(shard, communicator)
        self.ids: RowNames = self._view
        self.num_vertices, self.out, self.into = shard.num_vertices, shard.out, shard.local_into
        self.first_row, self.entries = self._view.first_row, self._view.spread
        self._communicator, self._halo = communicator, Halo(shard, communicator)

    def form(self, scores: Any) -> Array:
        return self._view.form("pagerank", scores, len(self._view.shard.ids), np.dtype(np.float64))

    def sum(self, array: Array) -> float:
        return self._communicator.sum(float(array.sum()))

    def max(self, array: Array) -> float:
        return self._communicator.max(float(array.max()) if len(array) else 0.0)

    def arriving(self, shares: Array) -> Array:
        return arriving(self.into, self._halo.extended(shares))[: len(shares)]
