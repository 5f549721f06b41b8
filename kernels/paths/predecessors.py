"""The unique predecessors of given sums of weights: one pass over the in-arcs, and a search where arcs have no length.

An arc (u, v) of weight w is tight if distance[u] + w = distance[v]. The predecessor of v is the tight u of smallest
external id among those strictly nearer to the source; a row's arcs ascend by external id, so it is the first one. Rows
that only arcs of zero length reach (tight between equal distances: a weight of 0, or one that a float sum absorbs) wait
for the second step: a breadth-first search along such arcs from all other reached rows at once. Each takes the smallest id
among the rows one such step nearer, so that predecessors form a tree around cycles of zero length, too.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import njit

from kernels.arrays import frozen, unsigned
from kernels.cpu.parallel import over_rows
from kernels.graph import NO_ROW, Array, Graph


def predecessors(graph: Graph, source: int, distance: Array) -> Array:
    """Find the unique predecessor of every reached row but the source.

    Parameters
    ----------
    distance : int64 or float64 [V]
        Final distances from `source`; UNREACHED where no path leads.

    Returns
    -------
    index width [V]
        NO_ROW for the source and where no path leads.

    Raises
    ------
    OverflowError
        If an arc leads from a reached row to an unreached one: its sum did not fit the type of `distance`.
    """
    into = graph.into
    arcs = unsigned(into.offsets), unsigned(into.indices), frozen(into.weights)
    predecessor = np.full(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    parts = over_rows(into, partial(nearest_tight, *arcs, distance, predecessor, source))
    if any(beyond for _, beyond in parts):
        raise OverflowError(f"a distance exceeds the largest {distance.dtype}")
    if any(waiting for waiting, _ in parts):
        _follow_zero_steps(graph, source, distance, predecessor)
    return predecessor


@njit(cache=True, nogil=True)
def nearest_tight(offsets, indices, weights, distance, predecessor, source, begin, end):  # type: ignore[no-untyped-def]
    """Set the predecessors of the first kind in rows `begin:end`.

    Returns how many reached rows have none, and whether a reached row has an arc to an unreached one.
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


def _follow_zero_steps(graph: Graph, source: int, distance: Array, predecessor: Array) -> None:
    reached = distance >= 0
    steps = np.where(predecessor == NO_ROW, -1, 0)
    steps[source] = 0
    queue = np.empty(np.count_nonzero(reached), unsigned(graph.rows_by_id).dtype)
    first_kind = np.flatnonzero(reached & (steps == 0))
    queue[: len(first_kind)] = first_kind
    out = graph.out
    _search_zero_steps(
        unsigned(out.offsets), unsigned(out.indices), frozen(out.weights), frozen(graph.ids), distance, predecessor, steps, queue,
        len(first_kind),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _search_zero_steps(offsets, indices, weights, ids, distance, predecessor, steps, queue, tail):  # type: ignore[no-untyped-def]
    """Breadth-first search from `queue[:tail]` along arcs of zero length; the smallest id of the level before wins."""
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
