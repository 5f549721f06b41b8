"""The certificate of a forest on CuPy arrays: five launches (forest.cu) without a read-back between them."""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.certificate.launches import (
    first_noted,
    launch,
    require_device_form,
    require_labels_form,
    require_row_labels,
    work_of,
)
from kernels.certificate.rules import Broken, arc_ends, arc_weight, at, outside
from kernels.distributed.shard import Shard
from kernels.forest.certificate import reasons
from kernels.forest.certificate.hierarchy import Hierarchy
from kernels.gpu.loader import pointer, to_host
from kernels.graph import Array, Csr, Graph

_ITEM = 3  # nodes in an Item of hierarchy.cuh


class _Noted(NamedTuple):
    """The words of Control in forest.cu: first edges, rows or arcs, counted back from their number; 0 if there is none."""

    barrier: int
    nodes: int
    src_outside: int
    dst_outside: int
    wrong_end: int
    not_ascending: int
    closing: int
    contradicted: int
    missing: int
    labels_outside: int
    labels_astray: int
    labels_greater: int
    labels_differ: int
    classes: int
    first_contradiction: int


class _Edges(NamedTuple):
    """Ends and weights of edges."""

    src: Array
    dst: Array
    weights: Array


class _Order(NamedTuple):
    """Edges in the order (weight, endpoints), and for each edge its index in this order, its time."""

    order: Array
    times: Array


class _Hierarchy(NamedTuple):
    """For each node the node that it became part of, and the time of the edge; the largest integer at roots."""

    parent: Array
    time: Array


def check(graph: Graph, forest: Forest) -> None:
    """Raise Broken at the first rule that `forest` breaks."""
    control = cupy.zeros(len(_Noted._fields), np.uint64)
    stated = _require_form(graph, forest)
    edges, order = _order(graph, stated, control)
    tree = _join(graph, edges, order, control)
    found = _check_arcs(graph, edges, order, tree, control)
    malformed = None
    try:
        labels = require_labels_form(graph, forest.labels)
    except Broken as broken:
        malformed, labels = broken, graph.rows_by_id
    sizes = np.int64(len(edges.src)), np.int64(graph.num_vertices)
    rest = (edges.src, edges.dst, order.times, sizes[0], found, labels, graph.positions, sizes[1], control)
    _launch(graph, "check_rest", graph.num_vertices, rest)
    noted = _Noted(*to_host(control).tolist())
    _require_edges(graph, stated, noted)
    _require_least(graph, edges, order, tree, noted, control)
    if malformed:
        raise malformed
    _require_tree_labels(graph, edges, order, labels, noted)


def _require_form(graph: Graph, forest: Forest) -> _Edges:
    length = len(forest.src) if isinstance(forest.src, cupy.ndarray) and forest.src.ndim else 0
    weight = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    ends: list[Array] = []
    try:
        for name, rows in (("src", forest.src), ("dst", forest.dst)):
            ends.append(require_device_form(name, rows, length, graph.rows_by_id.dtype))
        return _Edges(ends[0], ends[1], require_device_form("weights", forest.weights, length, weight))
    except Broken:
        # Arrays before the malformed one are checked first: no launch will.
        for name, rows in zip(("src", "dst"), ends, strict=False):
            no_row = (rows < 0) | (rows >= graph.num_vertices)
            if no_row.any():
                raise Broken(outside(name, rows, int(no_row.argmax()), graph.num_vertices)) from None
        raise


def _order(graph: Graph, edges: _Edges, control: Array) -> tuple[_Edges, _Order]:
    """Check the edges and order them. More than V edges close a cycle; the first V of them also do, and only these are kept."""
    keys = cupy.empty(len(edges.src), f"u{edges.weights.dtype.itemsize}")
    sizes = np.int64(len(edges.src)), np.int64(graph.num_vertices)
    _launch(graph, "check_edges", len(edges.src), (*edges, sizes[0], graph.positions, sizes[1], keys, control))
    order = cupy.argsort(keys)  # stable
    if len(order) > graph.num_vertices:
        kept = cupy.sort(order[: graph.num_vertices])
        edges = _Edges(*(array[kept] for array in edges))
        order = cupy.argsort(keys[kept])
    times = cupy.empty(len(order), _node(graph))
    times[order] = cupy.arange(len(order), dtype=times.dtype)
    return edges, _Order(order, times)


def _join(graph: Graph, edges: _Edges, order: _Order, control: Array) -> _Hierarchy:
    num_rows, num_edges = graph.num_vertices, len(edges.src)
    parent, time, hook = (cupy.empty(2 * num_rows, _node(graph)) for _ in range(3))
    items = cupy.empty(_ITEM * num_edges, _node(graph))
    sizes = np.int64(num_edges), np.int64(num_rows)
    _launch(graph, "join_forest", num_rows, (edges.src, edges.dst, order.times, *sizes, parent, time, hook, items, control))
    return _Hierarchy(parent, time)


