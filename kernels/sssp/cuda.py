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
from kernels.gpu import loader as cuda
from kernels.gpu.loader import cooperative
from kernels.graph import Array, Csr, Graph, distance_dtype
from kernels.paths.lengths import as_length, length_type
from kernels.paths.team import Team, quads_of

_THREADS = 512
CORE, LIGHT_WIDTH, WIDTH = 3.0, 0.5, 60.0  # in the length below which a row has two arcs, if weights are spread evenly
START_SHARE = 4096  # a queue of this share of all rows ends the start
_ROWS_ARCS, _PIECE, PIECE_BYTES = 32, 512, 16  # as in queues.cuh
_MEDIUM_ROW, _LARGE_ROW = 32, 8192  # as in predecessors.cu
WAITS = -2  # as in predecessors.cu
_CONTROL_BYTES = 256
DIJKSTRA_ROWS = 1 << 20  # where the literal method takes seconds


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
    mean = float(weights.mean(dtype=np.float64)) if some else 1.0
    mean_degree = max(1, graph.num_arcs) / max(1, int(cupy.count_nonzero(cupy.diff(graph.out.offsets))))
    sums = np.dtype(np.int32 if fits else np.int64 if integer else np.float64)
    pieces = max(pieces_of(graph.out.offsets), pieces_of(graph.into.offsets))
    return Plan(sums, mean, mean_degree, *rows_by_degree(graph.into), pieces, quads_of(graph.out) if long_paths else None)


