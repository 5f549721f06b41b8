"""Proof of the minimum spanning forest: it has no cycle, and every other arc is the greatest edge on the cycle it closes.

Edges are ordered by (weight, smaller id, larger id), so no two are equal and the forest is unique. A spanning forest is that one
if and only if every edge outside it is greater than each forest edge between its ends (the cycle property; Tarjan, 1979).

The forest's edges are joined in ascending order by union by rank without path compression. A vertex remembers its parent and the
time of the join, which grow along the way up, so the last join on the way between two vertices is the greatest forest edge
between them, and the way is O(log V) long. Of an edge of the forest itself that is the edge. So one question to each arc, "which
edge joined your ends?", proves that the forest spans (one did), that its edges are lightest arcs of the graph (its own ends: no
arc is lighter, and one is equal), and the cycle property (other ends: that edge is less).

References
----------
Tarjan: Applications of path compression on balanced trees. JACM 26(4), 1979. Graham, Hell: On the history of the minimum spanning
tree problem, 1985.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Certificate, Forest
from kernels.certificates.rules import (
    NAMED,
    Broken,
    arc_ends,
    arc_name,
    frozen,
    name_of,
    require_array,
    require_labels,
    require_rows,
    verdict,
)
from kernels.graph import Array, Graph, index_dtype

RULES = (
    "the first end of an edge has the smaller external id",
    "edges ascend by their ends, and none repeats",
    "the edges close no cycle",
    "no arc joins two trees",
    "an edge is an arc, and no arc between its ends is lighter",
    "every other arc is greater, in the order (weight, ends), than all edges between its ends",
    NAMED,
    "both ends of every edge have one label",
    "there are as many labels as trees",
)


def certify_forest(graph: Graph, forest: Forest) -> Certificate:
    """Prove that `forest` is the minimum spanning forest, in order, and that its labels name the trees.

    O((V + A) log V) time, O(V) memory. Malformed answers do not hold; nothing is raised.
    """
    return verdict(RULES, _check, graph, forest)


def _check(graph: Graph, forest: Forest) -> None:
    src, dst, weights = _require_edges(graph, forest)
    # stable: edges of equal weight stay in the order of their ends
    ascending = np.argsort(weights, kind="stable")
    src, dst, weights = frozen(src[ascending]), frozen(dst[ascending]), frozen(weights[ascending])
    parent, time, closing = _join(graph.num_vertices, src, dst)
    if closing >= 0:
        raise Broken(f"{_edge(graph, src, dst, closing)}: closes a cycle")
    _require_least(graph, src, dst, weights, parent, time)
    _require_tree_labels(graph, src, dst, require_labels(graph, forest.labels))


def _require_edges(graph: Graph, forest: Forest) -> tuple[Array, Array, Array]:
    length = len(forest.src) if isinstance(forest.src, np.ndarray) and forest.src.ndim else 0
    src = require_rows("src", forest.src, length, graph.num_vertices)
    dst = require_rows("dst", forest.dst, length, graph.num_vertices)
    dtype = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    weights = require_array("weights", forest.weights, length, dtype)
    low, high = graph.ranks[src], graph.ranks[dst]
    if (low >= high).any():
        raise Broken(f"{_edge(graph, src, dst, int((low >= high).argmax()))}: the first id is not the smaller one")
    falls = (low[1:] < low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] <= high[:-1]))
    if falls.any():
        position = int(falls.argmax())
        before, after = _edge(graph, src, dst, position), _edge(graph, src, dst, position + 1)
        raise Broken(f"{after}: follows {before}, so edges repeat or do not ascend")
    return src, dst, weights


def _require_least(graph: Graph, src: Array, dst: Array, weights: Array, parent: Array, time: Array) -> None:
    found = np.zeros(len(src), np.bool_)
    arcs = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc_weights = None if graph.out.weights is None else frozen(graph.out.weights)
    edges = frozen(src), frozen(dst), frozen(weights)
    arc, edge = _first_contradiction(*arcs, arc_weights, frozen(graph.ranks), graph.symmetric, *edges, parent, time, found)
    if arc >= 0:
        raise Broken(_contradiction(graph, arc, edge, src, dst, weights))
    if not found.all():
        edge = int(found.argmin())
        raise Broken(f"{_edge(graph, src, dst, edge)}: no arc between these ends has weight {weights[edge]}")


def _contradiction(graph: Graph, arc: int, edge: int, src: Array, dst: Array, weights: Array) -> str:
    if edge == len(src):
        return f"{arc_name(graph, arc)}: joins two trees"
    weight = 1 if graph.out.weights is None else graph.out.weights[arc]
    text = f"{arc_name(graph, arc)} of weight {weight}: is less than {_edge(graph, src, dst, edge)} of weight {weights[edge]}"
    same = {int(src[edge]), int(dst[edge])} == set(arc_ends(graph, arc))
    return text if same else f"{text} on its cycle"


def _require_tree_labels(graph: Graph, src: Array, dst: Array, labels: Array) -> None:
    differ = labels[src] != labels[dst]
    if differ.any():
        edge = int(differ.argmax())
        one, other = name_of(graph, labels[src[edge]]), name_of(graph, labels[dst[edge]])
        raise Broken(f"{_edge(graph, src, dst, edge)}: labels {one} and {other} differ")
    classes = int(np.count_nonzero(labels == np.arange(graph.num_vertices)))
    trees = graph.num_vertices - len(src)
    if classes != trees:
        raise Broken(f"{classes} labels name {trees} trees")


def _edge(graph: Graph, src: Array, dst: Array, edge: int) -> str:
    return f"edge {name_of(graph, src[edge])} - {name_of(graph, dst[edge])}"


def _join(num_vertices: int, src: Array, dst: Array) -> tuple[Array, Array, int]:
    """Union by rank of the edges in turn: each row's parent and time of join (E for a root); the edge of a cycle or -1."""
    parent = np.arange(num_vertices, dtype=index_dtype(num_vertices))
    time = np.full(num_vertices, len(src), parent.dtype)
    closing = _join_all(src, dst, parent, time)
    return parent, time, closing


