"""The unique predecessors of final distances: one pass over the in-arcs, then a search along arcs of length zero.

An arc (u, v) of weight w is tight if distance[u] + w = distance[v]. The predecessor of v is the tight u of smallest external id
among those strictly nearer to the source; a row's arcs ascend by external id, so it is the first one. Some rows are reached
only by tight arcs of length zero, that is between equal distances: the weight is 0, or a float sum absorbs it. They wait for
the second step: a breadth-first search along such arcs from all other reached rows at once. Each row takes the smallest external
id among the rows one such step nearer, so predecessors form a tree even around cycles of length zero.
"""

from functools import partial

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_rows
from kernels.graph import NO_ROW, Array, Graph


def predecessors(graph: Graph, source: int, distance: Array, weights: tuple[Array, Array]) -> Array:
    """Find the unique predecessor of every reached row except the source.

    Args:
        distance (int64 or float64 [V]): Final distances from `source`; UNREACHED where no path leads.
        weights (two arrays [A]): Of the out-arcs and of the in-arcs.

    Returns:
        index width [V]: NO_ROW for the source and where no path leads.

    Raises OverflowError if an arc leads from a reached row to an unreached one: its sum did not fit the type of `distance`.
    """
    out_weights, into_weights = map(frozen, weights)
    arcs = unsigned(graph.into.offsets), unsigned(graph.into.indices), into_weights
    predecessor = np.full(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    parts = over_rows(graph.into, partial(nearest_tight, *arcs, distance, predecessor, source))
    if any(beyond for _, beyond in parts):
        raise OverflowError(f"a distance exceeds the largest {distance.dtype}")
    if any(waiting for waiting, _ in parts):
        _follow_zero_steps(graph, source, distance, predecessor, out_weights)
    return predecessor


@njit(cache=True, nogil=True)
def nearest_tight(
    offsets: Array, indices: Array, weights: Array, distance: Array, predecessor: Array, source: int, begin: int, end: int
) -> tuple[int, bool]:
    """Set the predecessors of rows `begin:end` that tight arcs from strictly nearer rows decide.

    Returns the number of other reached rows, and whether a reached row has an arc to an unreached one.
    """
    waiting = 0
    beyond = False
    for row in range(begin, end):
        if distance[row] < 0:
            for arc in range(offsets[row], offsets[row + 1]):
                beyond |= distance[indices[arc]] >= 0
        elif row != source:
            for arc in range(offsets[row], offsets[row + 1]):
                near = distance[indices[arc]]
                if 0 <= near < distance[row] and near + weights[arc] == distance[row]:
                    predecessor[row] = indices[arc]
                    break
            else:
                waiting += 1
    return waiting, beyond


def _follow_zero_steps(graph: Graph, source: int, distance: Array, predecessor: Array, weights: Array) -> None:
    steps = np.where(predecessor == NO_ROW, -1, 0)
    steps[source] = 0
    starts = np.flatnonzero((distance >= 0) & (steps == 0))
    queue = np.empty(np.count_nonzero(distance >= 0), unsigned(graph.rows_by_id).dtype)
    queue[: len(starts)] = starts
    arcs = unsigned(graph.out.offsets), unsigned(graph.out.indices), weights
    _search_zero_steps(*arcs, frozen(graph.ids), distance, predecessor, steps, queue, len(starts))


@njit(cache=True, nogil=True)
def _search_zero_steps(
    offsets: Array, indices: Array, weights: Array, ids: Array, distance: Array, predecessor: Array, steps: Array, queue: Array,
    tail: int,
) -> None:  # fmt: skip
    """Breadth-first search from `queue[:tail]` along arcs of length zero; the smallest id of the level before wins."""
    head = 0
    while head < tail:
        near = queue[head]
        head += 1
        for arc in range(offsets[near], offsets[near + 1]):
            row = indices[arc]
            if distance[row] == distance[near] and distance[near] + weights[arc] == distance[row]:
                if steps[row] < 0:
                    steps[row] = steps[near] + 1
                    predecessor[row] = near
                    queue[tail] = row
                    tail += 1
                elif steps[row] == steps[near] + 1 and ids[near] < ids[predecessor[row]]:
                    predecessor[row] = near
