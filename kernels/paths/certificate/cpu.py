"""The certificate of paths on NumPy arrays: one pass over the out-arcs in order, and a search along arcs of length zero."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Paths
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_weight, require_array, require_rows, require_source
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype
from kernels.paths.certificate import reasons
from kernels.paths.certificate.sharded_cpu import greatest_sum


def check(graph: Graph, paths: Paths, weights: Array | None) -> None:
    """Raise Broken at the first rule that `paths` breaks."""
    source = require_source(graph, paths.source)
    distance = _require_distances(graph, paths.distance, weights)
    predecessor = require_rows("predecessor", paths.predecessor, graph.num_vertices, graph.num_vertices, NO_ROW)
    if distance[source] != 0:
        raise Broken(reasons.not_at_source(graph, distance, source))
    nearest = _nearest_positions(graph, weights, distance, source)
    # position V stands for none
    expected = np.append(graph.rows_by_id, graph.rows_by_id.dtype.type(NO_ROW))[nearest]
    wrong = predecessor != expected
    if wrong.any():
        row = int(wrong.argmax())
        raise Broken(reasons.wrong_predecessor(graph, row, predecessor[row], expected[row]))


def _require_distances(graph: Graph, distance: object, weights: Array | None) -> Array:
    distances = require_array("distance", distance, graph.num_vertices, distance_dtype(weights))
    number = distances >= 0
    if distances.dtype.kind == "f":
        # a sum that starts at 0 is never -0, and an infinite one exceeds the type
        number &= np.isfinite(distances) & ~np.signbit(distances)
    number |= distances == UNREACHED
    if not number.all():
        raise Broken(reasons.not_a_distance(graph, distances, int(number.argmin())))
    return distances


def _nearest_positions(graph: Graph, weights: Array | None, distance: Array, source: int) -> Array:
    """Position of the unique predecessor of each row, V where there is none; Broken unless `distance` holds."""
    arcs = frozen(graph.out.offsets), frozen(graph.out.indices), None if weights is None else frozen(weights)
    positions, distance, none = frozen(graph.positions), frozen(distance), graph.num_vertices
    nearest = np.full(none, none, graph.positions.dtype)
    arc = _first_loose_arc(*arcs, positions, distance, greatest_sum(distance), nearest)
    if arc >= 0:
        raise Broken(reasons.loose(graph, distance, arc_ends(graph, arc), arc_weight(weights, arc)))
    row = _first_without_tight_arc(distance, source, nearest)
    if row >= 0 and weights is not None:
        _spread(*arcs, positions, distance, source, nearest)
        row = _first_without_tight_arc(distance, source, nearest)
    if row >= 0:
        raise Broken(reasons.no_path(graph, distance, row))
    return nearest


@njit(cache=True, nogil=True)
def _first_loose_arc(
    offsets: Array, indices: Array, weights: Array | None, positions: Array, distance: Array, greatest: float, nearest: Array
) -> int:
    """First loose arc out of a reached row, or -1; lowers `nearest` to the positions of strictly nearer tails of tight arcs."""
    for u in range(len(distance)):
        near = distance[u]
        if near < 0:
            continue
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            far = distance[v]
            if far < 0:
                return arc
            weight = 1 if weights is None else weights[arc]
            if weight > greatest - near:
                continue  # the sum exceeds int64, so it exceeds every distance
            length = near + weight
            if length < far:
                return arc
            if length == far and near < far and positions[u] < nearest[v]:
                nearest[v] = positions[u]
    return -1


@njit(cache=True, nogil=True)
def _first_without_tight_arc(distance: Array, source: int, nearest: Array) -> int:
    """First reached row other than the source whose `nearest` is none (V), or -1."""
    for row in range(len(distance)):
        if distance[row] >= 0 and nearest[row] == len(distance) and row != source:
            return row
    return -1


@njit(cache=True, nogil=True)
def _spread(
    offsets: Array, indices: Array, weights: Array, positions: Array, distance: Array, source: int, nearest: Array
) -> None:
    """Breadth-first search over tight arcs of length zero, from the source and the rows with a `nearest`, to the other rows."""
    step = np.full(len(distance), -1, np.int64)
    queue = np.empty(len(distance), indices.dtype)
    head = tail = 0
    for row in range(len(distance)):
        if row == source or nearest[row] < len(distance):
            step[row] = 0
            queue[tail] = row
            tail += 1
    while head < tail:
        u = queue[head]
        head += 1
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if distance[v] != distance[u] or distance[u] + weights[arc] != distance[v]:
                continue
            if step[v] < 0:
                step[v] = step[u] + 1
                queue[tail] = v
                tail += 1
            if step[v] == step[u] + 1 and positions[u] < nearest[v]:
                nearest[v] = positions[u]
