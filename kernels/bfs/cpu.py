"""Direction-optimising breadth-first search (Beamer, Asanovic, Patterson: Direction-Optimizing Breadth-First Search, SC 2012).

While the frontier has few rows and arcs, it is expanded from a queue (top-down), many levels per call; a row that is found again
from the same level keeps the predecessor of smaller external id. Otherwise every unreached row searches its in-arcs for the first
one from the frontier (bottom-up), on all cores; arcs ascend by external id, so that is the unique predecessor.

A sparse symmetric graph, such as a road network, is searched top-down only: a row that leaves the queue reads its arcs once, for
the rows that they find and for its own predecessor. With so few arcs per row a mispredicted branch costs more than the rest, so
that loop has no branches.
"""

from functools import partial

import numpy as np

from kernels.answers import Paths
from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import filled, over_items, ranges
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype

# A frontier of more than 1/20 of all rows, or 1/32 of all arcs, is searched bottom-up. A social network soon has one, behind a
# hub of few but large rows; a road network never.
_FEW_ROWS, _FEW_ARCS = 20, 32
_SPARSE = 3  # arcs per row below which the loop without branches is faster


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.bfs.bfs` on NumPy arrays."""
    distance = filled(graph.num_vertices, UNREACHED, distance_dtype(None))
    predecessor = filled(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    distance[source] = 0
    if graph.symmetric and graph.num_arcs < _SPARSE * graph.num_vertices:
        _search_sparse(unsigned(graph.out.offsets), unsigned(graph.out.indices), distance, predecessor, source)
    else:
        _search_both_ways(graph, source, distance, predecessor)
    return Paths(source, distance, predecessor)


@njit(cache=True, nogil=True)
def _search_sparse(offsets: Array, indices: Array, distance: Array, predecessor: Array, source: int) -> None:
    """Search a symmetric graph. When a row leaves the queue, the level before is complete, so its predecessor is known."""
    queue = np.empty(len(distance) + 1, indices.dtype)  # every arc writes behind the last entry, even if it finds nothing
    queue[0] = source
    head, tail, hops = 0, 1, 0
    while head < tail:
        level = tail
        hops += 1
        for place in range(head, level):
            row = queue[place]
            nearest = NO_ROW
            for arc in range(offsets[row + 1] - offsets[row]):
                far = indices[offsets[row + 1] - 1 - arc]  # from the largest id down, so that the smallest is kept
                seen = distance[far]
                nearest = far if seen == hops - 2 else nearest
                queue[tail] = far
                tail += seen < 0
                distance[far] = hops if seen < 0 else seen
            predecessor[row] = nearest
        head = level
    predecessor[source] = NO_ROW


def _search_both_ways(graph: Graph, source: int, distance: Array, predecessor: Array) -> None:
    out = unsigned(graph.out.offsets), unsigned(graph.out.indices)
    ids = frozen(graph.ids)
    queue = np.empty(graph.num_vertices, out[1].dtype)
    few = graph.num_vertices // _FEW_ROWS, graph.num_arcs // _FEW_ARCS
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        head, tail = _top_down(*out, ids, distance, predecessor, queue, head, tail, *few)
        if head < tail:
            frontier = _bottom_up_levels(graph, queue[head:tail], distance, predecessor, few[0])
            head, tail = 0, len(frontier)
            queue[:tail] = frontier


@njit(cache=True, nogil=True)
def _top_down(
    offsets: Array, indices: Array, ids: Array, distance: Array, predecessor: Array, queue: Array, head: int, tail: int,
    few_rows: int, few_arcs: int,
) -> tuple[int, int]:  # fmt: skip
    """Expand levels until none is left or the frontier has more rows or arcs; return the frontier's bounds in the queue."""
    hops = distance[queue[head]]
    while 0 < tail - head <= few_rows:
        arcs = 0
        for row in queue[head:tail]:
            arcs += offsets[row + 1] - offsets[row]
        if arcs > few_arcs:
            break
        level = tail
        hops += 1
        for place in range(head, level):
            row = queue[place]
            for arc in range(offsets[row], offsets[row + 1]):
                far = indices[arc]
                seen = distance[far]
                if seen < 0:
                    distance[far] = hops
                    predecessor[far] = row
                    queue[tail] = far
                    tail += 1
                elif seen == hops and ids[row] < ids[predecessor[far]]:
                    predecessor[far] = row
        head = level
    return head, tail


def _bottom_up_levels(graph: Graph, rows: Array, distance: Array, predecessor: Array, few: int) -> Array:
    """Search at least one level bottom-up from the frontier `rows`; return the first frontier of at most `few` rows."""
    into = unsigned(graph.into.offsets), unsigned(graph.into.indices)
    frontier, next_frontier = np.zeros(graph.num_vertices, np.bool_), np.empty(graph.num_vertices, np.bool_)
    frontier[rows] = True
    parts = ranges(graph.num_vertices, graph.num_arcs)  # of equally many rows: most find a predecessor in their first arcs
    hops = int(distance[rows[0]])
    while True:
        hops += 1
        level = partial(_bottom_up, *into, distance, predecessor, frontier, next_frontier, hops)
        size = sum(over_items(parts, lambda part: level(*part)))  # noqa: B023
        frontier, next_frontier = next_frontier, frontier
        if size <= few:
            return np.flatnonzero(frontier)


@njit(cache=True, nogil=True)
def _bottom_up(
    offsets: Array, indices: Array, distance: Array, predecessor: Array, frontier: Array, next_frontier: Array, hops: int,
    begin: int, end: int,
) -> int:  # fmt: skip
    """Find the rows of `begin:end` that the frontier reaches, and their predecessors; return their number."""
    size = 0
    for row in range(begin, end):
        next_frontier[row] = False
        if distance[row] < 0:
            for arc in range(offsets[row], offsets[row + 1]):
                if frontier[indices[arc]]:
                    next_frontier[row] = True
                    distance[row] = hops
                    predecessor[row] = indices[arc]
                    size += 1
                    break
    return size
