"""The certificate of a forest on CuPy arrays: launches in turn (forest.cu), none of which waits for the host; what they noted."""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.certificates.forest import reasons
from kernels.certificates.launches import launch, pointer, require_device_form, require_labels_form, require_row_labels
from kernels.certificates.rules import Broken, arc_ends, at, outside
from kernels.graph import Array, Graph

_ITEM = 3  # words of a node's width, as in hierarchy.cuh


class _Noted(NamedTuple):
    """The words of Control in forest.cu: first places, counted back from the number of edges, rows or arcs; 0 where none."""

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


class _Hierarchy(NamedTuple):
    """Of each node what it became, and by which edge: the greatest number where by none."""

    parent: Array
    time: Array


def check(graph: Graph, forest: Forest) -> None:
    """Raise Broken at the first rule that `forest` breaks."""
    control = cupy.zeros(len(_Noted._fields), np.uint64)
    edges = _require_form(graph, forest)
    ordered = _order(graph, edges, control)
    tree = _join(graph, ordered, control)
    found = _ask(graph, ordered, tree, control)
    malformed = None
    try:
        labels = require_labels_form(graph, forest.labels)
    except Broken as broken:
        malformed, labels = broken, graph.rows_by_id
    sizes = np.int64(len(ordered.src)), np.int64(graph.num_vertices)
    rest = (ordered.src, ordered.dst, sizes[0], found, labels, graph.ranks, sizes[1], control)
    _launch(graph, "check_rest", graph.num_vertices, rest)
    noted = _Noted(*control.get().tolist())
    _require_edges(graph, edges, noted)
    _require_least(graph, ordered, tree, noted, control)
    if malformed:
        raise malformed
    _require_tree_labels(graph, ordered, labels, noted)


def _require_form(graph: Graph, forest: Forest) -> _Edges:
    length = len(forest.src) if isinstance(forest.src, cupy.ndarray) and forest.src.ndim else 0
    weight = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    ends: list[Array] = []
    try:
        for name, rows in (("src", forest.src), ("dst", forest.dst)):
            ends.append(require_device_form(name, rows, length, graph.rows_by_id.dtype))
        return _Edges(ends[0], ends[1], require_device_form("weights", forest.weights, length, weight))
    except Broken:
        # What came before is checked first, as no launch does it.
        for name, rows in zip(("src", "dst"), ends, strict=False):
            no_row = (rows < 0) | (rows >= graph.num_vertices)
            if no_row.any():
                raise Broken(outside(name, rows, int(no_row.argmax()), graph.num_vertices)) from None
        raise


def _order(graph: Graph, edges: _Edges, control: Array) -> _Edges:
    """Check the edges, and order them by (weight, ends). More than V close a cycle, and so do the first V."""
    places = cupy.empty(len(edges.src), f"u{edges.weights.dtype.itemsize}")
    sizes = np.int64(len(edges.src)), np.int64(graph.num_vertices)
    _launch(graph, "check_edges", len(edges.src), (*edges, sizes[0], graph.ranks, sizes[1], places, control))
    ascending = cupy.argsort(places)[: graph.num_vertices]  # stable
    return _Edges(*(array[ascending] for array in edges))


def _join(graph: Graph, ordered: _Edges, control: Array) -> _Hierarchy:
    num_rows, num_edges, node = graph.num_vertices, len(ordered.src), f"u{graph.rows_by_id.dtype.itemsize}"
    parent, time, hook = (cupy.empty(2 * num_rows, node) for _ in range(3))
    items = cupy.empty(_ITEM * num_edges, node)
    sizes = np.int64(num_edges), np.int64(num_rows)
    _launch(graph, "join_forest", num_rows, (ordered.src, ordered.dst, *sizes, parent, time, hook, items, control))
    return _Hierarchy(parent, time)


def _ask(graph: Graph, ordered: _Edges, tree: _Hierarchy, control: Array) -> Array:
    """Ask every arc which edge joined its ends; the edges that are arcs."""
    num_rows, num_edges = np.int64(graph.num_vertices), np.int64(len(ordered.src))
    tops = cupy.empty(graph.num_vertices, np.uint16)
    _launch(graph, "climb", graph.num_vertices, (ordered.weights, num_edges, num_rows, *tree, tops, control))
    found = cupy.zeros(len(ordered.src), np.uint8)
    arguments = (*_arcs(graph), num_rows, *ordered, num_edges, *tree, tops, found, control)
    _launch(graph, "ask_arcs", graph.num_arcs, arguments)
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


def _require_least(graph: Graph, ordered: _Edges, tree: _Hierarchy, noted: _Noted, control: Array) -> None:
    length = len(ordered.src)
    if noted.closing:
        raise Broken(reasons.cycle(graph, ordered.src, ordered.dst, length - noted.closing))
    if noted.contradicted:
        arguments = (*_arcs(graph), np.int64(graph.num_vertices), np.int64(graph.num_arcs), *ordered, *tree, control)
        _launch(graph, "find_contradiction", graph.num_arcs, arguments)
        arc = graph.num_arcs - _Noted(*control.get().tolist()).first_contradiction
        edge = _greatest_between(tree, *arc_ends(graph, arc))
        raise Broken(reasons.two_trees(graph, arc) if edge is None else reasons.lighter(graph, arc, *ordered, edge))
    if noted.missing:
        raise Broken(reasons.no_arc(graph, *ordered, length - noted.missing))


def _require_tree_labels(graph: Graph, ordered: _Edges, labels: Array, noted: _Noted) -> None:
    require_row_labels(graph, labels, noted.labels_outside, noted.labels_astray, noted.labels_greater)
    if noted.labels_differ:
        raise Broken(reasons.labels_differ(graph, ordered.src, ordered.dst, labels, len(ordered.src) - noted.labels_differ))
    trees = graph.num_vertices - len(ordered.src)
    if noted.classes != trees:
        raise Broken(reasons.too_few_labels(noted.classes, trees))


def _greatest_between(tree: _Hierarchy, one: int, other: int) -> int | None:
    """The greatest edge between two rows, as hierarchy.cuh has it; None where they lie in two trees."""
    greatest = 0
    while one != other:
        greatest = max(greatest, int(at(tree.time, one)), int(at(tree.time, other)))
        if greatest == np.iinfo(tree.time.dtype).max:
            return None
        one, other = int(at(tree.parent, one)), int(at(tree.parent, other))
    return greatest


def _arcs(graph: Graph) -> tuple[Any, ...]:
    return graph.out.offsets, graph.out.indices, pointer(graph.out.weights), np.bool_(graph.symmetric), graph.ranks


def _launch(graph: Graph, name: str, work: int, arguments: tuple[Any, ...]) -> None:
    weight = np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype
    launch("forest/forest.cu", name, work, arguments, ROW=graph.rows_by_id.dtype, WEIGHT=weight)