def _check_arcs(graph: Graph, edges: _Edges, order: _Order, tree: _Hierarchy, control: Array) -> Array:
    """Look up for every arc the edge that joined its endpoints; return which edges, by time, are arcs."""
    num_rows, num_edges = np.int64(graph.num_vertices), np.int64(len(edges.src))
    tops = cupy.empty(graph.num_vertices, np.uint16)
    _launch(graph, "climb", graph.num_vertices, (edges.weights, order.order, num_edges, num_rows, *tree, tops, control))
    found: Array = cupy.zeros(len(edges.src), np.uint8)
    arguments = (*_arcs(graph), num_rows, *edges, order.order, num_edges, *tree, tops, found, control)
    _launch(graph, "check_arcs", graph.num_arcs, arguments)
    return found


def _require_edges(graph: Graph, edges: _Edges, noted: _Noted) -> None:
    length = len(edges.src)
    if noted.src_outside:
        raise Broken(outside("src", edges.src, length - noted.src_outside, graph.num_vertices))
    if noted.dst_outside:
        raise Broken(outside("dst", edges.dst, length - noted.dst_outside, graph.num_vertices))
    if noted.wrong_end:
        raise Broken(reasons.wrong_end(graph, edges.src, edges.dst, length - noted.wrong_end))
    if noted.not_ascending:
        raise Broken(reasons.not_ascending(graph, edges.src, edges.dst, length - noted.not_ascending))


def _require_least(graph: Graph, edges: _Edges, order: _Order, tree: _Hierarchy, noted: _Noted, control: Array) -> None:
    if noted.closing:
        raise Broken(reasons.cycle(graph, edges.src, edges.dst, _edge_at(order, noted.closing)))
    if noted.contradicted:
        sizes = np.int64(graph.num_vertices), np.int64(graph.num_arcs)
        arguments = (*_arcs(graph), *sizes, *edges, order.order, *tree, control)
        _launch(graph, "find_contradiction", graph.num_arcs, arguments)
        arc = graph.num_arcs - _Noted(*to_host(control).tolist()).first_contradiction
        ends, weight = arc_ends(graph, arc), arc_weight(graph.out.weights, arc)
        time = _greatest_between(tree, *ends)
        if time is None:
            raise Broken(reasons.two_trees(graph, ends))
        raise Broken(reasons.lighter(graph, ends, weight, edges, int(at(order.order, time))))
    if noted.missing:
        raise Broken(reasons.no_arc(graph, *edges, _edge_at(order, noted.missing)))


def _require_tree_labels(graph: Graph, edges: _Edges, order: _Order, labels: Array, noted: _Noted) -> None:
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    if noted.labels_differ:
        raise Broken(reasons.labels_differ(graph, edges.src, edges.dst, labels, _edge_at(order, noted.labels_differ)))
    trees = graph.num_vertices - len(edges.src)
    if noted.classes != trees:
        raise Broken(reasons.too_few_labels(noted.classes, trees))


def _edge_at(order: _Order, back: int) -> int:
    """The edge of the time that is counted back from the number of edges."""
    return int(at(order.order, len(order.order) - back))


def _greatest_between(tree: _Hierarchy, one: int, other: int) -> int | None:
    """Time of the greatest edge between two rows, by the hierarchy of hierarchy.cuh; None if they are in two trees."""
    greatest = 0
    while one != other:
        greatest = max(greatest, int(at(tree.time, one)), int(at(tree.time, other)))
        if greatest == np.iinfo(tree.time.dtype).max:
            return None
        one, other = int(at(tree.parent, one)), int(at(tree.parent, other))
    return greatest


def _arcs(graph: Graph) -> tuple[Any, ...]:
    return graph.out.offsets, graph.out.indices, pointer(graph.out.weights), np.bool_(graph.symmetric), graph.positions


def _node(graph: Graph) -> str:
    return f"u{graph.rows_by_id.dtype.itemsize}"


def _launch(graph: Graph, name: str, work: int, arguments: tuple[Any, ...]) -> None:
    weight = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    launch("forest/certificate/forest.cu", name, work, arguments, ROW=graph.rows_by_id.dtype, WEIGHT=weight)


def first_contradiction(shard: Shard, positions: Array, tree: Hierarchy, greatest: Array) -> tuple[int, int]:
    """As `cpu.first_contradiction`."""
    out, control = shard.local_out, cupy.zeros(1, np.uint64)
    heaviest = greatest[tree.top] if len(greatest) else cupy.zeros(len(positions), greatest.dtype)
    paths = (tree.parent, tree.time, tree.root, heaviest, greatest, tree.edges.low, tree.edges.high)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    arcs = (out.offsets, out.indices, pointer(out.weights))
    arguments = (*arcs, *sizes, positions, np.bool_(shard.symmetric), *paths, control)
    types = {"ROW": positions.dtype, "WEIGHT": greatest.dtype}
    launch("forest/certificate/sharded.cu", "find_contradiction", work_of(out), arguments, **types)
    arc = first_noted(control[0], out)
    return arc, -1 if arc < 0 else _time_between(tree, out, arc)


def _time_between(tree: Hierarchy, out: Csr, arc: int) -> int:
    """The time of the greatest edge between an arc's ends; -1 where no edges connect them."""
    one = int(cupy.searchsorted(out.offsets, cupy.full(1, arc), side="right")[0]) - 1
    other, last = int(out.indices[arc]), -1
    if int(tree.root[one]) != int(tree.root[other]):
        return -1
    while one != other:
        last = max(last, int(tree.time[one]), int(tree.time[other]))
        one, other = int(tree.parent[one]), int(tree.parent[other])
    return last
