"""Breadth-first search on the GPU: one cooperative launch a search, in one of two ways that the graph's own numbers choose.

Graphs of few arcs a row and no large row (roads, grids) have many levels, and a level costs the chain of its dependent steps:
`top_down.cu` makes it short. Others have few levels and many arcs: `direction_optimising.cu` reads few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.cuda import load
from kernels.graph import Array, Graph, distance_dtype

_FEW_ARCS = 8  # mean out-degree of a row that has arcs; up to here a graph is searched top-down ...
_SMALL_ROW = 1024  # ... unless a row has more arcs: a warp takes a row
_CHAINED_ARCS = 10  # as in top_down.cu: a row of up to 4 arcs is one Quad, of up to 7 two, of up to 10 three
_TEAM = 16  # blocks of a cluster, from compute capability 9.0 on
_TEAMS = 4
_CONTROL_WORDS = 14
_TEAM_THREADS = 512  # as in top_down.cu
_THREADS = 512  # as in direction_optimising.cu
_LANE_ARCS = 16  # as there: a row that waits for a warp has more,
_WARP_ARCS = 512  # and one that waits for a block has this many more
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


@dataclass(frozen=True)
class Plan:
    """What a search needs of a graph beyond its arrays; made once a graph and kept with it.

    Attributes
    ----------
    slots : index width [Q, 4], or None
        Rows in slots (top_down.cu); None where the search is direction-optimising.
    ranks : index width [V], or None
        Inverse of the graph's `rows_by_id`; None where `slots` are there.
    closed : uint32 [W], or None
        Bitmap of the rows without in-arcs; None where `slots` are there.
    """

    slots: Array | None
    ranks: Array | None
    closed: Array | None


def plan_of(graph: Graph) -> Plan:
    """Return the graph's plan, made on the first call."""
    plan: Plan | None = vars(graph).get("_bfs_plan")
    if plan is None:
        plan = _slotted(graph) if _has_many_levels(graph) else _two_ways(graph)
        vars(graph)["_bfs_plan"] = plan
    return plan


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.bfs.bfs` on CuPy arrays."""
    plan = plan_of(graph)
    return _search_both_ways(graph, source, plan) if plan.slots is None else _search_top_down(graph, source, plan)


def _has_many_levels(graph: Graph) -> bool:
    degrees = cupy.diff(graph.out.offsets)
    with_arcs = int(cupy.count_nonzero(degrees))
    return graph.num_arcs <= _FEW_ARCS * with_arcs and (not with_arcs or int(degrees.max()) <= _SMALL_ROW)


def _slotted(graph: Graph) -> Plan:
    row = graph.rows_by_id.dtype
    degrees = cupy.diff(graph.out.offsets)
    chained = degrees[(degrees > 4) & (degrees <= _CHAINED_ARCS)]
    slots = cupy.empty((graph.num_vertices + int(((chained - 2) // 3).sum()), 4), row)
    used = cupy.zeros(1, np.uint64)
    _launch(_module("top_down", row), "slot_rows", graph.num_vertices, graph.out.offsets, graph.out.indices,
            np.int64(graph.num_vertices), slots, used)  # fmt: skip
    return Plan(slots, None, None)


def _two_ways(graph: Graph) -> Plan:
    row = graph.rows_by_id.dtype
    ranks = cupy.empty_like(graph.rows_by_id)
    ranks[graph.rows_by_id] = cupy.arange(graph.num_vertices, dtype=row)
    words = _words(graph.num_vertices)
    closed = cupy.empty(words, np.uint32)
    _launch(_module("direction_optimising", row), "find_closed", words * 32, graph.into.offsets, np.int64(graph.num_vertices),
            np.int64(words), closed)  # fmt: skip
    return Plan(None, ranks, closed)


def _search_top_down(graph: Graph, source: int, plan: Plan) -> Paths:
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    module = _module("top_down", row)
    visited, queue, control = cupy.empty(_words(num_rows), np.uint32), cupy.empty(num_rows, row), _control()
    distance, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    size = np.int64(num_rows)
    _launch(module, "prepare", num_rows, size, np.int64(source), visited, distance, queue, control)
    kernel, blocks = _cooperative(module, "search_levels")
    kernel((blocks,), (_TEAM_THREADS,), (plan.slots, graph.out.offsets, graph.out.indices, visited, distance, queue, control))
    _launch(module, "find_predecessors", num_rows, graph.into.offsets, graph.into.indices, distance, size, predecessor)
    return Paths(source, distance, predecessor)


def _search_both_ways(graph: Graph, source: int, plan: Plan) -> Paths:
    num_rows, row = graph.num_vertices, graph.rows_by_id.dtype
    module = _module("direction_optimising", row)
    words = _words(num_rows)
    visited, frontier, found = (cupy.empty(words, np.uint32) for _ in range(3))
    queue, control = cupy.empty(num_rows, row), _control()
    distance, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    for_warps, for_blocks = (cupy.empty(graph.num_arcs // arcs + 1, row) for arcs in (_LANE_ARCS, _LANE_ARCS + _WARP_ARCS))
    size = np.int64(num_rows)
    _launch(module, "prepare", num_rows, size, np.int64(words), np.int64(source), plan.closed, visited, distance, predecessor,
            queue, control)  # fmt: skip
    kernel, blocks = _cooperative(module, "search_both_ways")
    kernel((blocks,), (_THREADS,), (
        graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices, plan.ranks, graph.rows_by_id, size,
        np.int64(graph.num_arcs), np.int64(source), visited, frontier, found, distance, predecessor, queue, for_warps, for_blocks, control,
    ))  # fmt: skip
    return Paths(source, distance, predecessor)


def _module(name: str, row: np.dtype[Any]) -> Any:
    return load(f"bfs/{name}.cu", ROW=row)


def _control() -> Array:
    return cupy.empty(_CONTROL_WORDS, np.uint64)


def _words(num_rows: int) -> int:
    """Words of a bitmap."""
    return -(-num_rows // 32)


def _launch(module: Any, name: str, size: int, *arguments: Any) -> None:
    """Run a kernel whose threads stride over `size` elements, on as many threads as the GPU holds at a time."""
    kernel = module.get_function(name)
    threads = 256
    blocks = _resident_blocks(kernel, threads)
    kernel((max(1, min(blocks, -(-size // threads))),), (threads,), arguments)


_RESIDENT: dict[tuple[int, int, int], int] = {}


def _resident_blocks(kernel: Any, threads: int) -> int:
    """Blocks of `kernel` that the GPU holds at a time."""
    device = cupy.cuda.Device()
    key = (device.id, kernel.kernel.ptr, threads)
    if key not in _RESIDENT:
        a_processor = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, threads, 0)
        _RESIDENT[key] = a_processor * device.attributes["MultiProcessorCount"]
    return _RESIDENT[key]


def _cooperative(module: Any, name: str) -> tuple[Any, int]:
    """A search's kernel, and the blocks of its launch."""
    kernel = module.get_function(name)
    if name == "search_both_ways":
        return kernel, _resident_blocks(kernel, _THREADS)
    if int(cupy.cuda.Device().compute_capability) < 90:
        return kernel, _resident_blocks(kernel, _TEAM_THREADS)
    cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, _NON_PORTABLE_CLUSTER, 1)
    return kernel, _TEAM * _TEAMS
