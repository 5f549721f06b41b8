"""Filter-Borůvka, and Kruskal's algorithm if all weights are equal.

In a round every tree takes its lightest edge, and the trees that these edges connect become one vertex of a smaller graph
(Borůvka, 1926). On a dense graph the light edges are joined first, and most heavy ones are then dropped as they are read (the
filter of Osipov, Sanders and Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009).

Edges are read and listed in the order of their endpoints (smaller external id, larger external id), so among equal weights the
first one is the lightest.
"""

from functools import reduce
from itertools import pairwise

import numpy as np

from kernels.answers import Forest
from kernels.arrays import frozen
from kernels.components.naming import smallest_ids
from kernels.components.union_find import flatten, number_trees, unite
from kernels.cpu.compiled import njit
from kernels.graph import Array, Csr, Graph, index_dtype

_DENSE = 6  # edges per vertex from which on the filter saves time
_LIGHT = 2  # light edges per vertex, in such a graph
_SAMPLE = 1 << 14  # weights in the sample by which light edges are chosen

Edges = tuple[Array, Array, Array]  # rows of smaller external id, rows of larger external id, weights


def span(graph: Graph) -> Forest:
    """Answer `kernels.forest.minimum_spanning_forest` on NumPy arrays."""
    weights = graph.out.weights
    if weights is None:
        src, dst, tree = _join_in_order(_arcs(graph.out), _arcs(graph.into), graph.symmetric, *_order(graph))
        return Forest(src, dst, np.ones(len(src), np.int64), smallest_ids(graph, tree))
    tree = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    sides = [(*_arcs(csr), frozen(csr.weights)) for csr in (graph.out, graph.into) if csr.weights is not None]
    parts: list[Edges] = []
    for above, limit in pairwise(_limits(graph, weights)):
        lists = [_list_edges(*side, *_order(graph), tree, above, limit) for side in sides[: 1 if graph.symmetric else 2]]
        src, dst, listed = _merged(graph, lists)
        chosen, joined = _join(src, dst, listed, tree)
        parts.append((src[chosen], dst[chosen], listed[chosen]))
        tree = joined[tree]
    return Forest(*_merged(graph, parts), smallest_ids(graph, tree))


def _arcs(csr: Csr) -> tuple[Array, Array]:
    return frozen(csr.offsets), frozen(csr.indices)


def _order(graph: Graph) -> tuple[Array, Array]:
    return frozen(graph.rows_by_id), frozen(graph.positions)


def _merged(graph: Graph, lists: list[Edges]) -> Edges:
    return reduce(lambda one, two: _merge(one, two, frozen(graph.positions)), lists)


