"""Filter-Borůvka, and Kruskal's algorithm if all weights are equal.

In a round every tree takes its lightest edge, and the trees that these edges connect become one vertex of a smaller graph
(Borůvka, 1926). On a dense graph the light edges are joined first, and most heavy ones are then dropped as they are read (the
filter of Osipov, Sanders and Singler, The Filter-Kruskal Minimum Spanning Tree Algorithm, ALENEX 2009).

Edges are read and listed in the order of their endpoints (smaller external id, larger external id), so among equal weights the
first one is the lightest.
"""

from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from kernels.answers import Forest
from kernels.arrays import frozen
from kernels.components.naming import smallest_ids
from kernels.components.union_find import flatten, root_of, unite
from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, gathered, over_items, ranges, ranges_of_rows, running_sums
from kernels.graph import OFFSET, Array, Csr, Graph, index_dtype

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
        which = frozen(graph.positions), frozen(tree), above, limit
        lists = [_listed(side, which) for side in sides[: 1 if graph.symmetric else 2]]
        src, dst, listed = _merged(graph, lists)
        near, far = (src, dst) if above < 0 else (gathered(tree, src), gathered(tree, dst))  # at first each row is a tree
        chosen, joined = _join(near, far, listed, int(tree.max(initial=-1)) + 1)
        parts.append((gathered(src, chosen), gathered(dst, chosen), gathered(listed, chosen)))
        tree = gathered(joined, tree)
    return Forest(*_merged(graph, parts), smallest_ids(graph, tree))


def _listed(side: Edges, which: tuple[Any, ...]) -> Edges:
    """The edges that `_list_edges` lists of one direction, in the order of their endpoints.

    Rows are read in the order in which they are stored: arcs that memory does not hold are read from the disk once.
    """
    counts = np.zeros(len(which[0]), OFFSET)  # of listed edges, by the position of the row
    parts = over_items(ranges_of_rows(side[0]), lambda part: _list_edges(*side, *which, *part, counts))
    begins = running_sums(counts)
    src, dst, weights = edges = tuple(np.empty(begins[-1], column.dtype) for column in parts[0])
    while parts:  # each is freed when its edges are in their places
        shares = [parts.pop() for _ in range(min(cores(), len(parts)))]
        over_items(shares, lambda part: _put_in_order(*part, which[0], begins, *edges))
    return src, dst, weights


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
    offsets: Array, indices: Array, weights: Array, positions: Array, tree: Array, above: float, limit: float,
    begin: int, end: int, counts: Array,
) -> Edges:  # fmt: skip
    """List the edges between different trees with `above < weight <= limit` from rows `begin..end-1` to greater positions."""
    most = 1 + offsets[end] - offsets[begin]  # an entry is written before it is known whether the edge counts: nothing branches
    src, dst, listed = np.empty(most, indices.dtype), np.empty(most, indices.dtype), np.empty(most, weights.dtype)
    size = 0
    for row in range(begin, end):
        before, position = size, positions[row]
        for arc in range(offsets[row], offsets[row + 1]):
            head, weight = indices[arc], weights[arc]
            src[size], dst[size], listed[size] = row, head, weight
            size += (positions[head] > position) & (tree[head] != tree[row]) & (above < weight) & (weight <= limit)
        counts[position] = size - before
    return src[:size], dst[:size], listed[:size]


@njit(cache=True, nogil=True)
def _put_in_order(
    src: Array, dst: Array, weights: Array, positions: Array, begins: Array, in_order: Array, heads: Array, of_edges: Array
) -> None:
    """Write the edges of rows, where `begins` says for each position."""
    row, place = -1, 0
    for edge in range(len(src)):
        if src[edge] != row:
            row = src[edge]
            place = begins[positions[row]]
        in_order[place], heads[place], of_edges[place] = row, dst[edge], weights[edge]
        place += 1


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


def _join(near: Array, far: Array, weights: Array, size: int) -> tuple[Array, Array]:
    """Join `size` trees by their lightest edges; return the indices of those edges, and the new tree of each tree."""
    chosen, rounds = np.zeros(len(near), np.bool_), []
    edges: tuple[Array, ...] = near, far, weights, np.arange(len(near), dtype=index_dtype(len(near)))
    while len(edges[0]):
        number, size = _round(edges, size, chosen)
        rounds.append(number)
        edges = _contract(edges, number)
    joined = np.arange(size, dtype=near.dtype)
    for number in reversed(rounds):
        joined = gathered(joined, number)
    return np.flatnonzero(chosen), joined


