"""Breadth-first search and shortest paths on graphs that change, with the answers of `kernels.bfs` and `kernels.sssp`.

Any structure is searched by the operators: each round advances from the frontier and keeps the heads that it reaches first, or
nearer than before. Predecessors are the smallest tails of tight arcs; rows that only tight arcs of length zero reach take theirs
in further rounds (docs/architecture.md, "Answers are unique"). A search may have thousands of rounds, so pages have compiled
searches: breadth-first search reads the pages (searches_cpu.py, searches_cuda.py), and shortest paths take `kernels.sssp` on
sorted rows, which are made once after each change.
"""

from typing import Any, NamedTuple

import numpy as np

from kernels.answers import Paths
from kernels.arrays import is_cupy_array, require_integer
from kernels.graph import NO_ROW, UNREACHED, Array, distance_dtype
from kernels.library.dynamic.arrays import owners_of
from kernels.library.dynamic.contract import DynamicGraph
from kernels.library.dynamic.operators import filtered
from kernels.library.dynamic.sorted_rows import sorted_graph
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.sssp import sssp as static_sssp

_NONE = np.int32(2**31 - 1)  # above every row


class _FrontierArcs(NamedTuple):
    """The arcs of a frontier whose heads are vertices."""

    tails: Array
    heads: Array
    weights: Any


def bfs(graph: DynamicGraph, source: int) -> Paths:
    """Count the arcs from a source to every row; int64 [num_rows].

    Raises:
        IndexError: The source is not a vertex.
    """
    existing, frontier = _begin(graph, source)
    if isinstance(graph, SlottedPages):
        if is_cupy_array(frontier):
            from kernels.library.dynamic.searches_cuda import search
        else:
            from kernels.library.dynamic.searches_cpu import search
        return search(graph, source)
    distance = np.zeros(graph.num_rows, distance_dtype(None), like=existing) + UNREACHED
    predecessor = np.zeros(graph.num_rows, np.int32, like=existing) + _NONE
    distance[source], level = 0, 0
    while len(frontier):
        level += 1
        arcs = _advance(graph, frontier, existing)
        new = distance[arcs.heads] == UNREACHED
        heads = filtered(arcs.heads, new)
        np.minimum.at(predecessor, heads, filtered(arcs.tails, new))
        distance[heads] = level
        frontier = np.unique(heads)
    return Paths(source, distance, np.where(predecessor == _NONE, np.int32(NO_ROW), predecessor).astype(np.int32))


def sssp(graph: DynamicGraph, source: int) -> Paths:
    """Find the smallest sum of weights from a source to every row; a graph without weights has weights of 1.

    Raises:
        IndexError: The source is not a vertex.
        ValueError: A weight that is reached is negative or not a number.
        OverflowError: A distance exceeds int64, or is not finite.
    """
    existing, frontier = _begin(graph, source)
    weights = graph.lists(frontier).weights
    if weights is None:
        return bfs(graph, source)
    if isinstance(graph, SlottedPages):
        return static_sssp(graph.derived.get(sorted_graph, lambda: sorted_graph(graph)), source)
    sums = distance_dtype(weights)
    most = np.float64(np.inf) if sums.kind == "f" else np.iinfo(sums).max
    distance = np.zeros(graph.num_rows, sums, like=existing) + most
    distance[source] = 0
    while len(frontier):
        arcs = _advance(graph, frontier, existing)
        if not bool((arcs.weights >= 0).all()):
            raise ValueError("sssp: a weight is negative or not a number")
        near = distance[arcs.tails]
        reached = near + arcs.weights.astype(sums)
        if bool((reached < near).any()) or not bool((reached < most).all()):
            raise OverflowError(f"a distance exceeds the largest {sums}")
        before = distance.copy()
        np.minimum.at(distance, arcs.heads, reached)
        frontier = np.flatnonzero(distance < before).astype(np.int32)
    return Paths(source, *_finished(graph, source, distance, most))


def _finished(graph: DynamicGraph, source: int, distance: Array, most: Any) -> tuple[Array, Array]:
    """Distances, UNREACHED where none is, and predecessors."""
    reached = distance < most
    rows = np.flatnonzero(reached).astype(np.int32)
    arcs = _advance(graph, rows, reached)
    tight = distance[arcs.tails] + arcs.weights.astype(distance.dtype) == distance[arcs.heads]
    nearer = tight & (distance[arcs.tails] < distance[arcs.heads])
    predecessor = np.zeros(len(distance), np.int32, like=distance) + _NONE
    np.minimum.at(predecessor, arcs.heads[nearer], arcs.tails[nearer])
    waits = reached & (predecessor == _NONE)
    waits[source] = False
    step = tight & ~nearer
    tails, heads = arcs.tails[step], arcs.heads[step]
    ready = reached & ~waits
    while bool(waits.any()):
        now = ready[tails] & waits[heads]
        np.minimum.at(predecessor, heads[now], tails[now])
        waits[heads[now]] = False
        ready[:] = False
        ready[heads[now]] = True
    predecessor = np.where(predecessor == _NONE, np.int32(NO_ROW), predecessor).astype(np.int32)
    return np.where(reached, distance, distance.dtype.type(UNREACHED)), predecessor


def _begin(graph: DynamicGraph, source: int) -> tuple[Array, Array]:
    """Which rows are vertices, and the first frontier."""
    source, existing = require_integer("row", source), graph.exists()
    if not (0 <= source < len(existing) and bool(existing[source])):
        raise IndexError(f"row {source} is not a vertex of this graph of {len(existing)} rows")
    return existing, np.arange(source, source + 1, dtype=np.int32, like=existing)


def _advance(graph: DynamicGraph, frontier: Array, existing: Array) -> _FrontierArcs:
    lists = graph.lists(frontier)
    tails, kept = frontier[owners_of(lists.offsets)], existing[lists.heads]
    return _FrontierArcs(tails[kept], lists.heads[kept], None if lists.weights is None else lists.weights[kept])
