"""Minimum spanning forest on the GPU: four launches (forest.cu), and one read-back for the number of edges.

A `ForestPlan` has what the kernels need beyond the graph: numbers of the edges, chunks of large rows, the weight that separates
light edges from heavy ones, and how many edges have to be listed. It is computed once for each graph.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.components.arc_chunks import arc_chunks
from kernels.forest.constants import CHUNK, CHUNKED_ROW, THREADS
from kernels.gpu.loader import launch, pointer
from kernels.gpu.sorting import sorted_by
from kernels.graph import OFFSET, Array, Csr, Graph

_DENSE = 6  # edges per row with arcs from which on heavy edges are listed after the light ones were joined
_LIGHT = 3  # light edges per row with arcs, in such a graph
_SAMPLE = 1 << 14  # weights in the sample by which light edges are chosen
_BLOCKS, _BLOCK_ARCS = 32, 1 << 20  # blocks of rows of a directed graph, and arcs in a block, at least
_BLOCK_ROWS = 1 << 22  # rows that CuPy's functions read at a time, which limits their temporary memory
_NARROW_KEYS = 2**32 - 2  # most edges, and largest integer weight, with keys of 64 bits


@dataclass(frozen=True)
class ForestPlan:
    """Arrays and numbers that the kernels need of a graph."""

    edges: Csr  # both arcs of every edge; the graph's own arrays where it is symmetric
    tails: Array  # index width [V]: number of each row's arcs to smaller external ids
    # int32 or int64 [V + 1]: by position, the number of a row's first edge to a larger external id; unsigned. int64 if keys take
    # more than 64 bits.
    first_edge: Array
    # index width [C], int64 [C]: chunks of the arcs of large rows, as of `arc_chunks`.
    chunk_rows: Array
    chunk_firsts: Array
    num_edges: int
    light: tuple[int, int] | None  # bits of the weight and number of the heaviest light edge. None if all edges are light.
    capacity: int  # edges that can be listed at a time. A first search, of capacity 0, only counts them.

    @property
    def wide(self) -> bool:
        """Whether keys take more than 64 bits."""
        return bool(self.first_edge.dtype == np.int64)


def span(graph: Graph) -> Forest:
    """Answer `kernels.forest.minimum_spanning_forest` on CuPy arrays."""
    if not graph.num_arcs:
        return no_edges(graph)
    plan = graph.derived.get(plan_of, lambda: plan_of(graph))
    while True:
        forest, listed = _search(graph, plan)
        if forest is not None:
            return forest
        plan = replace(plan, capacity=listed)
        graph.derived.put(plan_of, plan)


def no_edges(graph: Graph) -> Forest:
    """Return the forest of a graph without arcs."""
    ends = cupy.empty(0, graph.rows_by_id.dtype)
    weights = cupy.empty(0, np.int64 if graph.out.weights is None else graph.out.weights.dtype)
    return Forest(ends, ends.copy(), weights, cupy.arange(graph.num_vertices, dtype=ends.dtype))


def plan_of(graph: Graph, dense: int = _DENSE) -> ForestPlan:
    """Plan the search; graphs of `dense` edges per row and more list their heavy edges after the light ones were joined."""
    row, edges = graph.rows_by_id.dtype, graph.out if graph.symmetric else _both_ways(graph)
    num_rows = graph.num_vertices
    tails, first_edge = cupy.empty(num_rows, row), cupy.zeros(num_rows + 1, OFFSET)
    types: dict[str, Any] = {"ROW": row, "WEIGHT": _weight(edges), "EDGE": np.dtype(np.int64)}
    arguments = (edges.offsets, edges.indices, graph.positions, np.int64(num_rows), tails, first_edge[1:])
    launch("forest/forest.cu", "find_tails", THREADS, num_rows, *arguments, **types)
    for begin, end in _blocks_of_rows(num_rows):  # sums in place: the first entry is the sum before
        first_edge[begin : end + 1] = cupy.cumsum(first_edge[begin : end + 1])
    num_edges = int(first_edge[-1])
    if not _is_wide(edges, row, num_edges):
        first_edge = first_edge.astype(np.uint32).view(np.int32)
    with_arcs, large = _with_arcs(edges.offsets)
    light = _light(edges, num_edges, with_arcs, dense)
    return ForestPlan(edges, tails, first_edge, *arc_chunks(edges.offsets, large.astype(row), CHUNK), num_edges, light, 0)


def _blocks_of_rows(num_rows: int) -> list[tuple[int, int]]:
    return [(begin, min(begin + _BLOCK_ROWS, num_rows)) for begin in range(0, num_rows, _BLOCK_ROWS)]


def _with_arcs(offsets: Array) -> tuple[int, Array]:
    """How many rows have arcs, and the rows whose arcs are read in chunks."""
    with_arcs, large = 0, []
    for begin, end in _blocks_of_rows(len(offsets) - 1):
        degrees = cupy.diff(offsets[begin : end + 1])
        with_arcs += int(cupy.count_nonzero(degrees))
        large.append(begin + cupy.flatnonzero(degrees >= CHUNKED_ROW))
    return with_arcs, cupy.concatenate(large)


def _search(graph: Graph, plan: ForestPlan) -> tuple[Forest | None, int]:
    """Search, listing at most `plan.capacity` edges; return the forest, or None if there are more, and the number of edges."""
    row, num_rows, edges = graph.rows_by_id.dtype, graph.num_vertices, plan.edges
    labels = cupy.empty(num_rows, row)
    # Ends are written over the minima, and items are listed over the first round's scratch memory.
    minima = cupy.empty(max(8, 2 * row.itemsize) * num_rows // 8, np.uint64)
    second_minima = cupy.empty(num_rows if plan.wide else 0, np.uint64)
    item_bytes = 2 * row.itemsize + (16 if plan.wide else 8)
    items = cupy.empty(max(plan.capacity * item_bytes, num_rows * row.itemsize), np.uint8)
    marks = cupy.empty(-(-plan.num_edges // 32), np.uint32)
    most_blocks = -(-num_rows // THREADS)
    counts = cupy.empty(len(marks) // 32 + most_blocks * (THREADS // 32 + 2) + 1, np.uint32)
    control = cupy.zeros(6, np.int64)
    light = (0, 0) if plan.light is None else plan.light
    given = (
        edges.offsets, edges.indices, pointer(edges.weights), graph.positions, graph.rows_by_id,
        plan.tails, plan.first_edge, plan.chunk_rows, plan.chunk_firsts, np.int64(num_rows), np.int64(plan.num_edges),
        np.int64(len(plan.chunk_rows)), np.int64(light[0]), np.int64(light[1]), np.bool_(plan.light is None),
        np.int64(plan.capacity), labels,
    )  # fmt: skip
    ends = (minima, np.uintp(minima.data.ptr + num_rows * row.itemsize))
    for name in ("begin", "list_light", "join"):
        _run(name, graph, plan, *given, items, minima, second_minima, items, marks, counts, *ends, pointer(None), control)
    del items
    names = graph.positions.copy()
    weights = None if edges.weights is None else cupy.empty(num_rows, edges.weights.dtype)
    out = pointer(weights)
    _run("answer", graph, plan, *given, names, minima, second_minima, pointer(None), marks, counts, *ends, out, control)
    del names
    src, dst = minima.view(row)[:num_rows], minima.view(row)[num_rows : 2 * num_rows]
    _, _, light_listed, heavy_listed, _, total = control.get().tolist()
    listed = max(light_listed, heavy_listed)
    if listed > plan.capacity:
        return None, listed
    weights = cupy.ones(total, np.int64) if weights is None else weights[:total]
    return Forest(src[:total], dst[:total], weights, labels), listed


def _run(name: str, graph: Graph, plan: ForestPlan, *arguments: Any) -> None:
    types: dict[str, Any] = {"ROW": graph.rows_by_id.dtype, "WEIGHT": _weight(plan.edges), "EDGE": plan.first_edge.dtype}
    launch("forest/forest.cu", name, THREADS, graph.num_vertices, *arguments, **types)


def _weight(edges: Csr) -> np.dtype[Any]:
    return np.dtype(np.int32) if edges.weights is None else edges.weights.dtype


def _is_wide(edges: Csr, row: np.dtype[Any], num_edges: int) -> bool:
    """Whether a weight or the number of an edge takes more than 32 bits."""
    if row == np.int64 or num_edges > _NARROW_KEYS:
        return True
    if edges.weights is None or edges.weights.dtype.itemsize == 4:
        return False
    return bool(edges.weights.dtype.kind == "f" or int(edges.weights.max()) > _NARROW_KEYS)


def _light(edges: Csr, num_edges: int, with_arcs: int, dense: int) -> tuple[int, int] | None:
    """Separate about `_LIGHT` edges per row with arcs from the rest; None if all are light."""
    if num_edges < dense * with_arcs:
        return None
    target = min(1.0, _LIGHT * with_arcs / num_edges)
    if edges.weights is None:
        return 1, int(target * num_edges)
    sample = np.sort(cupy.asnumpy(edges.weights[:: max(1, len(edges.weights) // _SAMPLE)]))
    weight = sample[min(len(sample) - 1, int(target * len(sample)))]
    below, up_to = (np.searchsorted(sample, weight, side) / len(sample) for side in ("left", "right"))
    bits = weight + weight.dtype.type(0)  # -0 becomes 0
    unsigned = bits.view(f"u{bits.dtype.itemsize}")
    return int(unsigned.view(f"i{bits.dtype.itemsize}")), int((target - below) / (up_to - below) * num_edges)


def _both_ways(graph: Graph) -> Csr:
    """Both arcs of the lightest edge between any two rows, from the out-arcs and in-arcs of a block of rows at a time."""
    weights = graph.out.weights
    indices = cupy.empty(2 * graph.num_arcs, graph.rows_by_id.dtype)
    lightest = None if weights is None else cupy.empty(len(indices), weights.dtype)
    offsets, size = cupy.zeros(graph.num_vertices + 1, OFFSET), 0
    for begin, end in _blocks(graph):
        tails, heads, of_block = _lightest_of_block(graph, begin, end)
        indices[size : size + len(heads)] = heads
        if lightest is not None:
            lightest[size : size + len(heads)] = of_block
        ends = cupy.searchsorted(tails, cupy.arange(end - begin, dtype=tails.dtype), side="right")
        offsets[1 + begin : 1 + end] = size + ends
        size += len(heads)
    return Csr(offsets, indices[:size], None if lightest is None else lightest[:size])


def _blocks(graph: Graph) -> list[tuple[int, int]]:
    """About `_BLOCKS` ranges of rows with equally many arcs, fewer if these would be less than `_BLOCK_ARCS`."""
    ends = graph.out.offsets[1:] + graph.into.offsets[1:]
    arcs = max(_BLOCK_ARCS, 2 * graph.num_arcs // _BLOCKS)
    cuts = cupy.searchsorted(ends, cupy.arange(arcs, 2 * graph.num_arcs, arcs, dtype=OFFSET), side="right")
    bounds = sorted({0, *cuts.tolist(), graph.num_vertices})
    return list(pairwise(bounds))


def _lightest_of_block(graph: Graph, begin: int, end: int) -> tuple[Array, Array, Array | None]:
    """The neighbours of rows `begin:end`: rows counted from `begin`, neighbours, and least weights of the arcs between them."""
    tails, heads, weights = [], [], []
    for csr in (graph.out, graph.into):
        offsets = csr.offsets[begin : end + 1]
        arcs = slice(int(offsets[0]), int(offsets[-1]))
        places = cupy.arange(arcs.start, arcs.stop, dtype=OFFSET)
        tails.append(cupy.searchsorted(offsets[1:], places, side="right").astype(csr.indices.dtype))
        heads.append(graph.positions[csr.indices[arcs]])
        weights.append(None if csr.weights is None else csr.weights[arcs])
    tail, head = cupy.concatenate(tails), cupy.concatenate(heads)
    weight = None if graph.out.weights is None else cupy.concatenate(weights)
    order = sorted_by(head, tail) if weight is None else sorted_by(weight, head, tail)
    tail, head = tail[order], head[order]
    first = cupy.ones(len(tail), np.bool_)
    first[1:] = (tail[1:] != tail[:-1]) | (head[1:] != head[:-1])
    return tail[first], graph.rows_by_id[head[first]], None if weight is None else weight[order][first]