def _round(edges: tuple[Array, ...], vertices: int, chosen: Array) -> tuple[Array, int]:
    """Let each vertex take its lightest edge, and mark these; return the new tree of each vertex, and the number of trees."""
    near, far, weights, place = map(frozen, edges)
    parts, lightest = ranges(vertices), np.full(vertices, -1, place.dtype)
    of_edges = ranges(len(near))
    over_items(of_edges, lambda part: _lower(near, far, weights, lightest, *part, len(of_edges) == 1))
    up, root = np.arange(vertices, dtype=near.dtype), np.empty(vertices, near.dtype)
    over_items(parts, lambda part: _hook(near, far, place, lightest, up, chosen, *part))
    roots = over_items(parts, lambda part: _find_roots(up, root, *part))
    number = up  # the links are not needed any more
    over_items(
        zip(parts, accumulate(roots, initial=0), strict=False), lambda part: _number_roots(root, *part[0], part[1], number)
    )
    over_items(parts, lambda part: _rename(root, number, *part))
    return root, sum(roots)


def _contract(edges: tuple[Array, ...], number: Array) -> tuple[Array, ...]:
    """Edges between the new trees."""
    arrays, parts = tuple(map(frozen, edges)), ranges(len(edges[0]))
    left = over_items(parts, lambda part: _count_apart(*arrays[:2], number, *part))
    rest = tuple(np.empty(sum(left), column.dtype) for column in edges)
    ends = zip(parts, left, accumulate(left), strict=True)
    over_items(ends, lambda part: _write_apart(*arrays, number, *part[0], part[2] - part[1], part[2], *rest))
    return rest


@njit(cache=True, nogil=True)
def _lower(near: Array, far: Array, weights: Array, lightest: Array, begin: int, end: int, alone: bool) -> None:
    """Find each vertex's lightest edge, the first among equals; -1 for a vertex without edges. A thread `alone` branches less."""
    for edge in range(begin, end):
        for vertex in (near[edge], far[edge]):
            held = lightest[vertex]
            if alone:
                lightest[vertex] = edge if (held < 0) | (weights[edge] < weights[held]) else held
                continue
            while held < 0 or weights[edge] < weights[held] or (weights[edge] == weights[held] and edge < held):
                if compare_and_swap(lightest, vertex, held, edge):
                    break
                held = lightest[vertex]


@njit(cache=True, nogil=True)
def _hook(near: Array, far: Array, place: Array, lightest: Array, up: Array, chosen: Array, begin: int, end: int) -> None:
    """Let each vertex point to the other end of its lightest edge. If both ends took it, the smaller one is a root."""
    for vertex in range(begin, end):
        edge = lightest[vertex]
        if edge >= 0:
            other = far[edge] if near[edge] == vertex else near[edge]
            chosen[place[edge]] = True
            if lightest[other] != edge or other < vertex:
                up[vertex] = other


@njit(cache=True, nogil=True)
def _find_roots(up: Array, root: Array, begin: int, end: int) -> int:
    """Find the roots above vertices; return how many vertices are roots.

    Threads shorten the same paths. One may undo what another did, but every link still leads to a vertex above.
    """
    roots = 0
    for vertex in range(begin, end):
        root[vertex] = root_of(up, vertex)
        roots += root[vertex] == vertex
    return roots


@njit(cache=True, nogil=True)
def _number_roots(root: Array, begin: int, end: int, first: int, number: Array) -> None:
    for vertex in range(begin, end):
        if root[vertex] == vertex:
            number[vertex] = first
            first += 1


@njit(cache=True, nogil=True)
def _rename(root: Array, number: Array, begin: int, end: int) -> None:
    for vertex in range(begin, end):
        root[vertex] = number[root[vertex]]


@njit(cache=True, nogil=True)
def _count_apart(near: Array, far: Array, number: Array, begin: int, end: int) -> int:
    count = 0
    for edge in range(begin, end):
        count += number[near[edge]] != number[far[edge]]
    return count


@njit(cache=True, nogil=True)
def _write_apart(
    near: Array, far: Array, weights: Array, place: Array, number: Array, begin: int, end: int, free: int, stop: int,
    new_near: Array, new_far: Array, new_weights: Array, new_place: Array,
) -> None:  # fmt: skip
    """Write the edges between different trees to entries `free..stop-1`, each before it is known whether it is one."""
    for edge in range(begin, end):
        if free == stop:
            break
        low, high = number[near[edge]], number[far[edge]]
        new_near[free], new_far[free], new_weights[free], new_place[free] = low, high, weights[edge], place[edge]
        free += low != high
