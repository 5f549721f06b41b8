"""Direction-optimising breadth-first search (Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search, SC 2012).

While the frontier has few arcs, it is expanded from a queue (top-down), many levels a call. Once it has many, every
unreached row looks for its first in-arc from the frontier instead (bottom-up), on all cores; arcs ascend by external id, so
that arc is the unique predecessor's. The predecessors of the rows found top-down come from one pass at the end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Paths
from kernels.backend import frozen, over_rows
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype
from kernels.predecessors import complete_predecessors

_MANY_ARCS = 20  # bottom-up from a frontier with more than 1/20 of all arcs: a grid's never has them, a social network's soon
_FEW_ROWS = 20  # top-down again from a shrinking frontier with less than 1/20 of all rows


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.bfs.bfs` on NumPy arrays."""
    distance = np.full(graph.num_vertices, UNREACHED, distance_dtype(None))
    predecessor = np.full(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    queue = np.empty_like(predecessor)
    offsets, indices = frozen(graph.out.offsets), frozen(graph.out.indices)
    distance[source], queue[0] = 0, source
    head, tail = 0, 1
    while head < tail:
        head, tail = _top_down(offsets, indices, distance, queue, head, tail, graph.num_arcs // _MANY_ARCS)
        if head < tail:
            frontier = _bottom_up_levels(graph, queue[head:tail], distance, predecessor)
            head, tail = 0, len(frontier)
            queue[:tail] = frontier
    complete_predecessors(graph, source, distance, predecessor, hops=True)
    return Paths(source, distance, predecessor)


@njit(cache=True, nogil=True)
def _top_down(offsets, indices, distance, queue, head, tail, many_arcs):  # type: ignore[no-untyped-def]
    """Expand levels until none is left or the frontier has over `many_arcs` arcs; return the frontier's place in the queue."""
    while head < tail:
        arcs = 0
        for place in range(head, tail):
            arcs += offsets[queue[place] + 1] - offsets[queue[place]]
        if arcs > many_arcs:
            break
        hops = distance[queue[head]] + 1
        level = tail
        for place in range(head, level):
            row = queue[place]
            for arc in range(offsets[row], offsets[row + 1]):
                if distance[indices[arc]] < 0:
                    distance[indices[arc]] = hops
                    queue[tail] = indices[arc]
                    tail += 1
        head = level
    return head, tail


def _bottom_up_levels(graph: Graph, rows: Array, distance: Array, predecessor: Array) -> Array:
    """Search bottom-up from the frontier `rows`, one level or more; return the first frontier that is small again."""
    offsets, indices = frozen(graph.into.offsets), frozen(graph.into.indices)
    frontier, found = np.zeros(graph.num_vertices, np.bool_), np.empty(graph.num_vertices, np.bool_)
    frontier[rows] = True
    size, hops = len(rows), int(distance[rows[0]])
    while True:
        hops += 1
        before = size
        size = sum(
            over_rows(
                graph.into,
                lambda begin, end: _bottom_up(offsets, indices, distance, predecessor, frontier, found, hops, begin, end),  # noqa: B023
            )
        )
        frontier, found = found, frontier
        if size < before and size <= graph.num_vertices // _FEW_ROWS:
            return np.flatnonzero(frontier)


@njit(cache=True, nogil=True)
def _bottom_up(offsets, indices, distance, predecessor, frontier, found, hops, begin, end):  # type: ignore[no-untyped-def]
    """Find the rows of `begin:end` that the frontier reaches, and their predecessors; return how many."""
    size = 0
    for row in range(begin, end):
        found[row] = False
        if distance[row] < 0:
            for arc in range(offsets[row], offsets[row + 1]):
                if frontier[indices[arc]]:
                    found[row] = True
                    distance[row] = hops
                    predecessor[row] = indices[arc]
                    size += 1
                    break
    return size
