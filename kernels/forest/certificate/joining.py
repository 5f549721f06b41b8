"""King's hierarchy of a forest's edges on all cores, in which the greatest edge between two rows is on their paths up.

In a round every node takes its least edge, and the nodes that these edges connect become one node of the next level, so there are
at most log2 V levels (Borůvka's rounds on the forest's edges only: King, A simpler minimum spanning tree verification algorithm,
Algorithmica 18, 1997). Edges keep the order of their ends, in which their nodes lie close together.
"""

from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.components.union_find import root_of
from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.forest.certificate.edges import greater_of
from kernels.graph import Array, index_dtype

_NONE = -1


class PathsUp(NamedTuple):
    """The paths up from the rows.

    Attributes:
        parent: The node that a node became part of; the first V nodes are the rows. -1 for a root.
        edge: The edge that a node took. -1 for a root.
        root, top: The root above a node, and the greatest edge on the path there; -1 for a root.
        joined (bool [E]): Which edges joined two nodes. One that did not is the greatest on a cycle of edges.
    """

    parent: Array
    edge: Array
    root: Array
    top: Array
    joined: Array


def join(num_vertices: int, src: Array, dst: Array, keys: Array) -> PathsUp:
    """Join rows by edges, ordered by (keys, index).

    Args:
        src, dst (index width [E]): Rows.
        keys ([E]): Of a type whose values have one order: not NaN.
    """
    parent = np.empty(2 * num_vertices, index_dtype(2 * num_vertices))
    edge, joined = np.empty(len(parent), index_dtype(len(src))), np.zeros(len(src), np.bool_)
    edges, starts, size = (src, dst, np.arange(len(src), dtype=edge.dtype)), [0], num_vertices
    while size:
        level, after = slice(starts[-1], starts[-1] + size), starts[-1] + size
        edges, size = _rise(edges, keys, parent[level], edge[level], joined, after)
        starts.append(after)
    parent, edge = frozen(parent[: starts[-1]]), frozen(edge[: starts[-1]])
    root, top = np.empty_like(parent), np.empty_like(edge)
    for first, after in reversed(list(pairwise(starts))):
        over_items(ranges(after - first), partial(_look_up, parent, edge, keys, root, top, first))
    return PathsUp(parent, edge, frozen(root), frozen(top), joined)


_Edges = tuple[Array, Array, Array]  # nodes at both ends, and indices


def _rise(edges: _Edges, keys: Array, parent: Array, least: Array, joined: Array, after: int) -> tuple[_Edges, int]:
    """Join the nodes of a level; return the edges between those of the next, which are numbered from `after`, and its size."""
    near, far, place = edges = frozen(edges[0]), frozen(edges[1]), frozen(edges[2])
    nodes, parts = ranges(len(parent)), ranges(len(place))
    up, root = np.arange(len(parent), dtype=parent.dtype), np.empty_like(parent)
    least.fill(_NONE)
    over_items(parts, lambda part: _lower(*edges, keys, least, *part))
    over_items(parts, lambda part: _hook(*edges, least, up, joined, *part))
    roots = over_items(nodes, lambda part: _find_roots(up, least, root, *part))
    number, firsts = up, accumulate(roots, initial=0)  # the links are not needed any more
    over_items(zip(nodes, firsts, strict=False), lambda part: _number_roots(root, least, *part[0], part[1], number))
    over_items(nodes, lambda part: _find_parents(root, least, number, *part, after, parent))
    left = over_items(parts, lambda part: _count_apart(near, far, root, *part))
    rest = np.empty(sum(left), near.dtype), np.empty(sum(left), far.dtype), np.empty(sum(left), place.dtype)
    firsts = accumulate(left, initial=0)
    over_items(zip(parts, firsts, strict=False), lambda part: _contract(*edges, root, number, *part[0], part[1], *rest))
    return rest, sum(roots)


@njit(cache=True, nogil=True)
def _look_up(parent: Array, edge: Array, keys: Array, root: Array, top: Array, first: int, part: tuple[int, int]) -> None:
    """Find the roots and greatest edges above nodes of a level that begins with node `first`."""
    for node in range(first + part[0], first + part[1]):
        root[node], top[node] = node, edge[node]
        if parent[node] >= 0:
            root[node] = root[parent[node]]
            top[node] = greater_of(keys, edge[node], top[parent[node]])


@njit(cache=True, nogil=True)
def _lower(near: Array, far: Array, place: Array, keys: Array, least: Array, begin: int, end: int) -> None:
    """Let each node take its least edge."""
    for item in range(begin, end):
        edge = place[item]
        for node in (near[item], far[item]):
            held = least[node]
            while held < 0 or keys[edge] < keys[held] or (keys[edge] == keys[held] and edge < held):
                if compare_and_swap(least, node, held, edge):
                    break
                held = least[node]


@njit(cache=True, nogil=True)
def _hook(near: Array, far: Array, place: Array, least: Array, up: Array, joined: Array, begin: int, end: int) -> None:
    """Let each node point to the other end of its least edge. If both ends took it, the smaller one is a root."""
    for item in range(begin, end):
        one, other, edge = near[item], far[item], place[item]
        by_one, by_other = least[one] == edge, least[other] == edge
        if by_one and by_other:
            up[max(one, other)] = min(one, other)
        elif by_one:
            up[one] = other
        elif by_other:
            up[other] = one
        joined[edge] |= by_one or by_other


@njit(cache=True, nogil=True)
def _find_roots(up: Array, least: Array, root: Array, begin: int, end: int) -> int:
    """Find the roots above nodes; return the number of roots that have an edge.

    Threads shorten the same paths. One may undo what another did, but every link still leads to a node above.
    """
    roots = 0
    for node in range(begin, end):
        root[node] = root_of(up, node)
        roots += root[node] == node and least[node] >= 0
    return roots


@njit(cache=True, nogil=True)
def _number_roots(root: Array, least: Array, begin: int, end: int, first: int, number: Array) -> None:
    for node in range(begin, end):
        if root[node] == node and least[node] >= 0:
            number[node] = first
            first += 1


@njit(cache=True, nogil=True)
def _find_parents(root: Array, least: Array, number: Array, begin: int, end: int, after: int, parent: Array) -> None:
    """Find the parents of nodes; those of the next level are numbered from `after` on."""
    for node in range(begin, end):
        parent[node] = after + number[root[node]] if least[node] >= 0 else -1


@njit(cache=True, nogil=True)
def _count_apart(near: Array, far: Array, root: Array, begin: int, end: int) -> int:
    """Count the edges between different nodes of the next level."""
    count = 0
    for item in range(begin, end):
        count += root[near[item]] != root[far[item]]
    return count


@njit(cache=True, nogil=True)
def _contract(
    near: Array, far: Array, place: Array, root: Array, number: Array, begin: int, end: int, free: int, new_near: Array,
    new_far: Array, new_place: Array,
) -> None:  # fmt: skip
    """Write the edges between different nodes of the next level, from entry `free` on."""
    for item in range(begin, end):
        one, other = root[near[item]], root[far[item]]
        if one != other:
            new_near[free], new_far[free], new_place[free] = number[one], number[other], place[item]
            free += 1
