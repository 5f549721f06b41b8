"""Shortest paths on the GPU: one launch finds the lengths, in one of two ways that the graph's own numbers choose.

Graphs of few arcs a row and no large row (roads, grids) have paths of many arcs, one step after the other: `long_paths.cu` makes
a step short. Others have short paths and many arcs: `short_paths.cu` reads few of them. Then `predecessors.cu` turns the
lengths into the answer. `literal.cu` has the source documents' own methods. Integer weights are summed in 32 bits first, and in
64 where a sum does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.cuda import has_long_paths
from kernels.cuda import load
from kernels.graph import Array, Csr, Graph, distance_dtype

_TEAM = 16  # blocks of a cluster, from compute capability 9.0 on
_LIST_BYTES, _LIST_BYTES_ALONE = 4 * 49152, 4 * 24576  # of a block in a cluster, and without one, as in lists.cuh
_LEAST_WINDOW, _MOST_WINDOW = 4.0, 32.0  # mean weights
_FEW, _MANY = 2048, 8192  # rows at hand: below, the window widens, above, it narrows
_CORE, _LIGHT_WIDTH, _WIDTH = 3.0, 0.5, 60.0  # in the length below which a row has two arcs, if weights are spread evenly
_START_SHARE = 4096  # a queue of this share of all rows ends the start
_ROWS_ARCS, _PIECE, _PIECE_BYTES = 32, 512, 16  # as in queues.cuh
_MEDIUM_ROW, _LARGE_ROW = 32, 8192  # as in predecessors.cu
_WAITS = -2  # as in predecessors.cu
_CONTROL_BYTES = 256
DIJKSTRA_ROWS = 1 << 20  # where the literal method takes seconds
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


@dataclass
class Plan:
    """What a search needs of a graph beyond its arrays; made once a graph and kept with it.

    Attributes
    ----------
    sums : dtype
        Type that sums of weights fit in, as far as is known: int32, int64 or float64.
    mean : float
        Mean weight.
    mean_degree : float
        Arcs of a row that has any.
    medium, large : index width
        Rows of 32 in-arcs or more, and of 8192 or more.
    pieces : int
        Pieces that all large rows make (queues.cuh), out-arcs or in-arcs, whichever are more.
    quads : int, or None
        How many Quads hold the rows (long_paths.cu); None where paths are short.
    """

    sums: np.dtype[Any]
    mean: float
    mean_degree: float
    medium: Array
    large: Array
    pieces: int
    quads: int | None


def plan_of(graph: Graph) -> Plan:
    """Return the graph's plan, made on the first call."""
    plan: Plan | None = vars(graph).get("_sssp_plan")
    if plan is None:
        plan = make_plan(graph, has_long_paths(graph))
        vars(graph)["_sssp_plan"] = plan
    return plan


def search(graph: Graph, source: int, method: str | None = None) -> Paths:
    """Answer `kernels.sssp.sssp` on CuPy arrays."""
    plan = plan_of(graph)
    shorten = _METHODS[method]
    while True:
        lengths = shorten(graph, source, plan)
        paths = complete(graph, source, plan, lengths)
        if paths is not None:
            return paths
        if plan.sums != np.int32:
            raise OverflowError(f"a distance exceeds the largest {distance_dtype(graph.out.weights)}")
        plan.sums = np.dtype(np.int64)


def _weights(csr: Csr) -> Array:
    """The weights of a graph that has some: others are `bfs`'s."""
    return csr.weights


def make_plan(graph: Graph, long_paths: bool) -> Plan:
    """Make the plan for one of the two ways."""
    weights = _weights(graph.out)
    integer, some = weights.dtype.kind == "i", len(weights) > 0
    fits = integer and (not some or int(weights.max()) <= np.iinfo(np.int32).max)
    row = graph.rows_by_id.dtype
    in_degrees = cupy.diff(graph.into.offsets)
    medium = cupy.flatnonzero((in_degrees >= _MEDIUM_ROW) & (in_degrees < _LARGE_ROW)).astype(row)
    large = cupy.flatnonzero(in_degrees >= _LARGE_ROW).astype(row)
    mean = float(weights.mean(dtype=np.float64)) if some else 1.0
    mean_degree = max(1, graph.num_arcs) / max(1, int(cupy.count_nonzero(cupy.diff(graph.out.offsets))))
    sums = np.dtype(np.int32 if fits else np.int64 if integer else np.float64)
    pieces = max(_pieces(graph.out.offsets), _pieces(graph.into.offsets))
    return Plan(sums, mean, mean_degree, medium, large, pieces, _quads(graph) if long_paths else None)


