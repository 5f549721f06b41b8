"""Minimum spanning forest on the GPU: four launches in a row (forest.cu), and one read-back for the number of edges.

What the kernels need beyond the graph is planned once a graph and kept with it: the numbers of the edges, the chunks of large
rows, the weight that parts light edges from heavy ones, and how many edges have to be listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.gpu.loader import launch, pointer
from kernels.gpu.sorting import sorted_by
from kernels.graph import OFFSET, Array, Csr, Graph

_THREADS = 512  # as in forest.cu
_CHUNKED_ROW = 32  # arcs, as in first_round.cuh
_CHUNK = 1024
_DENSE = 6  # edges a row that has any, from which heavy edges are listed apart
_LIGHT = 3  # light edges a row then
_SAMPLE = 1 << 14  # weights that tell which edges are light
_SLABS, _SLAB_ARCS = 32, 1 << 20  # of a directed graph, which is read as undirected
_SLAB_ROWS = 1 << 22
_NARROW_KEYS = 2**32 - 2  # edges, and the largest integer weight, of keys of 64 bits


@dataclass(frozen=True)
class Plan:
    """What a search needs of a graph.

    Attributes
    ----------
    edges : Csr
        Both arcs of every edge; the graph's own arrays where it is symmetric.
    tails : index width [V]
        Number of each row's arcs to smaller external ids.
    first_edge : int32 or int64 [V + 1]
        By rank, the number of a row's first edge to a larger external id; unsigned. int64 where keys take more than 64 bits.
    chunk_rows : index width [C]; chunk_firsts : int64 [C]
        Rows of 32 arcs and more, once for every 1024 arcs, and the first of those.
    num_edges : int
    light : tuple of int, or None
        Bits of a weight and number of an edge: the heaviest of the light edges. None where all are light.
    capacity : int
        Edges that can be listed at a time: as many as there are, which a first search without room has counted.
    """

    edges: Csr
    tails: Array
    first_edge: Array
    chunk_rows: Array
    chunk_firsts: Array
    num_edges: int
    light: tuple[int, int] | None
    capacity: int

    @property
    def wide(self) -> bool:
        """Whether keys take more than 64 bits."""
        return bool(self.first_edge.dtype == np.int64)


def span(graph: Graph) -> Forest:
    """Answer `kernels.forest.minimum_spanning_forest` on CuPy arrays."""
    if not graph.num_arcs:
        return no_edges(graph)
    plan: Plan = vars(graph).get("_forest_plan") or plan_of(graph)
    while True:
        forest, listed = _search(graph, plan)
        vars(graph)["_forest_plan"] = plan
        if forest is not None:
            return forest
        plan = replace(plan, capacity=listed)


def no_edges(graph: Graph) -> Forest:
    """Return the forest of a graph without arcs."""
    ends = cupy.empty(0, graph.rows_by_id.dtype)
    weights = cupy.empty(0, np.int64 if graph.out.weights is None else graph.out.weights.dtype)
    return Forest(ends, ends.copy(), weights, cupy.arange(graph.num_vertices, dtype=ends.dtype))


def plan_of(graph: Graph, dense: int = _DENSE) -> Plan:
    """Plan the search; graphs of `dense` edges a row and more list their heavy edges apart."""
    row, edges = graph.rows_by_id.dtype, graph.out if graph.symmetric else _both_ways(graph)
    num_rows = graph.num_vertices
    tails, first_edge = cupy.empty(num_rows, row), cupy.zeros(num_rows + 1, OFFSET)
    types = {"ROW": row, "WEIGHT": _weight(edges), "EDGE": np.dtype(np.int64)}
    arguments = (edges.offsets, edges.indices, graph.positions, np.int64(num_rows), tails, first_edge[1:])
    launch("forest/forest.cu", "find_tails", _THREADS, num_rows, *arguments, **types)
    for begin, end in _slabs_of_rows(num_rows):  # sums in place: the first entry is the sum before
        first_edge[begin : end + 1] = cupy.cumsum(first_edge[begin : end + 1])
    num_edges = int(first_edge[-1])
    if not _is_wide(edges, row, num_edges):
        first_edge = first_edge.astype(np.uint32).view(np.int32)
    with_arcs, large = _with_arcs(edges.offsets)
    light = _light(edges, num_edges, with_arcs, dense)
    return Plan(edges, tails, first_edge, *chunks(edges.offsets, large.astype(row)), num_edges, light, 0)


def _slabs_of_rows(num_rows: int) -> list[tuple[int, int]]:
    """Ranges of rows that CuPy's functions are given at a time, so that what they take beside the answer is small."""
    return [(begin, min(begin + _SLAB_ROWS, num_rows)) for begin in range(0, num_rows, _SLAB_ROWS)]


def _with_arcs(offsets: Array) -> tuple[int, Array]:
    """How many rows have arcs, and the rows of 32 arcs and more."""
    with_arcs, large = 0, []
    for begin, end in _slabs_of_rows(len(offsets) - 1):
        degrees = cupy.diff(offsets[begin : end + 1])
        with_arcs += int(cupy.count_nonzero(degrees))
        large.append(begin + cupy.flatnonzero(degrees >= _CHUNKED_ROW))
    return with_arcs, cupy.concatenate(large)


