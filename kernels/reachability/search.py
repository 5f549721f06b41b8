"""Searches in the DAG, without recursion. Each visits a node once a query, and forgets what it visited by its own lists.

The bidirectional search goes from u along the arcs and from v against them, a node at a time on the side where fewer wait. It
drops a node that the labels rule out, and ends at one whose labels say yes, or where the sides meet (Hanauer et al. 2021).

The thesis's searches (Caiazza 2019, algorithms 2 and 3) go from u alone and drop a node whose interval does not hold v's. No
search is asked about a node and itself, or about nodes that its cuts decide.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from kernels.graph import Array
from kernels.reachability import FILTER, POSITIVE_CUT
from kernels.reachability.cuts import contains, decide


class Side(NamedTuple):
    """What a search needs of one direction: the arcs, the nodes visited, and those that wait or are on the path."""

    offsets: Array
    indices: Array
    visited: Array
    queue: Array


@njit(cache=True, nogil=True)
def meet(records, ahead, behind, u, v):  # type: ignore[no-untyped-def]
    """Whether u reaches v, by a bidirectional search that every cut prunes."""
    ahead.queue[0], behind.queue[0] = u, v
    ahead.visited[u] = behind.visited[v] = True
    head, tail, back_head, back_tail = 0, 1, 0, 1
    found = False
    while not found and head < tail and back_head < back_tail:
        if tail - head <= back_tail - back_head:
            found, tail = _expand(records, ahead, behind, ahead.queue[head], v, tail, True)
            head += 1
        else:
            found, back_tail = _expand(records, behind, ahead, behind.queue[back_head], u, back_tail, False)
            back_head += 1
    _forget(ahead, tail)
    _forget(behind, back_tail)
    return found


@njit(cache=True, nogil=True)
def _expand(records, near, far, node, goal, tail, forward):  # type: ignore[no-untyped-def]
    """Visit the neighbours of a node; return whether one of them proves a path, and the end of the queue."""
    for arc in range(near.offsets[node], near.offsets[node + 1]):
        neighbour = near.indices[arc]
        if far.visited[neighbour]:
            return True, tail
        if not near.visited[neighbour]:
            decided = decide(records, neighbour, goal) if forward else decide(records, goal, neighbour)
            if decided == POSITIVE_CUT:
                return True, tail
            if decided != FILTER:
                near.visited[neighbour] = True
                near.queue[tail] = neighbour
                tail += 1
    return False, tail


@njit(cache=True, nogil=True)
def depth_first(records, side, path, arcs, u, v, pruned):  # type: ignore[no-untyped-def]
    """Whether u reaches v, by a depth-first search; `path` and `arcs` [C] hold the nodes on the path and the next arc of each."""
    path[0], arcs[0], side.queue[0] = u, side.offsets[u], u
    side.visited[u] = True
    depth, tail, found = 0, 1, False
    while depth >= 0 and not found:
        if arcs[depth] == side.offsets[path[depth] + 1]:
            depth -= 1
            continue
        child = side.indices[arcs[depth]]
        arcs[depth] += 1
        if not side.visited[child] and (not pruned or contains(records, child, v)):
            side.visited[child] = True
            side.queue[tail] = child
            tail += 1
            depth += 1
            path[depth], arcs[depth] = child, side.offsets[child]
            found = child == v
    _forget(side, tail)
    return found


@njit(cache=True, nogil=True)
def breadth_first(records, side, u, v):  # type: ignore[no-untyped-def]
    """Whether u reaches v, by a breadth-first search that the intervals prune."""
    side.queue[0] = u
    side.visited[u] = True
    head, tail, found = 0, 1, False
    while head < tail and not found:
        node = side.queue[head]
        head += 1
        for arc in range(side.offsets[node], side.offsets[node + 1]):
            child = side.indices[arc]
            if not side.visited[child] and contains(records, child, v):
                side.visited[child] = True
                side.queue[tail] = child
                tail += 1
                found |= child == v
    _forget(side, tail)
    return found


@njit(cache=True, nogil=True)
def _forget(side, tail):  # type: ignore[no-untyped-def]
    for place in range(tail):
        side.visited[side.queue[place]] = False