@njit(cache=True, nogil=True)
def _join_all(src: Array, dst: Array, parent: Array, time: Array) -> int:
    height = np.zeros(len(parent), np.uint8)
    for edge in range(len(src)):
        low, high = src[edge], dst[edge]
        while parent[low] != low:
            low = parent[low]
        while parent[high] != high:
            high = parent[high]
        if low == high:
            return edge
        if height[low] > height[high]:
            low, high = high, low
        height[high] += height[low] == height[high]
        parent[low] = high
        time[low] = edge
    return -1


@njit(cache=True, nogil=True)
def _first_contradiction(
    offsets: Array,
    indices: Array,
    arc_weights: Array | None,
    ranks: Array,
    symmetric: bool,
    src: Array,
    dst: Array,
    weights: Array,
    parent: Array,
    time: Array,
    found: Array,
) -> tuple[int, int]:
    """First arc that the greatest edge between its ends contradicts, and that edge (E: none), or (-1, -1).

    Edges ascend by (weight, ends). `found` marks those that are an arc to the bit of its weight.
    """
    for u in range(len(ranks)):
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if u == v or (symmetric and ranks[u] > ranks[v]):
                continue  # the reverse, of the same weight, is asked
            a, b, edge = u, v, -1
            while a != b:
                if time[a] > time[b]:
                    a, b = b, a
                edge = time[a]
                if edge == len(src):
                    return arc, edge  # two roots
                a = parent[a]
            weight = 1 if arc_weights is None else arc_weights[arc]
            if weight < weights[edge]:
                return arc, edge
            low, high = (u, v) if ranks[u] < ranks[v] else (v, u)
            if src[edge] == low and dst[edge] == high:
                found[edge] |= weight == weights[edge] and np.signbit(float(weight)) == np.signbit(float(weights[edge]))
            elif weight == weights[edge] and (ranks[low], ranks[high]) < (ranks[src[edge]], ranks[dst[edge]]):
                return arc, edge
    return -1, -1