def _quads(graph: Graph) -> int:
    degrees = cupy.diff(graph.out.offsets)
    chained = degrees[degrees > 4]
    return graph.num_vertices + int(((chained - 2) // 3).sum())


def _quad_bytes(row: np.dtype[Any], weight: np.dtype[Any], sums: np.dtype[Any]) -> int:
    weight_bytes = 4 if sums == np.int32 else weight.itemsize
    return -(-4 * (row.itemsize + weight_bytes) // 16) * 16


def _pieces(offsets: Array) -> int:
    degrees = cupy.diff(offsets)
    return int((-(-degrees[degrees >= _ROWS_ARCS] // _PIECE)).sum())


def _length_type(plan: Plan) -> Any:
    return np.uint32 if plan.sums == np.int32 else np.uint64


def _as_length(plan: Plan, length: float) -> Any:
    """A length as the kernels encode it."""
    if plan.sums == np.float64:
        return np.float64(length).view(np.uint64)
    return _length_type(plan)(min(max(1, int(length)), np.iinfo(plan.sums).max))


def _shorten(graph: Graph, source: int, plan: Plan) -> Array:
    return (shorten_in_team if plan.quads is not None else shorten_in_grid)(graph, source, plan)


def shorten_in_team(graph: Graph, source: int, plan: Plan) -> Array:
    """Lengths from `source`, by `long_paths.cu`, with Quads that are made anew: for a hundredth of a search, none outlives it."""
    num_rows, row, out = graph.num_vertices, graph.rows_by_id.dtype, graph.out
    weight = _weights(out).dtype
    module = load("sssp/long_paths.cu", ROW=row, WEIGHT=weight, SUM=plan.sums)
    quads = cupy.empty((plan.quads, _quad_bytes(row, weight, plan.sums)), np.uint8)
    lengths, pile = cupy.empty(num_rows, _length_type(plan)), cupy.empty(num_rows, row)
    piled, control = cupy.empty(-(-num_rows // 32), np.uint32), cupy.zeros(_CONTROL_BYTES, np.uint8)
    _launch(module, "prepare", num_rows, out.offsets, out.indices, out.weights, np.int64(num_rows), np.int64(source), quads,
            lengths, piled, control)  # fmt: skip
    kernel = module.get_function("shorten")
    blocks, list_bytes = 1, _LIST_BYTES_ALONE
    if int(cupy.cuda.Device().compute_capability) >= 90:
        cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, _NON_PORTABLE_CLUSTER, 1)
        blocks, list_bytes = _TEAM, _LIST_BYTES
    cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, _DYNAMIC_SHARED, list_bytes)
    windows = (_as_length(plan, factor * plan.mean) for factor in (_LEAST_WINDOW, _MOST_WINDOW))
    kernel((blocks,), (512,), (
        quads, lengths, pile, piled, np.int64(source), *windows, np.int64(_FEW), np.int64(_MANY), control,
    ), shared_mem=list_bytes)  # fmt: skip
    return lengths


def shorten_in_grid(graph: Graph, source: int, plan: Plan) -> Array:
    """Lengths from `source`, by `short_paths.cu`."""
    num_rows, row, out, into = graph.num_vertices, graph.rows_by_id.dtype, graph.out, graph.into
    module = load("sssp/short_paths.cu", ROW=row, WEIGHT=_weights(out).dtype, SUM=plan.sums)
    lengths, rows = cupy.empty(num_rows, _length_type(plan)), cupy.empty(2 * num_rows, row)
    pieces = cupy.empty(2 * plan.pieces * _PIECE_BYTES, np.uint8)
    queued, control = cupy.empty(-(-num_rows // 32) * 2, np.uint32), cupy.empty(_CONTROL_BYTES, np.uint8)
    _launch(module, "prepare", num_rows, np.int64(num_rows), np.int64(source), lengths, queued, control)
    kernel, threads = module.get_function("shorten"), 512
    enough = 1 + (plan.pieces + num_rows // 16) // _START_SHARE
    widths = (_as_length(plan, factor * 2 * plan.mean / plan.mean_degree) for factor in (_CORE, _LIGHT_WIDTH, _WIDTH))
    kernel((_resident_blocks(kernel, threads),), (threads,), (
        out.offsets, out.indices, out.weights, into.offsets, into.indices, into.weights, np.int64(num_rows), np.int64(source),
        lengths, rows, pieces, np.int64(plan.pieces), queued, *widths, np.int64(enough), control,
    ))  # fmt: skip
    return lengths


def _dijkstra(graph: Graph, source: int, plan: Plan) -> Array:
    num_rows = graph.num_vertices
    if num_rows > DIJKSTRA_ROWS:
        raise ValueError(
            f'method "dijkstra" passes over all rows for each row that it settles, and takes at most {DIJKSTRA_ROWS} rows:'
            f" this graph has {num_rows}"
        )
    kernel, blocks = _literal(graph, plan, "dijkstra")
    lengths, settled = cupy.empty(num_rows, _length_type(plan)), cupy.empty(num_rows, np.uint8)
    least = cupy.empty(blocks, _length_type(plan)), cupy.empty(blocks, np.int64)
    kernel((blocks,), (512,), (
        graph.out.offsets, graph.out.indices, graph.out.weights, np.int64(num_rows), np.int64(source), lengths, settled, *least,
        cupy.zeros(_CONTROL_BYTES, np.uint8),
    ))  # fmt: skip
    return lengths


def _bellman_ford(graph: Graph, source: int, plan: Plan) -> Array:
    kernel, blocks = _literal(graph, plan, "bellman_ford")
    lengths = cupy.empty(graph.num_vertices, _length_type(plan))
    kernel((blocks,), (512,), (
        graph.out.offsets, graph.out.indices, graph.out.weights, np.int64(graph.num_vertices), np.int64(source), lengths,
        cupy.zeros(_CONTROL_BYTES, np.uint8),
    ))  # fmt: skip
    return lengths


def _literal(graph: Graph, plan: Plan, name: str) -> tuple[Any, int]:
    module = load("sssp/literal.cu", ROW=graph.rows_by_id.dtype, WEIGHT=_weights(graph.out).dtype, SUM=plan.sums)
    kernel = module.get_function(name)
    return kernel, min(_resident_blocks(kernel, 512), max(1, -(-graph.num_vertices // 512)))


_METHODS = {None: _shorten, "dijkstra": _dijkstra, "bellman-ford": _bellman_ford}


def complete(graph: Graph, source: int, plan: Plan, lengths: Array) -> Paths | None:
    """Return the answer of final `lengths`; None where a sum did not fit."""
    into, num_rows, row = graph.into, graph.num_vertices, graph.rows_by_id.dtype
    module = load("sssp/predecessors.cu", ROW=row, WEIGHT=_weights(into).dtype, SUM=plan.sums)
    distance, predecessor = cupy.empty(num_rows, distance_dtype(into.weights)), cupy.empty(num_rows, row)
    found = cupy.zeros(8, np.uint64)
    arcs = (into.offsets, into.indices, into.weights, lengths)
    answer = (np.int64(source), distance, predecessor, found)
    if len(plan.large):
        _launch(module, "find_in_blocks", len(plan.large) * 512, *arcs, plan.large, np.int64(len(plan.large)), *answer)
    if len(plan.medium):
        _launch(module, "find_in_warps", len(plan.medium) * 32, *arcs, plan.medium, np.int64(len(plan.medium)), *answer)
    _launch(module, "find_in_lanes", num_rows, *arcs, np.int64(num_rows), *answer)
    waits, beyond = cupy.asnumpy(found[:1]).view(np.uint32)
    if beyond:
        return None
    if waits:
        waiting = cupy.flatnonzero(predecessor == _WAITS).astype(row)
        steps = cupy.zeros(num_rows, row)
        steps[waiting] = -1
        _launch(module, "complete_zero_steps", len(waiting), *arcs, waiting, np.int64(len(waiting)), predecessor, steps, found)
    return Paths(source, distance, predecessor)


def _launch(module: Any, name: str, size: int, *arguments: Any) -> None:
    """Run a kernel whose threads stride over `size` elements, on as many threads as the GPU holds at a time."""
    kernel = module.get_function(name)
    threads = 512
    kernel((max(1, min(_resident_blocks(kernel, threads), -(-size // threads))),), (threads,), arguments)


_RESIDENT: dict[tuple[int, int, int], int] = {}


def _resident_blocks(kernel: Any, threads: int) -> int:
    """Blocks of `kernel` that the GPU holds at a time."""
    device = cupy.cuda.Device()
    key = (device.id, kernel.kernel.ptr, threads)
    if key not in _RESIDENT:
        a_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, threads, 0)
        _RESIDENT[key] = a_processor * device.attributes["MultiProcessorCount"]
    return _RESIDENT[key]
