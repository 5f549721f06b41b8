"""The certificate of paths on NumPy arrays: one pass over the in-arcs, and a search along arcs of length zero."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Paths
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_weight, require_array, require_rows, require_source
from kernels.graph import NO_ROW, Array, Graph, distance_dtype
from kernels.paths.certificate import reasons
from kernels.paths.certificate.distances import is_distance
from kernels.paths.certificate.passes import first_loose, relax


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
    valid = is_distance(distances)
    if not valid.all():
        raise Broken(reasons.not_a_distance(graph, distances, int(valid.argmin())))
    return distances


def _nearest_positions(graph: Graph, weights: Array | None, distance: Array, source: int) -> Array:
    """Position of the unique predecessor of each row, V if it has none; Broken unless `distance` holds."""
    out, into, num_rows = graph.out, graph.into, graph.num_vertices
    nearest = np.full(num_rows, num_rows, graph.positions.dtype)
    if relax(into, None if weights is None else into.weights, distance, graph.positions, nearest):
        arc = first_loose(out, weights, distance)
        raise Broken(reasons.loose(graph, distance, arc_ends(graph, arc), arc_weight(weights, arc)))
    waiting = _waiting(distance, source, nearest)
    if weights is not None and waiting.any():
        arcs = frozen(out.offsets), frozen(out.indices), frozen(weights)
        _spread(*arcs, frozen(graph.positions), frozen(distance), source, nearest)
        waiting = _waiting(distance, source, nearest)
    if waiting.any():
        raise Broken(reasons.no_path(graph, distance, int(waiting.argmax())))
    return nearest


def _waiting(distance: Array, source: int, nearest: Array) -> Array:
    """The reached rows other than the source whose `nearest` is none (V): bool [V]."""
    waiting: Array = (distance >= 0) & (nearest == len(distance))
    waiting[source] = False
    return waiting


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
