"""The certificate of a forest on NumPy arrays.

The forest's edges are joined into a hierarchy (joining.py). For every arc both paths up are followed until they meet; the
greatest edge on them is the greatest forest edge between the arc's endpoints.
"""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernels.answers import Forest
from kernels.arrays import frozen
from kernels.certificate.rules import Broken, arc_ends, arc_weight, require_array, require_labels, require_rows
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import Range, elementwise, gathered, over_items, over_rows, ranges
from kernels.forest.certificate import reasons
from kernels.forest.certificate.edges import greater_of, keys_of
from kernels.forest.certificate.hierarchy import Level
from kernels.graph import NO_ROW, OFFSET, Array, Csr, Graph, index_dtype

if TYPE_CHECKING:
    from kernels.forest.certificate.joining import PathsUp


def check(graph: Graph, forest: Forest) -> None:
    """Raise Broken at the first rule that `forest` breaks."""
    from kernels.forest.certificate.joining import join  # imports Numba

    src, dst, weights = _require_edges(graph, forest)
    keys = weights if weights.dtype.kind == "i" else frozen(elementwise(keys_of, weights, dtype=OFFSET))
    paths = join(graph.num_vertices, src, dst, keys)
    if (closing := _least(~paths.joined, keys)) >= 0:
        raise Broken(reasons.cycle(graph, src, dst, closing))
    _require_least(graph, src, dst, weights, keys, paths)
    _require_tree_labels(graph, src, dst, keys, require_labels(graph, forest.labels))


def _least(wrong: Array, keys: Array) -> int:
    """The least edge of those where `wrong` is true; -1 if there is none."""
    places = np.flatnonzero(wrong)
    return int(places[keys[places].argmin()]) if len(places) else -1


def _require_edges(graph: Graph, forest: Forest) -> tuple[Array, Array, Array]:
    length = len(forest.src) if isinstance(forest.src, np.ndarray) and forest.src.ndim else 0
    src, dst = (
        require_rows(name, getattr(forest, name), length, graph.num_vertices, row=graph.rows_by_id.dtype)
        for name in ("src", "dst")
    )
    dtype = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    weights = require_array("weights", forest.weights, length, dtype)
    low, high = (gathered(graph.positions, rows) for rows in (src, dst))
    wrong = elementwise(np.greater_equal, low, high, dtype=np.bool_)
    if wrong.any():
        raise Broken(reasons.wrong_end(graph, src, dst, int(wrong.argmax())))
    falls = elementwise(_falls, low[1:], low[:-1], high[1:], high[:-1], dtype=np.bool_)
    if falls.any():
        raise Broken(reasons.not_ascending(graph, src, dst, int(falls.argmax())))
    return src, dst, weights


def _falls(low: Array, low_before: Array, high: Array, high_before: Array) -> Array:
    falls: Array = (low < low_before) | ((low == low_before) & (high <= high_before))
    return falls


def _require_least(graph: Graph, src: Array, dst: Array, weights: Array, keys: Array, paths: "PathsUp") -> None:
    are_arcs = np.zeros(len(src), np.bool_)
    arcs = frozen(graph.out.offsets), frozen(graph.out.indices)
    arc_weights = None if graph.out.weights is None else frozen(graph.out.weights)
    tops = paths.top[: graph.num_vertices if len(src) else 0]  # without edges none is read
    greatest_above = frozen(gathered(weights, tops, 0))
    edges, begins = (src, dst, weights, keys), np.full(graph.num_vertices, NO_ROW, index_dtype(len(src)))
    over_items(ranges(len(src)), lambda part: _begin_rows(src, *part, begins))
    sides = (
        *arcs,
        arc_weights,
        frozen(graph.positions),
        graph.symmetric,
        *edges,
        frozen(begins),
        paths.parent,
        paths.edge,
        paths.root,
        greatest_above,
        are_arcs,
    )
    for arc, greatest in over_rows(graph.out, lambda begin, end: _first_contradiction(*sides, begin, end)):
        if arc >= 0 and greatest < 0:
            raise Broken(reasons.two_trees(graph, arc_ends(graph, arc)))
        if arc >= 0:
            weight = arc_weight(graph.out.weights, arc)
            raise Broken(reasons.lighter(graph, arc_ends(graph, arc), weight, (src, dst, weights), greatest))
    if (missing := _least(~are_arcs, keys)) >= 0:
        raise Broken(reasons.no_arc(graph, src, dst, weights, missing))


def _require_tree_labels(graph: Graph, src: Array, dst: Array, keys: Array, labels: Array) -> None:
    differ = elementwise(lambda src, dst: labels.take(src) != labels.take(dst), src, dst, dtype=np.bool_)
    if differ.any():
        raise Broken(reasons.labels_differ(graph, src, dst, labels, _least(differ, keys)))

    def classes_of(part: Range) -> int:
        return int(np.count_nonzero(labels[slice(*part)] == np.arange(*part, dtype=labels.dtype)))

    classes = sum(over_items(ranges(len(labels)), classes_of))
    trees = graph.num_vertices - len(src)
    if classes != trees:
        raise Broken(reasons.too_few_labels(classes, trees))


