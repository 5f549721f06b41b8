"""The certificate of a forest on CuPy arrays: five launches (forest.cu) without a read-back between them."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.certificate.launches import launch, require_device_form, require_held, work_of
from kernels.forest.certificate import cpu
from kernels.forest.certificate.hierarchy import Level
from kernels.gpu.loader import pointer, to_host
from kernels.gpu.transfer import on_host
from kernels.graph import Array, Csr, Graph

_ITEM = 3  # nodes in an Item of hierarchy.cuh
_FLAGS, _CLASSES, _WORDS = slice(1, 5), 4, 5  # of Control in forest.cu: 32-bit words, a 64-bit word, and the number of these


class _TimedEdges(NamedTuple):
    """Ends and weights of edges, and how they are ordered by (weight, ends): the edge of each time, and the time of each edge."""

    src: Array
    dst: Array
    weights: Array
    order: Array
    times: Array


def check(graph: Graph, forest: Forest) -> None:
    """As `cpu.check`."""
    require_held(_holds, cpu.check, graph, forest)


def _holds(graph: Graph, forest: Forest) -> bool:
    control = cupy.zeros(_WORDS, np.uint64)
    edges = _ordered(graph, forest, control)
    labels = require_device_form("labels", forest.labels, graph.num_vertices, graph.rows_by_id.dtype)
    are_arcs = _check_arcs(graph, edges, control)
    sizes = np.int64(len(edges.src)), np.int64(graph.num_vertices)
    rest = (edges.src, edges.dst, edges.times, sizes[0], are_arcs, labels, graph.positions, sizes[1], control)
    _launch(graph, "check_rest", graph.num_vertices, rest)
    words = to_host(control)
    return not words.view(np.uint32)[_FLAGS].any() and words[_CLASSES] == graph.num_vertices - len(edges.src)


def _ordered(graph: Graph, forest: Forest, control: Array) -> _TimedEdges:
    """Check the edges and order them. More than V edges close a cycle; the first V of them also do, and only these are kept."""
    length = len(forest.src) if isinstance(forest.src, cupy.ndarray) and forest.src.ndim else 0
    row = graph.rows_by_id.dtype
    src, dst = (require_device_form(name, getattr(forest, name), length, row) for name in ("src", "dst"))
    stated = src, dst, require_device_form("weights", forest.weights, length, _weight(graph))
    keys = cupy.empty(length, f"u{_weight(graph).itemsize}")
    sizes = np.int64(length), np.int64(graph.num_vertices)
    _launch(graph, "check_edges", length, (*stated, sizes[0], graph.positions, sizes[1], keys, control))
    order = cupy.argsort(keys)  # stable
    if length > graph.num_vertices:
        kept = cupy.sort(order[: graph.num_vertices])
        stated = src[kept], dst[kept], stated[2][kept]
        order = cupy.argsort(keys[kept])
    times = cupy.empty(len(order), _node(graph))
    times[order] = cupy.arange(len(order), dtype=times.dtype)
    return _TimedEdges(*stated, order, times)


def _check_arcs(graph: Graph, edges: _TimedEdges, control: Array) -> Array:
    """Join the edges, and look up for every arc the edge that joined its endpoints; return which edges, by time, are arcs."""
    num_rows, num_edges, count = np.int64(graph.num_vertices), np.int64(len(edges.src)), graph.num_vertices
    parent, time, hook = (cupy.empty(2 * count, _node(graph)) for _ in range(3))
    items = cupy.empty(_ITEM * len(edges.src), _node(graph))
    joined = (edges.src, edges.dst, edges.times, num_edges, num_rows, parent, time, hook, items, control)
    _launch(graph, "join_forest", count, joined)
    del hook, items
    tops, tree = cupy.empty(count, np.uint16), (num_edges, parent, time)
    _launch(graph, "climb", count, (edges.weights, edges.order, num_rows, *tree, tops, control))
    are_arcs: Array = cupy.zeros(len(edges.src), np.uint8)
    out = graph.out
    arcs = (out.offsets, out.indices, pointer(out.weights), np.bool_(graph.symmetric), graph.positions, num_rows)
    _launch(graph, "check_arcs", graph.num_arcs, (*arcs, *edges[:4], *tree, tops, are_arcs, control))
    return are_arcs


def _weight(graph: Graph) -> np.dtype[Any]:
    return np.dtype(np.int64) if graph.out.weights is None else graph.out.weights.dtype


def _node(graph: Graph) -> str:
    return f"u{graph.rows_by_id.dtype.itemsize}"


def _launch(graph: Graph, name: str, work: int, arguments: tuple[Any, ...]) -> None:
    types = {"ROW": graph.rows_by_id.dtype, "WEIGHT": _weight(graph)}
    launch("forest/certificate/forest.cu", name, work, arguments, **types)


def first_contradiction(
    out: Csr, symmetric: bool, positions: Array, level: Level, greatest: Array, waits: Array
) -> tuple[int, int]:  # fmt: skip
    """As `cpu.first_contradiction`."""
    contradicted, apart = cupy.zeros(1, np.uint32), cupy.zeros_like(waits)
    arcs = (out.offsets, out.indices, pointer(out.weights), np.int64(len(out.offsets) - 1))
    paths = (level.before, level.after, level.top.low, level.top.high, greatest)
    types = {"ROW": positions.dtype, "WEIGHT": greatest.dtype}
    arguments = (*arcs, positions, np.bool_(symmetric), *paths, waits, apart, contradicted)
    launch("forest/certificate/sharded.cu", "find_contradiction", work_of(out), arguments, **types)
    if contradicted[0]:
        on_hosts = to_host(greatest), to_host(waits)
        return cpu.first_contradiction(on_host(out), symmetric, to_host(positions), on_host(level), *on_hosts)
    waits[...] = apart
    return -1, -1
