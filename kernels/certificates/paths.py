"""Proof of breadth-first and shortest-path answers: one pass over the out-arcs, in the spirit of Graph500's validation.

Why it proves the distances. Let D be the true distances, and fl(d + w) the 64-bit sum, which never falls as d grows.

* From above: d[source] = 0 and d[v] <= fl(d[u] + w) on every arc, so by induction along a shortest path d <= D. No arc leaves
  the reached vertices, so all that can be reached are.
* From below: every reached vertex but the source has a tight arc, d[v] = fl(d[u] + w), from a vertex that is strictly nearer, or
  as near and one zero-length step nearer to such a vertex or the source. So tight arcs lead back to the source without a cycle,
  d[v] is the length of a path, and d >= D. What no such path reaches is refused, so nothing but the reachable is reached.

The predecessors are then compared with the least external rank that the same tight arcs scatter to their heads.

References
----------
Graph500 benchmark specification, section "Validation". Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 24.5
(shortest-path properties).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Certificate, Paths
from kernels.certificates.rules import (
    Broken,
    arc_ends,
    arc_name,
    frozen,
    name_of,
    require_array,
    require_rows,
    require_source,
    verdict,
)
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype

RULES = (
    "the source has distance 0 and no predecessor",
    "an unreached vertex has distance -1 and no predecessor",
    "every out-neighbour of a reached vertex is reached, and no farther than over the arc",
    "tight arcs lead every reached vertex back to the source",
    "every predecessor is the smallest external id that the definition allows",
)


def certify_bfs(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the breadth-first answer: hops, and the unique predecessors.

    O(V + A) time, 4 V index entries of memory at most. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _check, graph, paths, None)


def certify_sssp(graph: Graph, paths: Paths) -> Certificate:
    """Prove that `paths` is the shortest-path answer: 64-bit sums of weights, and the unique predecessors.

    O(V + A) time, 4 V index entries of memory at most. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _check, graph, paths, graph.out.weights)


def _check(graph: Graph, paths: Paths, weights: Array | None) -> None:
    source = require_source(graph, paths.source)
    distance = _require_distances(graph, paths.distance, weights)
    predecessor = require_rows("predecessor", paths.predecessor, graph.num_vertices, graph.num_vertices, NO_ROW)
    if distance[source] != 0:
        raise Broken(f"source {name_of(graph, source)}: distance {distance[source]} is not 0")
    nearest = _nearest_ranks(graph, weights, distance, source)
    # a rank of V stands for none
    expected = np.append(graph.rows_by_id, graph.rows_by_id.dtype.type(NO_ROW))[nearest]
    wrong = predecessor != expected
    if wrong.any():
        row = int(wrong.argmax())
        stated, right = name_of(graph, predecessor[row]), name_of(graph, expected[row])
        raise Broken(f"vertex {name_of(graph, row)}: predecessor {stated} is not {right}")


def _require_distances(graph: Graph, distance: object, weights: Array | None) -> Array:
    distances = require_array("distance", distance, graph.num_vertices, distance_dtype(weights))
    number = distances >= 0
    if distances.dtype.kind == "f":
        # no sum that starts at 0 is -0, and one that is infinite has left the type
        number &= np.isfinite(distances) & ~np.signbit(distances)
    number |= distances == UNREACHED
    if not number.all():
        row = int(number.argmin())
        raise Broken(f"vertex {name_of(graph, row)}: distance {distances[row]} is neither -1 nor a finite number from 0")
    return distances


def _nearest_ranks(graph: Graph, weights: Array | None, distance: Array, source: int) -> Array:
    """Rank of the unique predecessor of each row, V where there is none; Broken unless `distance` holds."""
    arcs = frozen(graph.out.offsets), frozen(graph.out.indices), None if weights is None else frozen(weights)
    ranks, distance, none = frozen(graph.ranks), frozen(distance), graph.num_vertices
    nearest = np.full(none, none, graph.ranks.dtype)
    greatest = np.iinfo(np.int64).max if distance.dtype.kind == "i" else np.inf
    arc = _first_loose_arc(*arcs, ranks, distance, greatest, nearest)
    if arc >= 0:
        raise Broken(_loose(graph, weights, distance, arc))
    row = _first_without_tight_arc(distance, source, nearest)
    if row >= 0 and weights is not None:
        _spread(*arcs, ranks, distance, source, nearest)
        row = _first_without_tight_arc(distance, source, nearest)
    if row >= 0:
        raise Broken(f"vertex {name_of(graph, row)}: no path of tight arcs from the source gives distance {distance[row]}")
    return nearest


def _loose(graph: Graph, weights: Array | None, distance: Array, arc: int) -> str:
    src, dst = arc_ends(graph, arc)
    if distance[dst] == UNREACHED:
        return f"{arc_name(graph, arc)}: leads from distance {distance[src]} to an unreached vertex"
    weight = 1 if weights is None else weights[arc]
    return f"{arc_name(graph, arc)}: distance {distance[dst]} is over {distance[src]} + {weight}"


@njit(cache=True, nogil=True)
def _first_loose_arc(
    offsets: Array, indices: Array, weights: Array | None, ranks: Array, distance: Array, greatest: float, nearest: Array
) -> int:
    """First arc out of the reached that is not relaxed, or -1; takes tight arcs from strictly nearer rows into `nearest`."""
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
                continue  # the sum leaves int64, so it is over any distance
            length = near + weight
            if length < far:
                return arc
            if length == far and near < far and ranks[u] < nearest[v]:
                nearest[v] = ranks[u]
    return -1


@njit(cache=True, nogil=True)
def _first_without_tight_arc(distance: Array, source: int, nearest: Array) -> int:
    """First reached row but the source whose `nearest` is none (V), or -1."""
    for row in range(len(distance)):
        if distance[row] >= 0 and nearest[row] == len(distance) and row != source:
            return row
    return -1


@njit(cache=True, nogil=True)
def _spread(offsets: Array, indices: Array, weights: Array, ranks: Array, distance: Array, source: int, nearest: Array) -> None:
    """Breadth-first over tight arcs of zero length, from the source and the rows that have a `nearest`, to those without."""
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
            if step[v] == step[u] + 1 and ranks[u] < nearest[v]:
                nearest[v] = ranks[u]