@njit(cache=True, nogil=True)
def _begin_rows(src: Array, begin: int, end: int, begins: Array) -> None:
    """Write the first of the edges from each row."""
    for edge in range(begin, end):
        if edge == 0 or src[edge] != src[edge - 1]:
            begins[src[edge]] = edge


@njit(cache=True, nogil=True)
def _first_contradiction(
    offsets: Array, indices: Array, arc_weights: Array | None, positions: Array, symmetric: bool, src: Array, dst: Array,
    weights: Array, keys: Array, begins: Array, parent: Array, edges: Array, root: Array, tops: Array, are_arcs: Array,
    begin: int, end: int,
) -> tuple[int, int]:  # fmt: skip
    """First arc of rows `begin:end` that the greatest edge between its endpoints contradicts, and this edge (-1 if none).

    (-1, -1) if there is no such arc. `are_arcs` marks the edges that equal an arc to the bit of the weight; threads only set
    marks. The paths of an arc that is an edge need not be followed: without cycles, the edge is all of the path between its ends.
    A row's edges have the order of its arcs, so each arc is compared with the next edge only.
    """
    for u in range(begin, end):
        following = begins[u]
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if u == v or (symmetric and positions[u] > positions[v]):
                continue  # the reverse arc, of the same weight, is checked
            if root[u] != root[v]:
                return arc, -1
            weight = 1 if arc_weights is None else arc_weights[arc]
            if 0 <= following < len(src) and src[following] == u and dst[following] == v:
                greatest = following
                following += 1
            elif weight > tops[u] and weight > tops[v]:
                continue  # greater than all edges on both paths
            else:
                one, other, greatest = u, v, -1
                while one != other:
                    greatest = greater_of(keys, greater_of(keys, edges[one], edges[other]), greatest)
                    one, other = parent[one], parent[other]
            if weight < weights[greatest]:
                return arc, greatest
            low, high = (u, v) if positions[u] < positions[v] else (v, u)
            if src[greatest] == low and dst[greatest] == high:
                if weight == weights[greatest] and np.signbit(float(weight)) == np.signbit(float(weights[greatest])):
                    are_arcs[greatest] = True
            elif weight == weights[greatest] and (
                (positions[low], positions[high]) < (positions[src[greatest]], positions[dst[greatest]])
            ):
                return arc, greatest
    return -1, -1


def first_contradiction(
    out: Csr, symmetric: bool, positions: Array, level: Level, greatest: Array, waits: Array
) -> tuple[int, int]:  # fmt: skip
    """The first out-arc (of own rows) whose endpoints meet on a level although it is less than the greatest edge between them.

    Args:
        positions (index width [n + f]): Places in the order of ids. Of a symmetric graph's arcs those that leave the smaller id
            are checked.
        greatest ([n + f]): The weights of `level.top`.
        waits (bool [n]): The rows with arcs whose endpoints have not met; the others are left out. Lowered in place.

    Returns:
        The arc, and the row whose path up has that edge: -1 where no edges connect the endpoints. (-1, -1) if there is none.
    """
    arcs = frozen(out.offsets), frozen(out.indices), None if out.weights is None else frozen(out.weights)
    paths = map(frozen, (level.before, level.after, *level.top, greatest))
    pairs = over_rows(out, partial(_first_contradicted, *arcs, frozen(positions), symmetric, *paths, waits))
    return next((pair for pair in pairs if pair[0] >= 0), (-1, -1))


@njit(cache=True, nogil=True)
def _first_contradicted(
    offsets: Array, indices: Array, weights: Array | None, positions: Array, symmetric: bool, before: Array, after: Array,
    heavy: Array, lows: Array, highs: Array, greatest: Array, waits: Array, begin: int, end: int,
) -> tuple[int, int]:  # fmt: skip
    for u in range(begin, end):
        if not waits[u]:
            continue
        apart = False
        for arc in range(offsets[u], offsets[u + 1]):
            v = indices[arc]
            if before[u] == before[v] or (symmetric and positions[u] > positions[v]):
                continue  # they met below, or the reverse arc, of the same weight, is checked
            if after[u] < 0 or after[v] < 0:
                return arc, -1
            if after[u] != after[v]:
                apart = True
                continue
            weight = 1 if weights is None else weights[arc]
            of_u, of_v = (heavy[u], lows[u], highs[u]), (heavy[v], lows[v], highs[v])
            row = v if of_u < of_v else u
            if weight < greatest[row]:
                return arc, row
            ends = min(positions[u], positions[v]), max(positions[u], positions[v])
            if weight == greatest[row] and ends < (lows[row], highs[row]):
                return arc, row
        waits[u] = apart
    return -1, -1