def _limits(graph: Graph, weights: Array) -> list[float]:
    """Bounds of the ranges of weights that are joined one after the other: one range, or light edges and heavy ones."""
    edges = graph.num_arcs // 2 if graph.symmetric else graph.num_arcs
    if edges <= _DENSE * graph.num_vertices:
        return [-1.0, np.inf]
    sample = np.sort(weights[:: max(1, len(weights) // _SAMPLE)])
    return [-1.0, float(sample[len(sample) * _LIGHT * graph.num_vertices // edges]), np.inf]


@njit(cache=True, nogil=True)
def _join_in_order(
    out: tuple[Array, Array], into: tuple[Array, Array], symmetric: bool, rows_by_id: Array, positions: Array
) -> Edges:
    """Take every edge that joins two trees, in the order of endpoints; return its endpoints, and the tree of each row."""
    parent = np.arange(len(positions)).astype(positions.dtype)
    src, dst = np.empty_like(parent), np.empty_like(parent)
    size = 0
    for row in rows_by_id:
        # Arcs to smaller ids join nothing, because they were read from their other endpoints.
        out_arc, out_end = out[0][row], out[0][row + 1]
        in_end = into[0][row + 1]
        in_arc = in_end if symmetric else into[0][row]
        while True:
            while out_arc < out_end and parent[out[1][out_arc]] == parent[row]:
                out_arc += 1
            while in_arc < in_end and parent[into[1][in_arc]] == parent[row]:
                in_arc += 1
            if out_arc == out_end and in_arc == in_end:
                break
            if in_arc == in_end or (out_arc < out_end and positions[out[1][out_arc]] <= positions[into[1][in_arc]]):
                head = out[1][out_arc]
                out_arc += 1
            else:
                head = into[1][in_arc]
                in_arc += 1
            if unite(parent, row, head):
                src[size], dst[size] = row, head
                size += 1
    flatten(parent)
    return src[:size], dst[:size], parent


@njit(cache=True, nogil=True)
def _list_edges(
    offsets: Array, indices: Array, weights: Array, rows_by_id: Array, positions: Array, tree: Array, above: float, limit: float
) -> Edges:
    """List the edges between different trees with `above < weight <= limit`, from the arcs that lead to larger external ids."""
    # An entry is written before it is known whether the edge counts: this avoids mispredicted branches and takes one more entry.
    src, dst = np.empty(len(indices) + 1, indices.dtype), np.empty(len(indices) + 1, indices.dtype)
    listed = np.empty(len(indices) + 1, weights.dtype)
    size = 0
    for position, row in enumerate(rows_by_id):
        for arc in range(offsets[row], offsets[row + 1]):
            head, weight = indices[arc], weights[arc]
            src[size], dst[size], listed[size] = row, head, weight
            size += (positions[head] > position) & (tree[head] != tree[row]) & (above < weight) & (weight <= limit)
    return src[:size], dst[:size], listed[:size]


@njit(cache=True, nogil=True)
def _merge(one: Edges, two: Edges, positions: Array) -> Edges:
    """Merge two lists of edges; of two edges between the same ends only the lighter one stays."""
    space = len(one[0]) + len(two[0])
    src, dst, weights = np.empty(space, one[0].dtype), np.empty(space, one[1].dtype), np.empty(space, one[2].dtype)
    size, a, b = 0, 0, 0
    while a < len(one[0]) or b < len(two[0]):
        if b == len(two[0]):
            order = -1
        elif a == len(one[0]):
            order = 1
        elif one[0][a] != two[0][b]:
            order = positions[one[0][a]] - positions[two[0][b]]
        else:
            order = positions[one[1][a]] - positions[two[1][b]]
        if order < 0 or (order == 0 and one[2][a] <= two[2][b]):
            src[size], dst[size], weights[size] = one[0][a], one[1][a], one[2][a]
        else:
            src[size], dst[size], weights[size] = two[0][b], two[1][b], two[2][b]
        a += order <= 0
        b += order >= 0
        size += 1
    return src[:size], dst[:size], weights[:size]


def _join(src: Array, dst: Array, weights: Array, tree: Array) -> tuple[Array, Array]:
    """Join the trees by their lightest edges; return the indices of those edges, and the new tree of each tree."""
    near, far, weights, place = tree[src], tree[dst], weights.copy(), np.arange(len(src), dtype=index_dtype(len(src)))
    chosen = np.zeros(len(src), np.bool_)
    vertices, rounds = tree.max(initial=-1) + 1, []
    while len(place):
        rounds.append(_choose(near, far, place, _lightest(near, far, weights, place, vertices), chosen))
        vertices = rounds[-1].max() + 1
        size = _contract(near, far, weights, place, rounds[-1])
        near, far, weights, place = near[:size], far[:size], weights[:size], place[:size]
    joined = np.arange(vertices, dtype=tree.dtype)
    for number in reversed(rounds):
        joined = joined[number]
    return np.flatnonzero(chosen), joined


@njit(cache=True, nogil=True)
def _lightest(near: Array, far: Array, weights: Array, place: Array, vertices: int) -> Array:
    """Each vertex's lightest edge, the first among equals; -1 for a vertex without edges."""
    lightest = np.full(vertices, -1, place.dtype)
    least = np.zeros(vertices, weights.dtype)
    for edge in range(len(near)):
        for end in (near[edge], far[edge]):
            lighter = (weights[edge] < least[end]) | (lightest[end] < 0)
            lightest[end] = edge if lighter else lightest[end]
            least[end] = weights[edge] if lighter else least[end]
    return lightest


@njit(cache=True, nogil=True)
def _choose(near: Array, far: Array, place: Array, lightest: Array, chosen: Array) -> Array:
    """Mark the lightest edges as chosen; return the new tree of each vertex."""
    parent = np.arange(len(lightest)).astype(near.dtype)
    for edge in lightest:
        if edge >= 0 and unite(parent, near[edge], far[edge]):
            chosen[place[edge]] = True
    number_trees(parent)
    return parent


@njit(cache=True, nogil=True)
def _contract(near: Array, far: Array, weights: Array, place: Array, number: Array) -> int:
    """Replace the endpoints of edges by their trees and remove edges inside one tree, in place; return how many are left."""
    size = 0
    for edge in range(len(near)):
        low, high = number[near[edge]], number[far[edge]]
        near[size], far[size], weights[size], place[size] = low, high, weights[edge], place[edge]
        size += low != high
    return size
