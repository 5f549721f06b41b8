"""The certificate of paths on NumPy arrays: one pass over the in-arcs, and a search along arcs of length zero."""

from functools import partial

import numpy as np

from kernels.answers import Paths
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_weight, require_array, require_rows, require_source
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import first_other, first_over_rows, over_rows
from kernels.graph import NO_ROW, UNREACHED, Array, Csr, Graph, distance_dtype
from kernels.paths.certificate import reasons


def check(graph: Graph, paths: Paths, weighted: bool) -> None:
    """Raise Broken at the first rule that `paths` breaks, for the weights of the arcs or, if not `weighted`, for hops."""
    source, weights = require_source(graph, paths.source), graph.out.weights if weighted else None
    distance = _require_distances(graph, paths.distance, weights)
    num_rows = graph.num_vertices
    predecessor = require_rows("predecessor", paths.predecessor, num_rows, num_rows, NO_ROW, graph.rows_by_id.dtype)
    if distance[source] != 0:
        raise Broken(reasons.not_at_source(graph, distance, source))
    nearest = _nearest_positions(graph, weights, distance, source)
    expected = np.append(graph.rows_by_id, graph.rows_by_id.dtype.type(NO_ROW))  # position V stands for none
    if (row := first_other(predecessor, expected, nearest)) >= 0:
        raise Broken(reasons.wrong_predecessor(graph, row, predecessor[row], expected[nearest[row]]))


def _require_distances(graph: Graph, distance: object, weights: Array | None) -> Array:
    distances = require_array("distance", distance, graph.num_vertices, distance_dtype(weights))
    valid = is_distance(distances)
    if not valid.all():
        raise Broken(reasons.not_a_distance(graph, distances, int(valid.argmin())))
    return distances


def is_distance(values: Array) -> Array:
    """Which entries are UNREACHED or can be a sum of weights."""
    valid: Array = values >= 0
    if values.dtype.kind == "f":
        # a sum that starts at 0 is never -0, and an infinite one exceeds the type
        valid &= np.isfinite(values) & ~np.signbit(values)
    valid |= values == UNREACHED
    return valid


def _nearest_positions(graph: Graph, weights: Array | None, distance: Array, source: int) -> Array:
    """Position of the unique predecessor of each row, V if it has none; Broken unless `distance` holds."""
    out, into, num_rows = graph.out, graph.into, graph.num_vertices
    nearest = np.full(num_rows, num_rows, graph.positions.dtype)
    if relax(into, None if weights is None else into.weights, distance, graph.positions, nearest):
        arc = first_loose(out, num_rows, weights, distance)
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


def relax(into: Csr, weights: Array | None, distance: Array, positions: Array, nearest: Array) -> bool:
    """Lower `nearest` [n] to the least position among tight in-arcs from strictly nearer rows; return whether an arc is loose.

    Args:
        into: In-arcs of n rows, and of others.
        weights ([arcs], or None): Of the in-arcs; None if all weigh 1.
        distance (int64 or float64): Of the n rows and of all others that `into` names.
        positions (index width): Of the same rows in ascending order of external ids.
    """
    arcs = frozen(into.offsets), frozen(into.indices), None if weights is None else frozen(weights)
    rows = frozen(distance), frozen(positions), _greatest_sum(distance), nearest
    return any(over_rows(into.first_rows(len(nearest)), partial(_relax, *arcs, *rows)))


def first_loose(out: Csr, num_rows: int, weights: Array | None, distance: Array) -> int:
    """The first loose out-arc of the first `num_rows` rows, or -1; other parameters as for `relax`."""
    arcs = frozen(out.offsets), frozen(out.indices), None if weights is None else frozen(weights)
    return first_over_rows(out.first_rows(num_rows), partial(_first_loose, *arcs, frozen(distance), _greatest_sum(distance)))


def _greatest_sum(distance: Array) -> float:
    """The largest sum that the type of `distance` holds."""
    return np.iinfo(np.int64).max if distance.dtype.kind == "i" else np.inf


@njit(cache=True, nogil=True)
def _relax(
    offsets: Array, indices: Array, weights: Array | None, known: Array, positions: Array, greatest: float, nearest: Array,
    begin: int, end: int,
) -> bool:  # fmt: skip
    for v in range(begin, end):
        far = known[v]
        for arc in range(offsets[v], offsets[v + 1]):
            u = indices[arc]
            near = known[u]
            if near < 0:
                continue
            if far < 0:
                return True
            weight = 1 if weights is None else weights[arc]
            if weight > greatest - near:
                continue  # the sum exceeds int64, so it exceeds every distance
            length = near + weight
            if length < far:
                return True
            if length == far and near < far and positions[u] < nearest[v]:
                nearest[v] = positions[u]
    return False


@njit(cache=True, nogil=True)
def _first_loose(
    offsets: Array, indices: Array, weights: Array | None, known: Array, greatest: float, begin: int, end: int
) -> int:
    for u in range(begin, end):
        near = known[u]
        if near < 0:
            continue
        for arc in range(offsets[u], offsets[u + 1]):
            far = known[indices[arc]]
            weight = 1 if weights is None else weights[arc]
            if far < 0 or (weight <= greatest - near and near + weight < far):
                return arc
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
