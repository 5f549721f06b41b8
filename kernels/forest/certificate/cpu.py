"""The certificate of a forest on NumPy arrays.

The forest's edges are joined in ascending order by union by height without path compression. A vertex keeps its parent and the
time of the join. Times grow along the path up, so the last join on the path between two vertices is the greatest forest edge
between them, and the path is O(log V) long.
"""

from functools import partial

import numpy as np

from kernels.answers import Forest
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_weight, require_array, require_labels, require_rows
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_rows
from kernels.forest.certificate import reasons
from kernels.forest.certificate.hierarchy import Hierarchy
from kernels.graph import Array, Csr, Graph, index_dtype


def check(graph: Graph, forest: Forest) -> None:
    """Raise Broken at the first rule that `forest` breaks."""
    src, dst, weights = _require_edges(graph, forest)
    # stable: edges of equal weight stay in the order of their endpoints
    ascending = np.argsort(weights, kind="stable")
    src, dst, weights = frozen(src[ascending]), frozen(dst[ascending]), frozen(weights[ascending])
    parent, time, closing = _join(graph.num_vertices, src, dst)
    if closing >= 0:
        raise Broken(reasons.cycle(graph, src, dst, closing))
    _require_least(graph, src, dst, weights, parent, time)
    _require_tree_labels(graph, src, dst, require_labels(graph, forest.labels))


def _require_edges(graph: Graph, forest: Forest) -> tuple[Array, Array, Array]:
    length = len(forest.src) if isinstance(forest.src, np.ndarray) and forest.src.ndim else 0
    src, dst = (
        require_rows(name, getattr(forest, name), length, graph.num_vertices, row=graph.rows_by_id.dtype)
        for name in ("src", "dst")
    )
    dtype = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    weights = require_array("weights", forest.weights, length, dtype)
    low, high = graph.positions[src], graph.positions[dst]
    if (low >= high).any():
        raise Broken(reasons.wrong_end(graph, src, dst, int((low >= high).argmax())))
    falls = (low[1:] < low[:-1]) | ((low[1:] == low[:-1]) & (high[1:] <= high[:-1]))
    if falls.any():
        raise Broken(reasons.not_ascending(graph, src, dst, int(falls.argmax())))
    return src, dst, weights


def _require_least(graph: Graph, src: Array, dst: Array, weights: Array, parent: Array, time: Array) -> None:
    found = np.zeros(len(src), np.bool_)
    arcs = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc_weights = None if graph.out.weights is None else frozen(graph.out.weights)
    edges = frozen(src), frozen(dst), frozen(weights)
    sides = *arcs, arc_weights, frozen(graph.positions), graph.symmetric, *edges, parent, time, found
    for arc, edge in over_rows(graph.out, lambda begin, end: _first_contradiction(*sides, begin, end)):
        if arc >= 0 and edge == len(src):
            raise Broken(reasons.two_trees(graph, arc_ends(graph, arc)))
        if arc >= 0:
            weight = arc_weight(graph.out.weights, arc)
            raise Broken(reasons.lighter(graph, arc_ends(graph, arc), weight, (src, dst, weights), edge))
    if not found.all():
        raise Broken(reasons.no_arc(graph, src, dst, weights, int(found.argmin())))


def _require_tree_labels(graph: Graph, src: Array, dst: Array, labels: Array) -> None:
    differ = labels[src] != labels[dst]
    if differ.any():
        raise Broken(reasons.labels_differ(graph, src, dst, labels, int(differ.argmax())))
    classes = int(np.count_nonzero(labels == np.arange(graph.num_vertices)))
    trees = graph.num_vertices - len(src)
    if classes != trees:
        raise Broken(reasons.too_few_labels(classes, trees))


def _join(num_vertices: int, src: Array, dst: Array) -> tuple[Array, Array, int]:
    """Union by height of the edges in turn: each row's parent and time of join (E for a root); the edge of a cycle or -1."""
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
    positions: Array,
    symmetric: bool,
    src: Array,
    dst: Array,
    weights: Array,
    parent: Array,
    time: Array,
    found: Array,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """First arc of rows `begin:end` that the greatest edge between its endpoints contradicts, and this edge (E if none).

    (-1, -1) if there is no such arc. Edges ascend by (weight, endpoints). `found` marks the edges that equal an arc to the bit of
    the weight; threads only set marks.
    """
    for u in range(begin, end):
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if u == v or (symmetric and positions[u] > positions[v]):
                continue  # the reverse arc, of the same weight, is checked
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
            low, high = (u, v) if positions[u] < positions[v] else (v, u)
            if src[edge] == low and dst[edge] == high:
                if weight == weights[edge] and np.signbit(float(weight)) == np.signbit(float(weights[edge])):
                    found[edge] = True
            elif weight == weights[edge] and (positions[low], positions[high]) < (positions[src[edge]], positions[dst[edge]]):
                return arc, edge
    return -1, -1


def first_contradiction(out: Csr, symmetric: bool, positions: Array, tree: Hierarchy, greatest: Array) -> tuple[int, int]:
    """The first out-arc (of own rows) that the greatest edge between its endpoints contradicts, and the time of that edge.

    (-1, -1) if there is none; the time is -1 where no edges connect the endpoints. `positions` [n + g] are places in the order of
    ids; `greatest` are the weights of `tree.edges`. Of a symmetric graph's arcs those that leave the smaller id are checked.
    """
    arcs = frozen(out.offsets), frozen(out.indices), None if out.weights is None else frozen(out.weights)
    paths = tree.parent, tree.time, tree.root, tree.top, greatest, tree.edges.low, tree.edges.high
    found = over_rows(out, partial(_first_contradicted, *arcs, frozen(positions), symmetric, *map(frozen, paths)))
    return next((pair for pair in found if pair[0] >= 0), (-1, -1))


@njit(cache=True, nogil=True)
def _first_contradicted(
    offsets: Array,
    indices: Array,
    weights: Array | None,
    positions: Array,
    symmetric: bool,
    parent: Array,
    time: Array,
    root: Array,
    top: Array,
    greatest: Array,
    lows: Array,
    highs: Array,
    begin: int,
    end: int,
) -> tuple[int, int]:
    for u in range(begin, end):
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if u == v or (symmetric and positions[u] > positions[v]):
                continue  # the reverse arc, of the same weight, is checked
            if root[u] != root[v]:
                return arc, -1
            weight = 1 if weights is None else weights[arc]
            if weight > greatest[max(top[u], top[v])]:
                continue
            one, other, last = u, v, -1
            while one != other:
                last = max(last, time[one], time[other])
                one, other = parent[one], parent[other]
            if weight < greatest[last]:
                return arc, last
            ends = min(positions[u], positions[v]), max(positions[u], positions[v])
            if weight == greatest[last] and ends < (lows[last], highs[last]):
                return arc, last
    return -1, -1