def pieces_of(offsets: Array) -> int:
    """How many pieces the large rows make (queues.cuh)."""
    degrees = cupy.diff(offsets)
    return int((-(-degrees[degrees >= _ROWS_ARCS] // _PIECE)).sum())


def _types(graph: Graph, plan: Plan) -> dict[str, np.dtype[Any]]:
    return {"ROW": graph.rows_by_id.dtype, "WEIGHT": _weights(graph.out).dtype, "SUM": plan.sums}


def _shorten(graph: Graph, source: int, plan: Plan) -> Array:
    return (shorten_in_team if plan.quads is not None else shorten_in_grid)(graph, source, plan)


def shorten_in_team(graph: Graph, source: int, plan: Plan) -> Array:
    """Lengths from `source`, by `long_paths.cu`, with Quads that are made anew: for a hundredth of a search, none outlives it."""
    assert plan.quads is not None
    team = Team(graph.out, plan.sums, plan.mean, plan.quads, source)
    team.shorten()
    return team.lengths


def shorten_in_grid(graph: Graph, source: int, plan: Plan) -> Array:
    """Lengths from `source`, by `short_paths.cu`."""
    num_rows, row, out, into = graph.num_vertices, graph.rows_by_id.dtype, graph.out, graph.into
    lengths, rows = cupy.empty(num_rows, length_type(plan.sums)), cupy.empty(2 * num_rows, row)
    pieces = cupy.empty(2 * plan.pieces * PIECE_BYTES, np.uint8)
    queued, control = cupy.empty(-(-num_rows // 32) * 2, np.uint32), cupy.empty(_CONTROL_BYTES, np.uint8)
    types, size = _types(graph, plan), np.int64(num_rows)
    cuda.launch("sssp/short_paths.cu", "prepare", _THREADS, num_rows, size, np.int64(source), lengths, queued, control, **types)
    kernel, blocks = cooperative("sssp/short_paths.cu", "shorten", _THREADS, cupy.cuda.Device().id, **types)
    enough = 1 + (plan.pieces + num_rows // 16) // START_SHARE
    widths = (as_length(plan.sums, factor * 2 * plan.mean / plan.mean_degree) for factor in (CORE, LIGHT_WIDTH, WIDTH))
    kernel((blocks,), (_THREADS,), (
        out.offsets, out.indices, out.weights, into.offsets, into.indices, into.weights, size, np.int64(source),
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
    lengths, settled = cupy.empty(num_rows, length_type(plan.sums)), cupy.empty(num_rows, np.uint8)
    least = cupy.empty(blocks, length_type(plan.sums)), cupy.empty(blocks, np.int64)
    kernel((blocks,), (_THREADS,), (
        graph.out.offsets, graph.out.indices, graph.out.weights, np.int64(num_rows), np.int64(source), lengths, settled, *least,
        cupy.zeros(_CONTROL_BYTES, np.uint8),
    ))  # fmt: skip
    return lengths


def _bellman_ford(graph: Graph, source: int, plan: Plan) -> Array:
    kernel, blocks = _literal(graph, plan, "bellman_ford")
    lengths = cupy.empty(graph.num_vertices, length_type(plan.sums))
    kernel((blocks,), (_THREADS,), (
        graph.out.offsets, graph.out.indices, graph.out.weights, np.int64(graph.num_vertices), np.int64(source), lengths,
        cupy.zeros(_CONTROL_BYTES, np.uint8),
    ))  # fmt: skip
    return lengths


def _literal(graph: Graph, plan: Plan, name: str) -> tuple[Any, int]:
    kernel, blocks = cooperative("sssp/literal.cu", name, _THREADS, cupy.cuda.Device().id, **_types(graph, plan))
    return kernel, min(blocks, max(1, -(-graph.num_vertices // _THREADS)))


_METHODS = {None: _shorten, "dijkstra": _dijkstra, "bellman-ford": _bellman_ford}


def complete(graph: Graph, source: int, plan: Plan, lengths: Array) -> Paths | None:
    """Return the answer of final `lengths`; None where a sum did not fit."""
    into, num_rows, row = graph.into, graph.num_vertices, graph.rows_by_id.dtype
    distance, predecessor = cupy.empty(num_rows, distance_dtype(into.weights)), cupy.empty(num_rows, row)
    found = nearest_tight(into, source, plan.medium, plan.large, plan.sums, lengths, distance, predecessor)
    waits, beyond = cupy.asnumpy(found[:1]).view(np.uint32)
    if beyond:
        return None
    if waits:
        waiting = cupy.flatnonzero(predecessor == WAITS).astype(row)
        steps, arcs = cupy.zeros(num_rows, row), (into.offsets, into.indices, into.weights)
        steps[waiting] = -1
        cuda.launch("paths/predecessors.cu", "complete_zero_steps", _THREADS, len(waiting), *arcs, lengths, waiting,
                    np.int64(len(waiting)), predecessor, steps, found, **_types(graph, plan))  # fmt: skip
    return Paths(source, distance, predecessor)


def nearest_tight(
    into: Csr, source: int, medium: Array, large: Array, sums: np.dtype[Any], lengths: Array, distance: Array, predecessor: Array
) -> Array:
    """Write the distances of the rows, and the predecessors of the first kind; WAITS where a row has none.

    Parameters
    ----------
    into : Csr
        In-arcs of the R rows; `lengths` may go on behind theirs, with what other rows their indices name.
    medium, large : index width
        See `rows_by_degree`.
    distance, predecessor : [R]
        Written.

    Returns
    -------
    uint64 [8]
        The first one's low half is not 0 if a row waits, the high half if a sum did not fit (predecessors.cu).
    """
    found = cupy.zeros(8, np.uint64)
    arcs = (into.offsets, into.indices, into.weights, lengths)
    answer = (np.int64(source), distance, predecessor, found)
    types = {"ROW": predecessor.dtype, "WEIGHT": _weights(into).dtype, "SUM": sums}
    source_file = "paths/predecessors.cu"
    for name, rows, threads in (("find_in_blocks", large, _THREADS), ("find_in_warps", medium, 32)):
        if len(rows):
            cuda.launch(source_file, name, _THREADS, len(rows) * threads, *arcs, rows, np.int64(len(rows)), *answer, **types)
    size = len(predecessor)
    cuda.launch(source_file, "find_in_lanes", _THREADS, size, *arcs, np.int64(size), *answer, **types)
    return found


def rows_by_degree(into: Csr) -> tuple[Array, Array]:
    """The rows of many in-arcs, and those of very many, that `nearest_tight` takes by warps and by blocks."""
    degrees = cupy.diff(into.offsets)
    medium, large = (degrees >= _MEDIUM_ROW) & (degrees < _LARGE_ROW), degrees >= _LARGE_ROW
    row = into.indices.dtype
    return cupy.flatnonzero(medium).astype(row), cupy.flatnonzero(large).astype(row)
