"""Proof of PageRank over shards: one more step of the power iteration hardly moves the ranks (`kernels.pagerank.certificate`).

A row sums what its in-arcs bring, so each rank needs the shares of its ghosts, and nothing else of the others but sums.
"""

from __future__ import annotations

import numpy as np

from kernels.answers import Certificate, Scores
from kernels.arrays import is_cupy_array
from kernels.certificate.global_view import GlobalView
from kernels.certificate.rules import Broken, at, name_of, verdict
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW, Array
from kernels.pagerank.certificate import DAMPING, MOST_CHANGE, RULES


def certify_pagerank(shard: Shard, communicator: Communicator, answer: Scores) -> Certificate:
    """Prove that the ranks of all ranks' rows are PageRank with damping 0.85, as the one-worker certificate does. A collective.

    Parameters
    ----------
    shard : Shard
    communicator : Communicator
    answer : Scores
        Of the own rows; only its `ranks` are read.

    Returns
    -------
    Certificate
        The same on all ranks; and for any number of them, but for how sums are rounded. Malformed answers do not hold.
    """
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Scores) -> None:
    whole = GlobalView(shard, communicator)
    ranks = whole.form("pagerank", answer.scores, len(shard.ids), np.dtype(np.float64))
    if not shard.num_vertices:
        return
    row = whole.first_row(~((ranks > 0) & np.isfinite(ranks)))
    if row != NO_ROW:
        rank = at(whole.spread(ranks), row)
        raise Broken(f"vertex {name_of(whole, row)}: rank {rank} is no positive finite number")
    total = _sum(communicator, ranks)
    if not abs(total - 1) <= MOST_CHANGE:
        raise Broken(f"the ranks sum to {total:.12g}, not 1")
    moved = np.abs(_step(shard, communicator, ranks) - ranks)
    change = _sum(communicator, moved)
    if not change <= MOST_CHANGE:
        most = communicator.most(np.array([float(moved.max()) if len(moved) else -1.0]))[0]
        row = whole.first_row(moved == most)
        raise Broken(
            f"a step moves the ranks by {change:.3g} in sum, more than {MOST_CHANGE:g}; most, by {most:.3g}, "
            f"that of vertex {name_of(whole, row)}"
        )


def _step(shard: Shard, communicator: Communicator, ranks: Array) -> Array:
    """Scores of the own rows after one more step [n]."""
    if is_cupy_array(ranks):
        from kernels.pagerank.certificate.cuda import arriving
    else:
        from kernels.pagerank.certificate.cpu import arriving
    degrees = np.diff(shard.out.offsets)
    stuck = _sum(communicator, ranks[degrees == 0])
    base = (1 - DAMPING + DAMPING * stuck) / shard.num_vertices
    shares = Halo(shard, communicator).extended(ranks / np.maximum(degrees, 1))
    return base + DAMPING * arriving(shard.local_into, shares)[: len(ranks)]


def _sum(communicator: Communicator, values: Array) -> float:
    return float(communicator.total(np.array([float(values.sum())]))[0])
