"""Certificate of the minimum spanning forest over shards, by the rules of `kernels.forest.certificate`.

The edges of all ranks are joined into King's hierarchy. Each rank keeps the paths up from its own rows and ghosts; then each rank
looks up, for its own arcs, the edges that joined their endpoints. Whether an edge is an arc is found among the arcs of its first
endpoint. Nothing is gathered.
"""

import numpy as np

from kernels.answers import Certificate, Forest
from kernels.certificate.global_view import GlobalView, evidence, local_rows_of
from kernels.certificate.rules import Broken, at, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.forest.certificate import RULES, backend_of, reasons
from kernels.forest.certificate.edges import OwnEdges, require_edges, require_none, weights_of
from kernels.forest.certificate.hierarchy import OwnPathsUp, build
from kernels.graph import Array, Csr


def certify_forest(shard: Shard, communicator: Communicator, answer: Forest) -> Certificate:
    """Prove that the edges of all ranks are the minimum spanning forest, and that the labels name its trees. A collective.

    Args:
        answer: The labels of the own rows, and the edges whose `src` is one of them, in order.

    Returns:
        If edges are out of order, it names the first such edge of a rank.
    """
    return verdict(RULES, _check, shard, communicator, answer)


def _check(shard: Shard, communicator: Communicator, answer: Forest) -> None:
    view = GlobalView(shard, communicator)
    edges = require_edges(view, answer)
    tree, needed = build(view, edges)
    require_none(view, edges, ~needed, lambda graph, src, dst, _, edge: reasons.cycle(graph, src, dst, edge))
    positions = np.concatenate([shard.positions, shard.ghost_positions])
    _require_least(view, edges, tree, positions)
    near, far = (local_rows_of(shard, rows) for rows in (edges.src, edges.dst))
    require_none(view, edges, ~_are_arcs(shard, edges, positions, near, far), reasons.no_arc)
    own = view.form_of_labels(answer.labels)
    labels = Halo(shard, communicator).extended(own)
    require_none(view, edges, labels[near] != labels[far], reasons.labels_differ, view.spread(own))
    rows = shard.local_rows[: len(own)]
    classes, trees = view.sum(int(np.count_nonzero(own == rows))), view.num_vertices - view.sum(len(edges.src))
    if classes != trees:
        raise Broken(reasons.too_few_labels(classes, trees))


def _require_least(view: GlobalView, edges: OwnEdges, tree: OwnPathsUp, positions: Array) -> None:
    shard = view.shard
    weights = shard.out.weights
    greatest = weights_of(tree.edges.heavy, edges.weights.dtype)
    out = shard.local_out.first_rows(len(shard.ids))
    arc, time = backend_of(out).first_contradiction(out, shard.symmetric, positions, tree, greatest)
    joining = np.array([time] if arc >= 0 and time >= 0 else [], np.int64, like=tree.time)
    contradiction = view.first(*evidence(shard, weights, arc), tree.edges.low[joining], tree.edges.high[joining])
    if not contradiction:
        return
    src, dst, weight, low, high = contradiction
    ends = int(src[0]), int(dst[0])
    if not len(low):
        raise Broken(reasons.two_trees(view, ends))
    place = np.flatnonzero((edges.low == low) & (edges.high == high))
    edge = view.first(edges.src[place], edges.dst[place], edges.weights[place])
    lightest = 1 if weights is None else at(weight, 0)
    raise Broken(reasons.lighter(view, ends, lightest, (edge[0], edge[1], edge[2]), 0))


def _are_arcs(shard: Shard, edges: OwnEdges, positions: Array, near: Array, far: Array) -> Array:
    """Whether each own edge is an own out-arc or in-arc with the same bits of weight: bool [E]."""
    among_out = _among(shard.local_out, shard.out.weights, edges, positions, near, far)
    return among_out if shard.symmetric else among_out | _among(shard.local_into, shard.into.weights, edges, positions, near, far)


def _among(csr: Csr, weights: Array | None, edges: OwnEdges, positions: Array, near: Array, far: Array) -> Array:
    """Whether a row has an arc to the edge's other endpoint with its weight: by bisection, since heads ascend by external id."""
    place, end = csr.offsets[near], csr.offsets[near + 1]
    stop = end.copy()
    while (place < stop).any():
        open_ = place < stop
        middle = np.where(open_, (place + stop) // 2, 0)
        before = open_ & (positions[csr.indices[middle]] < edges.high)
        place, stop = np.where(before, middle + 1, place), np.where(open_ & ~before, middle, stop)
    are_arcs = np.zeros(len(near), np.bool_, like=near)
    pending = np.flatnonzero(place < end)
    while len(pending):  # parallel arcs are adjacent
        at_arc = place[pending]
        equal = csr.indices[at_arc] == far[pending]
        are_arcs[pending] |= equal & _same(1 if weights is None else weights[at_arc], edges.weights[pending])
        place[pending] += 1
        pending = pending[equal & (place[pending] < end[pending])]
    return are_arcs


def _same(weights: Array | int, stated: Array) -> Array:
    """Whether weights have the same bits."""
    same: Array = (weights == stated) & (
        np.signbit(np.asarray(weights, np.float64, like=stated)) == np.signbit(stated.astype(np.float64))
    )
    return same
