"""Proof of PageRank over shards: one more step of the iteration hardly changes the scores (`kernels.pagerank.certificate`).

A row adds the shares of its in-arcs, so each rank needs the shares of its ghosts, and only sums from the other ranks.
"""

from __future__ import annotations

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import at, verdict
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW
from kernels.pagerank.certificate import (
    DAMPING,
    MOST_CHANGE,
    RULES,
    arriving,
    base_score,
    changed,
    is_score,
    not_a_score,
    require_sum,
)


def certify_pagerank(shard: Shard, communicator: Communicator, answer: Scores) -> Certificate:
    """Prove that the scores of all ranks' own rows are PageRank with damping 0.85, as the certificate for one rank. A collective.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    answer : Scores
        Of the own rows; only `scores` is read.

    Returns
    -------
    Certificate
        The same on all ranks, and for any number of ranks except for the rounding of sums. Malformed answers do not hold.
    """
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Scores) -> None:
    view = GlobalView(shard, communicator)
    scores = view.form("pagerank", answer.scores, len(shard.ids), np.dtype(np.float64))
    if not shard.num_vertices:
        return
    row = view.first_row(~is_score(scores))
    if row != NO_ROW:
        raise not_a_score(view, row, float(at(view.spread(scores), row)))
    require_sum(communicator.sum(float(scores.sum())))
    degrees = np.diff(shard.out.offsets)
    base = base_score(communicator.sum(float(scores[degrees == 0].sum())), shard.num_vertices)
    shares = Halo(shard, communicator).extended(scores / np.maximum(degrees, 1))
    changes = np.abs(base + DAMPING * arriving(shard.local_into, shares)[: len(scores)] - scores)
    change = communicator.sum(float(changes.sum()))
    if not change <= MOST_CHANGE:
        most = communicator.max(float(changes.max()) if len(changes) else -1.0)
        raise changed(view, change, view.first_row(changes == most), most)