def _search(graph: Graph, plan: Plan) -> tuple[Forest | None, int]:
    """Search with room for `plan.capacity` listed edges; return None where it is too small, and how many were listed."""
    row, num_rows, edges = graph.rows_by_id.dtype, graph.num_vertices, plan.edges
    labels = cupy.empty(num_rows, row)
    # The minima are no longer needed when the ends are written, nor the first round's scratch when items are listed.
    minima = cupy.empty(max(8, 2 * row.itemsize) * num_rows // 8, np.uint64)
    second_minima = cupy.empty(num_rows if plan.wide else 0, np.uint64)
    item_bytes = 2 * row.itemsize + (16 if plan.wide else 8)
    items = cupy.empty(max(plan.capacity * item_bytes, num_rows * row.itemsize), np.uint8)
    marks = cupy.empty(-(-plan.num_edges // 32), np.uint32)
    most_blocks = -(-num_rows // _THREADS)
    counts = cupy.empty(len(marks) // 32 + most_blocks * (_THREADS // 32 + 2) + 1, np.uint32)
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


def _run(name: str, graph: Graph, plan: Plan, *arguments: Any) -> None:
    types = {"ROW": graph.rows_by_id.dtype, "WEIGHT": _weight(plan.edges), "EDGE": plan.first_edge.dtype}
    launch("forest/forest.cu", name, _THREADS, graph.num_vertices, *arguments, **types)


def _weight(edges: Csr) -> np.dtype[Any]:
    return np.dtype(np.int32) if edges.weights is None else edges.weights.dtype


def _is_wide(edges: Csr, row: np.dtype[Any], num_edges: int) -> bool:
    """Whether a weight or an edge's number takes more than 32 bits."""
    if row == np.int64 or num_edges > _NARROW_KEYS:
        return True
    if edges.weights is None or edges.weights.dtype.itemsize == 4:
        return False
    return bool(edges.weights.dtype.kind == "f" or int(edges.weights.max()) > _NARROW_KEYS)


def chunks(offsets: Array, large: Array) -> tuple[Array, Array]:
    """The rows `large`, once for every 1024 arcs, and the first of those (int64)."""
    firsts = offsets[large]
    ends = cupy.cumsum(-(-(offsets[large + 1] - firsts) // _CHUNK))
    chunks = cupy.arange(int(ends[-1]) if len(large) else 0, dtype=OFFSET)
    owner = cupy.searchsorted(ends, chunks, side="right")
    place = chunks - cupy.concatenate([cupy.zeros(1, OFFSET), ends])[owner]
    return large[owner], firsts[owner] + _CHUNK * place


def _light(edges: Csr, num_edges: int, with_arcs: int, dense: int) -> tuple[int, int] | None:
    """Part about `_LIGHT` edges a row from the rest."""
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
    """Both arcs of the lightest arc between any two rows: slab by slab, the out-arcs and the in-arcs of some rows at a time."""
    weights = graph.out.weights
    indices = cupy.empty(2 * graph.num_arcs, graph.rows_by_id.dtype)
    lightest = None if weights is None else cupy.empty(len(indices), weights.dtype)
    offsets, size = cupy.zeros(graph.num_vertices + 1, OFFSET), 0
    for begin, end in _slabs(graph):
        near, far, of_slab = _slab(graph, begin, end)
        indices[size : size + len(far)] = far
        if lightest is not None:
            lightest[size : size + len(far)] = of_slab
        ends = cupy.searchsorted(near, cupy.arange(end - begin, dtype=near.dtype), side="right")
        offsets[1 + begin : 1 + end] = size + ends
        size += len(far)
    return Csr(offsets, indices[:size], None if lightest is None else lightest[:size])


def _slabs(graph: Graph) -> list[tuple[int, int]]:
    """Ranges of rows of about `_SLABS`th parts of all arcs, or `_SLAB_ARCS` where that is more."""
    ends = graph.out.offsets[1:] + graph.into.offsets[1:]
    arcs = max(_SLAB_ARCS, 2 * graph.num_arcs // _SLABS)
    cuts = cupy.searchsorted(ends, cupy.arange(arcs, 2 * graph.num_arcs, arcs, dtype=OFFSET), side="right")
    bounds = sorted({0, *cuts.tolist(), graph.num_vertices})
    return list(pairwise(bounds))


def _slab(graph: Graph, begin: int, end: int) -> tuple[Array, Array, Array | None]:
    """Rows, counted from `begin`, ends and least weights of the arcs out of or into the rows of a slab, each end once a row."""
    nears, fars, weights = [], [], []
    for csr in (graph.out, graph.into):
        offsets = csr.offsets[begin : end + 1]
        arcs = slice(int(offsets[0]), int(offsets[-1]))
        places = cupy.arange(arcs.start, arcs.stop, dtype=OFFSET)
        nears.append(cupy.searchsorted(offsets[1:], places, side="right").astype(csr.indices.dtype))
        fars.append(graph.positions[csr.indices[arcs]])
        weights.append(None if csr.weights is None else csr.weights[arcs])
    near, far = cupy.concatenate(nears), cupy.concatenate(fars)
    weight = None if graph.out.weights is None else cupy.concatenate(weights)
    order = sorted_by(far, near) if weight is None else sorted_by(weight, far, near)
    near, far = near[order], far[order]
    first = cupy.ones(len(near), np.bool_)
    first[1:] = (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    return near[first], graph.rows_by_id[far[first]], None if weight is None else weight[order][first]
