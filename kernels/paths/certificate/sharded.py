"""Proof of breadth-first and shortest-path answers over shards: `kernels.paths.certificate` explains why it proves them.

Every arc is an in-arc of one rank's row. Each rank receives the distances of its ghosts, then reads its in-arcs once: whether any
is loose, that is shortens a path, and which tight one comes from the strictly nearer row of smallest external id. Rows that only
arcs of length zero reach are searched by all ranks together. No chain of predecessors is followed: the tail of a row's tight arc
is nearer to the source, so such chains cannot form a cycle.
"""

from typing import Any

import numpy as np

from kernels.answers import Certificate, Paths
from kernels.certificate.global_view import GlobalView, evidence, local_rows_of
from kernels.certificate.rules import Broken, at, require_source, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import on_host
from kernels.graph import NO_ROW, Array, distance_dtype
from kernels.paths.certificate import RULES, backend_of, reasons
from kernels.paths.certificate.cpu import first_loose, is_distance
from kernels.paths.certificate.zero_length_steps import follow_steps


def certify(shard: Shard, communicator: Communicator, paths: Paths, weighted: bool) -> Certificate:
    """Prove that `paths`, of the own rows, is the answer for the weights of the arcs or, if not, for hops. A collective."""
    return verdict(RULES, _check, shard, communicator, paths, weighted)


def _check(shard: Shard, communicator: Communicator, paths: Paths, weighted: bool) -> None:
    view = GlobalView(shard, communicator)
    out_weights, into_weights = (csr.weights if weighted else None for csr in (shard.out, shard.into))
    source = _require_source(view, paths.source)
    distance = _require_distances(view, paths.distance, out_weights)
    predecessor = view.form_of_rows("predecessor", paths.predecessor, len(shard.ids), NO_ROW)
    if at(view.spread(distance), source) != 0:
        raise Broken(reasons.not_at_source(view, view.spread(distance), source))
    halo = Halo(shard, communicator)
    known = halo.extended(distance)
    positions = np.concatenate([shard.positions, shard.ghost_positions])
    nearest = np.full_like(shard.positions, shard.num_vertices)  # V stands for none
    if view.any(backend_of(shard.out).relax(shard.local_into, into_weights, known, positions, nearest)):
        _refuse_loose(view, out_weights, known, distance)
    waiting = _waiting(shard, distance, nearest, source)
    if into_weights is not None and view.any(bool(waiting.any())):
        follow_steps(halo, into_weights, known, positions, waiting, nearest)
        waiting = _waiting(shard, distance, nearest, source)
    row = view.first_row(waiting)
    if row != NO_ROW:
        raise Broken(reasons.no_path(view, view.spread(distance), row))
    _require_predecessors(view, predecessor, positions, nearest)


def _require_source(view: GlobalView, stated: Any) -> int:
    source: int = view.together(lambda: require_source(view, stated))
    others = np.concatenate(view.communicator.gather(np.array([source])))
    if (others != others[0]).any():
        raise Broken(f"source is row {others[0]}, and row {others[others != others[0]][0]} on another rank")
    return source


def _require_distances(view: GlobalView, stated: Any, weights: Array | None) -> Array:
    distance = view.form("distance", stated, len(view.shard.ids), distance_dtype(weights))
    row = view.first_row(~is_distance(distance))
    if row != NO_ROW:
        raise Broken(reasons.not_a_distance(view, view.spread(distance), row))
    return distance


def _refuse_loose(view: GlobalView, weights: Array | None, known: Array, distance: Array) -> None:
    shard = view.shard
    arc = first_loose(on_host(shard.local_out), len(distance), None if weights is None else to_host(weights), to_host(known))
    src, dst, weight = view.first(*evidence(shard, weights, arc))
    ends = int(src[0]), int(dst[0])
    raise Broken(reasons.loose(view, view.spread(distance), ends, 1 if weights is None else at(weight, 0)))


def _waiting(shard: Shard, distance: Array, nearest: Array, source: int) -> Array:
    """The reached own rows without a tight arc from a row that has a path: bool [n]."""
    waiting: Array = (distance >= 0) & (nearest == shard.num_vertices)
    waiting[shard.own_numbers(source)] = False
    return waiting


def _require_predecessors(view: GlobalView, predecessor: Array, positions: Array, nearest: Array) -> None:
    shard, none = view.shard, view.num_vertices
    number = local_rows_of(shard, predecessor)
    stated = np.where(number >= 0, positions[number], -1) if len(positions) else number  # a row that is not a neighbour is wrong
    stated[predecessor == NO_ROW] = none
    wrong = stated != nearest
    row = view.first_row(wrong)
    if row == NO_ROW:
        return
    right = np.flatnonzero(positions == nearest[wrong][:1]) if wrong.any() else np.flatnonzero(wrong)
    rows = shard.local_rows[right] if len(right) else np.full_like(predecessor, NO_ROW, shape=(int(wrong.any()),))
    stated_row, right_row = view.first(predecessor[wrong][:1], rows)
    raise Broken(reasons.wrong_predecessor(view, row, int(stated_row[0]), int(right_row[0])))
