"""Proof of PageRank over shards, by the rules of `kernels.pagerank.certificate`.

A row adds the shares of its in-arcs, so each rank needs the shares of its ghosts, and only sums from the other ranks.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import RowNames
from kernels.distributed import Communicator, Halo, Shard
from kernels.gpu.loader import to_host
from kernels.graph import Array
from kernels.pagerank.certificate import certify
from kernels.pagerank.certificate.bounds import blocked_sum
from kernels.pagerank.certificate.seeded import certify_all
from kernels.pagerank.certificate.views import arriving
from kernels.pagerank.parameters import DAMPING, TOLERANCE, Personalization


def certify_pagerank(
    shard: Shard,
    communicator: Communicator,
    answer: Scores,
    damping: float = DAMPING,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> Certificate:
    """Prove that the scores of all ranks' own rows are PageRank, as the certificate for one rank. A collective.

    Args:
        answer: Of the own rows; only `scores` is read.
        damping, tolerance, iterations: See `kernels.pagerank.pagerank`.

    Returns:
        The same on all ranks, and for any number of ranks except for the rounding of sums. Malformed answers do not hold.
    """
    return certify(_ShardView(shard, communicator), answer, damping, tolerance, iterations)


def certify_rankings(
    shard: Shard,
    communicator: Communicator,
    answers: Sequence[Scores],
    personalizations: Sequence[Personalization],
    **options: Any,
) -> list[Certificate]:
    """Prove rankings from seeds, whose rows are those of the whole graph, as the certificate for one rank. A collective."""
    return certify_all(_ShardView(shard, communicator), answers, personalizations, **options)


class _ShardView:
    """See `kernels.pagerank.certificate.views.View`."""

    def __init__(self, shard: Shard, communicator: Communicator):
        self._view = GlobalView(shard, communicator)
        self.ids: RowNames = self._view
        self.num_vertices, self.out, self.into = shard.num_vertices, shard.out, shard.local_into
        self.own = shard.rows
        self.first_row, self.entries = self._view.first_row, self._view.spread
        self._communicator, self._halo = communicator, Halo(shard, communicator)

    def form(self, scores: Any) -> Array:
        return self._view.form("pagerank", scores, len(self._view.shard.ids), np.dtype(np.float64))

    def sum(self, array: Array) -> float:
        return self._communicator.sum(float(blocked_sum(array)))

    def sums(self, array: Array) -> Array:
        return self._communicator.total(to_host(blocked_sum(array)))

    def max(self, array: Array) -> float:
        return self._communicator.max(float(array.max()) if len(array) else 0.0)

    def arriving(self, shares: Array) -> Array:
        return arriving(self.into, self._halo.extended(shares))[: len(shares)]
