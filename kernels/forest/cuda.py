"""Minimum spanning forest on the GPU: four launches in a row (forest.cu), and one read-back for the number of edges.

What the kernels need beyond the graph is planned once a graph and kept with it: the numbers of the edges, the chunks of large
rows, the weight that parts light edges from heavy ones, and how many edges have to be listed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cupy
import numpy as np

from kernels.answers import Forest
from kernels.cuda import cooperative, load
from kernels.graph import OFFSET, Array, Csr, Graph

_THREADS = 512  # as in forest.cu
_CHUNKED_ROW = 32  # arcs, as in first_round.cuh
_CHUNK = 1024
_DENSE = 6  # edges a row that has any, from which heavy edges are listed apart
_LIGHT = 3  # light edges a row then
_LISTED = 0.5  # edges a light edge that are listed, at first guess; where it is too low, the search runs again, once a graph
_SAMPLE = 1 << 14  # weights that tell which edges are light
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
        Edges that can be listed at a time.
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
        ends = cupy.empty(0, graph.rows_by_id.dtype)
        weights = cupy.empty(0, np.int64 if graph.out.weights is None else graph.out.weights.dtype)
        return Forest(ends, ends.copy(), weights, cupy.arange(graph.num_vertices, dtype=ends.dtype))
    plan: Plan = vars(graph).get("_forest_plan") or plan_of(graph)
    while True:
        forest, listed = _search(graph, plan)
        vars(graph)["_forest_plan"] = plan
        if listed <= plan.capacity:
            return forest
        plan = replace(plan, capacity=listed)


def plan_of(graph: Graph, dense: int = _DENSE) -> Plan:
    """Plan the search; graphs of `dense` edges a row and more list their heavy edges apart."""
    row, edges = graph.rows_by_id.dtype, graph.out if graph.symmetric else _both_ways(graph)
    tails, by_rank = cupy.empty(graph.num_vertices, row), cupy.empty(graph.num_vertices, OFFSET)
    kernel = _module(edges, row, np.dtype(np.int64)).get_function("find_tails")
    rows = np.int64(graph.num_vertices)
    kernel((1024,), (256,), (edges.offsets, edges.indices, graph.ranks, rows, tails, by_rank))
    first_edge = cupy.zeros(graph.num_vertices + 1, OFFSET)
    first_edge[1:] = cupy.cumsum(by_rank)
    num_edges = int(first_edge[-1])
    if not _is_wide(edges, row, num_edges):
        first_edge = first_edge.astype(np.uint32).view(np.int32)
    degrees = cupy.diff(edges.offsets)
    with_arcs = int(cupy.count_nonzero(degrees))
    light = _light(edges, num_edges, with_arcs, dense)
    capacity = int(_LISTED * num_edges) if light is None else min(num_edges, _LIGHT * with_arcs)
    return Plan(edges, tails, first_edge, *_chunks(edges, degrees, row), num_edges, light, capacity + 1)


def _search(graph: Graph, plan: Plan) -> tuple[Forest, int]:
    """Search with room for `plan.capacity` listed edges; also return how many there were."""
    row, num_rows, edges = graph.rows_by_id.dtype, graph.num_vertices, plan.edges
    labels, scratch = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    # The minima are no longer needed when the ends are written.
    minima = cupy.empty(max(8, 2 * row.itemsize) * num_rows // 8, np.uint64)
    second_minima = cupy.empty(num_rows if plan.wide else 0, np.uint64)
    items = cupy.empty(plan.capacity * (2 * row.itemsize + (16 if plan.wide else 8)) // 8, np.uint64)
    marks = cupy.empty(-(-plan.num_edges // 32), np.uint32)
    most_blocks = -(-num_rows // _THREADS)
    counts = cupy.empty(len(marks) // 32 + most_blocks * (_THREADS // 32 + 2) + 1, np.uint32)
    weights = cupy.ones(num_rows, np.int64) if edges.weights is None else cupy.empty(num_rows, edges.weights.dtype)
    control = cupy.zeros(6, np.int64)
    light = (0, 0) if plan.light is None else plan.light
    arguments = (
        edges.offsets, edges.indices, np.intp(0) if edges.weights is None else edges.weights, graph.ranks, graph.rows_by_id,
        plan.tails, plan.first_edge, plan.chunk_rows, plan.chunk_firsts, np.int64(num_rows), np.int64(plan.num_edges),
        np.int64(len(plan.chunk_rows)), np.int64(light[0]), np.int64(light[1]), np.bool_(plan.light is None),
        np.int64(plan.capacity), labels, scratch, minima, second_minima, items, marks, counts, minima,
        np.uintp(minima.data.ptr + num_rows * row.itemsize), weights, control,
    )  # fmt: skip
    types = {"ROW": row, "WEIGHT": _weight(edges), "EDGE": plan.first_edge.dtype}
    for name in ("begin", "list_light", "join", "answer"):
        kernel, blocks = cooperative("forest/forest.cu", name, _THREADS, cupy.cuda.Device().id, **types)
        kernel((min(blocks, most_blocks),), (_THREADS,), arguments)
    ends = minima.view(row)
    src, dst = ends[:num_rows], ends[num_rows : 2 * num_rows]
    _, _, light_listed, heavy_listed, _, total = control.get().tolist()
    return Forest(src[:total], dst[:total], weights[:total], labels), max(light_listed, heavy_listed)


def _module(edges: Csr, row: np.dtype[Any], edge: np.dtype[Any]) -> Any:
    return load("forest/forest.cu", ROW=row, WEIGHT=_weight(edges), EDGE=edge)


def _weight(edges: Csr) -> np.dtype[Any]:
    return np.dtype(np.int32) if edges.weights is None else edges.weights.dtype


def _is_wide(edges: Csr, row: np.dtype[Any], num_edges: int) -> bool:
    """Whether a weight or an edge's number takes more than 32 bits."""
    if row == np.int64 or num_edges > _NARROW_KEYS:
        return True
    if edges.weights is None or edges.weights.dtype.itemsize == 4:
        return False
    return bool(edges.weights.dtype.kind == "f" or int(edges.weights.max()) > _NARROW_KEYS)


