"""Filter-Borůvka.

In a round every component takes its lightest edge, and what these edges join becomes one vertex of a smaller graph (Borůvka,
1926). On a dense graph the light edges go first; most heavy ones then lie inside one component and are dropped as they are
read (the filter of Osipov, Sanders and Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009).

Vertices are ranks here, their places in the ascending order of external ids, and edges are listed by (smaller rank, larger
rank). So the list has the order of the answer, and among equal weights the edge that comes first is the lighter one.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import njit

from kernels.answers import Forest
from kernels.backend import frozen
from kernels.graph import Array, Graph
from kernels.labels import smallest_ids

_DENSE = 6  # edges a vertex, from which the filter pays
_LIGHT = 2  # light edges a vertex then
_SAMPLE = 1 << 14  # weights that tell which edges are light


def span(graph: Graph) -> Forest:
    """Answer `kernels.forest.minimum_spanning_forest` on NumPy arrays."""
    tree = np.arange(graph.num_vertices, dtype=graph.rows_by_id.dtype)
    parts = []
    for above, limit in pairwise(_limits(graph)):
        src, dst, weights = _edges(graph, tree, above, limit)
        chosen, joined = _join(tree[src], tree[dst], weights, int(tree.max(initial=-1)) + 1)
        parts.append((src[chosen], dst[chosen], weights[chosen]))
        tree = joined[tree]
    src, dst, weights = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.argsort(src * np.int64(graph.num_vertices) + dst, kind="stable")  # merges the parts, each already in order
    labels = smallest_ids(graph, tree[graph.ranks])
    return Forest(graph.rows_by_id[src[order]], graph.rows_by_id[dst[order]], weights[order], labels)


def _limits(graph: Graph) -> list[float]:
    """Weights that part the edges into slabs, joined one after the other: a single slab, or the light edges and the heavy."""
    weights = graph.out.weights
    edges = graph.num_arcs // 2 if graph.symmetric else graph.num_arcs
    if weights is None or edges < _DENSE * graph.num_vertices:
        return [-1, np.inf]
    sample = np.sort(weights[:: max(1, len(weights) // _SAMPLE)])
    return [-1, float(sample[len(sample) * _LIGHT * graph.num_vertices // edges]), np.inf]


def _edges(graph: Graph, tree: Array, above: float, limit: float) -> tuple[Array, Array, Array]:
    """List the edges between different trees of `above < weight <= limit`: smaller rank, larger rank, weight."""
    out, into = (
        (
            frozen(csr.offsets),
            frozen(csr.indices),
            frozen(np.ones(graph.num_arcs, np.int64) if csr.weights is None else csr.weights),
        )
        for csr in (graph.out, graph.into)
    )
    space = graph.num_arcs // 2 if graph.symmetric else graph.num_arcs
    src, dst, weights = _list_edges(
        out, into, not graph.symmetric, frozen(graph.rows_by_id), frozen(graph.ranks), tree, above, limit, space
    )
    return src, dst, weights


@njit(cache=True, nogil=True)
def _list_edges(out, into, both, rows_by_id, ranks, tree, above, limit, space):  # type: ignore[no-untyped-def]
    """Merge the arcs of each row, out and where `both` also in, that lead to a larger rank; at most `space` edges."""
    src, dst, weights = np.empty(space, tree.dtype), np.empty(space, tree.dtype), np.empty(space, out[2].dtype)
    size = 0
    for rank in range(len(rows_by_id)):
        row = rows_by_id[rank]
        out_end, in_end = out[0][row + 1], into[0][row + 1]
        out_arc = _first_above(out[0], out[1], ranks, row, rank)
        in_arc = _first_above(into[0], into[1], ranks, row, rank) if both else in_end
        while out_arc < out_end or in_arc < in_end:
            if in_arc == in_end or (out_arc < out_end and ranks[out[1][out_arc]] <= ranks[into[1][in_arc]]):
                far, weight = ranks[out[1][out_arc]], out[2][out_arc]
                out_arc += 1
            else:
                far, weight = ranks[into[1][in_arc]], into[2][in_arc]
                in_arc += 1
            if above < weight <= limit and tree[rank] != tree[far]:
                src[size], dst[size], weights[size] = rank, far, weight
                size += 1
    return src[:size], dst[:size], weights[:size]


@njit(cache=True, nogil=True)
def _first_above(offsets, indices, ranks, row, rank):  # type: ignore[no-untyped-def]
    """First arc of `row` whose other end has a larger rank: its arcs ascend by rank."""
    low, high = offsets[row], offsets[row + 1]
    while low < high:
        middle = (low + high) // 2
        if ranks[indices[middle]] > rank:
            high = middle
        else:
            low = middle + 1
    return low


def _join(near: Array, far: Array, weights: Array, vertices: int) -> tuple[Array, Array]:
    """Span `vertices` vertices with the lightest edges; return the edges' places, ascending, and each vertex's tree.

    Trees are numbered by their smallest vertex. `near` and `far` are overwritten.
    """
    place, weights = np.arange(len(near)), weights.copy()
    chosen = np.zeros(len(near), np.bool_)
    rounds = [np.arange(vertices, dtype=near.dtype)]
    while len(place):
        lightest = _lightest(near, far, weights, vertices)
        rounds.append(_merge(near, far, place, lightest, chosen))
        vertices = int(rounds[-1].max()) + 1
        size = _contract(near, far, weights, place, rounds[-1])
        near, far, weights, place = near[:size], far[:size], weights[:size], place[:size]
    tree = rounds.pop()
    while rounds:
        tree = tree[rounds.pop()]
    return np.flatnonzero(chosen), tree


@njit(cache=True, nogil=True)
def _lightest(near, far, weights, vertices):  # type: ignore[no-untyped-def]
    """Place of each vertex's lightest edge, the first among equals; -1 without edges."""
    lightest = np.full(vertices, -1, np.int64)
    least = np.empty(vertices, weights.dtype)
    for edge in range(len(near)):
        for end in (near[edge], far[edge]):
            if lightest[end] < 0 or weights[edge] < least[end]:
                lightest[end], least[end] = edge, weights[edge]
    return lightest


@njit(cache=True, nogil=True)
def _merge(near, far, place, lightest, chosen):  # type: ignore[no-untyped-def]
    """Choose the lightest edges; number what they join by smallest vertex."""
    parent, number = np.empty(len(lightest), near.dtype), np.full(len(lightest), -1, near.dtype)
    for vertex, edge in enumerate(lightest):
        parent[vertex] = vertex
        if edge >= 0:
            chosen[place[edge]] = True
            other = far[edge] if near[edge] == vertex else near[edge]
            # The order of edges is strict, so the only cycle is of two vertices that chose the same edge.
            if lightest[other] != edge or other < vertex:
                parent[vertex] = other
    numbers = 0
    for vertex in range(len(parent)):
        root = vertex
        while parent[root] != root:
            root = parent[root]
        if number[root] < 0:
            number[root] = numbers
            numbers += 1
        step = vertex
        while parent[step] != step:
            number[step] = number[root]
            parent[step], step = root, parent[step]
    return number


@njit(cache=True, nogil=True)
def _contract(near, far, weights, place, number):  # type: ignore[no-untyped-def]
    """Number the ends anew and close the gaps of edges inside one component; return how many are left."""
    size = 0
    for edge in range(len(near)):
        low, high = number[near[edge]], number[far[edge]]
        if low != high:
            near[size], far[size], weights[size], place[size] = low, high, weights[edge], place[edge]
            size += 1
    return size
