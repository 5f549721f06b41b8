"""Proof of breadth-first and shortest-path answers over shards: `kernels.paths.certificate` says why it proves them.

Every arc is an in-arc of one rank's row. Each rank learns the distances of its ghosts, then reads its in-arcs once: whether
they are relaxed, and which tight one comes from a strictly nearer row of smallest external id. Rows that only steps of no
length reach are searched by all ranks together. No chain of predecessors is followed: a row's tight arc leads to one that is
nearer, so such chains cannot close.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.answers import Certificate, Paths
from kernels.certificate.global_view import GlobalView, local_rows_of
from kernels.certificate.local_arcs import evidence, passes
from kernels.certificate.rules import Broken, at, require_source, verdict
from kernels.distributed.communicator import Communicator
from kernels.distributed.halo import Halo
from kernels.distributed.shard import Shard
from kernels.graph import NO_ROW, UNREACHED, Array, distance_dtype
from kernels.paths.certificate import RULES, reasons
from kernels.paths.certificate.zero_length_steps import follow_steps


def certify_bfs(shard: Shard, communicator: Communicator, answer: Paths) -> Certificate:
    """Prove that `answer`, of the own rows, is the breadth-first answer: hops, and the unique predecessors. A collective.

    Returns
    -------
    Certificate
        The same on all ranks, and the one-worker certificate's. Malformed answers do not hold.

    Raises
    ------
    PeerLost
        See `Communicator`.
    """
    return verdict(RULES, _check, shard, communicator, answer, None, None)


def certify_sssp(shard: Shard, communicator: Communicator, answer: Paths) -> Certificate:
    """Prove that `answer` is the shortest-path answer: 64-bit sums of weights. As `certify_bfs`."""
    return verdict(RULES, _check, shard, communicator, answer, shard.out.weights, shard.into.weights)


def _check(shard: Shard, communicator: Communicator, paths: Paths, out_weights: Array | None, into_weights: Array | None) -> None:
    whole = GlobalView(shard, communicator)
    source = _require_source(whole, paths.source)
    distance = _require_distances(whole, paths.distance, out_weights)
    predecessor = whole.form_of_rows("predecessor", paths.predecessor, len(shard.ids), NO_ROW)
    if at(whole.spread(distance), source) != 0:
        raise Broken(reasons.not_at_source(whole, whole.spread(distance), source))
    halo = Halo(shard, communicator)
    known = halo.extended(distance)
    ranks = np.concatenate([shard.positions, shard.ghost_positions])
    nearest = np.full_like(shard.positions, shard.num_vertices)  # a rank of V stands for none
    if whole.any(passes(shard).relax(shard, into_weights, known, ranks, nearest)):
        _refuse_loose(whole, out_weights, known, distance)
    waiting = _waiting(shard, distance, nearest, source)
    if into_weights is not None and whole.any(bool(waiting.any())):
        follow_steps(halo, into_weights, known, ranks, waiting, nearest)
        waiting = _waiting(shard, distance, nearest, source)
    row = whole.first_row(waiting)
    if row != NO_ROW:
        raise Broken(reasons.no_path(whole, whole.spread(distance), row))
    _require_predecessors(whole, predecessor, ranks, nearest)


def _require_source(whole: GlobalView, stated: Any) -> int:
    source: int = whole.together(lambda: require_source(whole, stated))
    others = np.concatenate(whole.communicator.gather(np.array([source])))
    if (others != others[0]).any():
        raise Broken(f"source is row {others[0]}, and row {others[others != others[0]][0]} on another rank")
    return source


def _require_distances(whole: GlobalView, stated: Any, weights: Array | None) -> Array:
    distance = whole.form("distance", stated, len(whole.shard.ids), distance_dtype(weights))
    number = distance >= 0
    if distance.dtype.kind == "f":
        # no sum that starts at 0 is -0, and one that is infinite has left the type
        number &= np.isfinite(distance) & ~np.signbit(distance)
    row = whole.first_row(~(number | (distance == UNREACHED)))
    if row != NO_ROW:
        raise Broken(reasons.no_distance(whole, whole.spread(distance), row))
    return distance


def _refuse_loose(whole: GlobalView, weights: Array | None, known: Array, distance: Array) -> None:
    shard = whole.shard
    arc = passes(shard).first_loose(shard, weights, known)
    src, dst, weight = whole.first(*evidence(shard, weights, arc))
    ends = int(src[0]), int(dst[0])
    raise Broken(reasons.loose(whole, whole.spread(distance), ends, 1 if weights is None else at(weight, 0)))


def _waiting(shard: Shard, distance: Array, nearest: Array, source: int) -> Array:
    """Which reached own rows have no tight arc from a row that has a path: bool [n]."""
    waiting = (distance >= 0) & (nearest == shard.num_vertices)
    waiting[shard.own_numbers(source)] = False
    return waiting


def _require_predecessors(whole: GlobalView, predecessor: Array, ranks: Array, nearest: Array) -> None:
    shard, none = whole.shard, whole.num_vertices
    number = local_rows_of(shard, predecessor)
    stated = np.where(number >= 0, ranks[number], -1) if len(ranks) else number  # one that is no neighbour cannot be right
    stated[predecessor == NO_ROW] = none
    wrong = stated != nearest
    row = whole.first_row(wrong)
    if row == NO_ROW:
        return
    right = np.flatnonzero(ranks == nearest[wrong][:1]) if wrong.any() else np.flatnonzero(wrong)
    rows = shard.local_rows[right] if len(right) else np.full_like(predecessor, NO_ROW, shape=(int(wrong.any()),))
    stated_row, right_row = whole.first(predecessor[wrong][:1], rows)
    raise Broken(reasons.wrong_predecessor(whole, row, int(stated_row[0]), int(right_row[0])))