def _chunks(edges: Csr, degrees: Array, row: np.dtype[Any]) -> tuple[Array, Array]:
    large = cupy.flatnonzero(degrees >= _CHUNKED_ROW)
    ends = cupy.cumsum(-(-degrees[large] // _CHUNK))
    chunks = cupy.arange(int(ends[-1]) if len(large) else 0, dtype=OFFSET)
    owner = cupy.searchsorted(ends, chunks, side="right")
    place = chunks - cupy.concatenate([cupy.zeros(1, OFFSET), ends])[owner]
    return large[owner].astype(row), edges.offsets[large[owner]] + _CHUNK * place


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
    """Both arcs of the lightest arc between any two rows."""
    degrees = cupy.diff(graph.out.offsets)
    near = cupy.searchsorted(cupy.cumsum(degrees), cupy.arange(graph.num_arcs, dtype=OFFSET), side="right")
    near, far = graph.ranks[near], graph.ranks[graph.out.indices]
    low, high, weights = cupy.minimum(near, far), cupy.maximum(near, far), graph.out.weights
    keys = (high, low) if weights is None else (weights, high, low)
    order = _order(*keys)
    low, high = low[order], high[order]
    first = cupy.ones(len(low), np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high = low[first], high[first]
    rows = graph.rows_by_id[cupy.concatenate([low, high])]
    far = cupy.concatenate([high, low])
    sorting = _order(far, rows)
    if weights is not None:
        weights = weights[order][first]
        weights = cupy.concatenate([weights, weights])[sorting]
    offsets = cupy.searchsorted(rows[sorting], cupy.arange(graph.num_vertices + 1, dtype=rows.dtype)).astype(OFFSET)
    return Csr(offsets, graph.rows_by_id[far[sorting]], weights)


def _order(*keys: Array) -> Array:
    """The permutation that sorts by the last key, ties by the one before it, and so on; CuPy's sort is stable."""
    order = cupy.argsort(keys[0])
    for key in keys[1:]:
        order = order[cupy.argsort(key[order])]
    return order
