"""Certificate of the minimum spanning forest over shards, by the rules of `kernels.forest.certificate`.

The edges of all ranks are joined into King's hierarchy, level by level. Each rank climbs with its own rows and ghosts, and looks
up the greatest edge between the endpoints of an arc on the level on which they meet. Whether an edge is an arc is found among
the arcs of its first endpoint. Nothing is gathered.
"""

import numpy as np

from kernels.answers import Certificate, Forest
from kernels.arrays import is_cupy_array
from kernels.certificate.global_view import GlobalView, evidence
from kernels.certificate.rules import Broken, at, verdict
from kernels.distributed import Communicator, Halo, Shard
from kernels.forest.certificate import RULES, backend_of, reasons
from kernels.forest.certificate.edges import KnownRows, OwnEdges, require_edges, require_none, weights_of
from kernels.forest.certificate.hierarchy import levels
from kernels.graph import Array, Csr

_BLOCK = {False: 1 << 18, True: 1 << 26}  # edges that are looked up at a time, on a CPU and on a GPU


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
    edges, known = require_edges(view, answer)
    _require_least(view, edges, known)
    require_none(view, edges, ~_are_arcs(shard, edges, known), reasons.no_arc)
    own = view.form_of_labels(answer.labels)
    labels = Halo(shard, communicator).extended(own)
    require_none(view, edges, labels[known.near] != labels[known.far], reasons.labels_differ, view.spread(own))
    rows = shard.local_rows[: len(own)]
    classes, trees = view.sum(int(np.count_nonzero(own == rows))), view.num_vertices - view.sum(len(edges.src))
    if classes != trees:
        raise Broken(reasons.too_few_labels(classes, trees))


def _require_least(view: GlobalView, edges: OwnEdges, known: KnownRows) -> None:
    """Raise Broken unless the edges close no cycle, and no arc joins two trees or is less than an edge between its endpoints."""
    shard = view.shard
    weights, out, num_arcs = shard.out.weights, shard.local_out.first_rows(len(shard.ids)), len(shard.local_out.indices)
    waits, joined = (
        np.full_like(shard.ids, of_all, np.bool_, shape=(len(of),)) for of_all, of in ((1, shard.ids), (0, edges.src))
    )
    first, joining = num_arcs, np.zeros_like(edges.low, shape=(2, 0))
    for level in levels(view, edges, known, joined):
        greatest = weights_of(level.top.heavy, edges.weights.dtype)
        arc, row = backend_of(out).first_contradiction(out, shard.symmetric, known.positions, level, greatest, waits)
        if 0 <= arc < first:
            at_row = slice(row, row + 1) if row >= 0 else slice(0)
            first, joining = arc, np.stack([level.top.low[at_row], level.top.high[at_row]])
    require_none(view, edges, ~joined, lambda graph, src, dst, _, edge: reasons.cycle(graph, src, dst, edge))
    contradiction = view.first(*evidence(shard, weights, first if first < num_arcs else -1), *joining)
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


def _are_arcs(shard: Shard, edges: OwnEdges, known: KnownRows) -> Array:
    """Whether each own edge is an own out-arc or in-arc with the same bits of weight: bool [E]."""
    are_arcs = np.zeros(len(edges.src), np.bool_, like=edges.src)
    sides = [(shard.local_out, shard.out.weights), (shard.local_into, shard.into.weights)][: 1 if shard.symmetric else 2]
    block = _BLOCK[is_cupy_array(are_arcs)]
    for begin in range(0, len(are_arcs), block):
        part = slice(begin, begin + block)
        ends, high, stated = (known.near[part], known.far[part]), edges.high[part], edges.weights[part]
        for csr, weights in sides:
            are_arcs[part] |= _among(csr, weights, ends, high, stated, known.positions)
    return are_arcs


def _among(csr: Csr, weights: Array | None, ends: tuple[Array, Array], high: Array, stated: Array, positions: Array) -> Array:
    """Whether a row has an arc to the edge's other endpoint with its weight: by bisection, since heads ascend by external id."""
    near, far = ends
    place, end = csr.offsets[near], csr.offsets[near + 1]
    stop = end.copy()
    while (place < stop).any():
        open_ = place < stop
        middle = np.where(open_, (place + stop) // 2, 0)
        before = open_ & (positions[csr.indices[middle]] < high)
        place, stop = np.where(before, middle + 1, place), np.where(open_ & ~before, middle, stop)
    are_arcs = np.zeros(len(near), np.bool_, like=near)
    pending = np.flatnonzero(place < end)
    while len(pending):  # parallel arcs are adjacent
        at_arc = place[pending]
        equal = csr.indices[at_arc] == far[pending]
        are_arcs[pending] |= equal & _same(1 if weights is None else weights[at_arc], stated[pending])
        place[pending] += 1
        pending = pending[equal & (place[pending] < end[pending])]
    return are_arcs


def _same(weights: Array | int, stated: Array) -> Array:
    """Whether weights have the same bits."""
    same: Array = (weights == stated) & (
        np.signbit(np.asarray(weights, np.float64, like=stated)) == np.signbit(stated.astype(np.float64))
    )
    return same
