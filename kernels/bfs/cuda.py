"""Breadth-first search on the GPU: one cooperative launch a search, in one of two ways that the graph's own numbers choose.

Graphs of few arcs a row and no large row (roads, grids) have many levels, and a level costs the chain of its dependent steps:
`top_down.cu` makes it short. Others have few levels and many arcs: `direction_optimising.cu` reads few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.gpu import loader as cuda
from kernels.gpu.loader import cooperative
from kernels.graph import Array, Graph, distance_dtype

_FEW_ARCS = 8  # mean out-degree of a row that has arcs; up to here paths are taken to be long ...
_SMALL_ROW = 1024  # ... unless a row has more arcs: a warp, or in shortest paths a lane, walks a row
_CHAINED_ARCS = 10  # as in top_down.cu: a row of up to 4 arcs is one Quad, of up to 7 two, of up to 10 three
_TEAM = 16  # blocks of a cluster, from compute capability 9.0 on
_TEAMS = 4  # for the levels that are too large for one; more make the grid's barrier slower
_TEAM_BYTES = 1 << 16  # of a bitmap in a block: 8.4 million rows; the wide frontiers of larger graphs are faster through L2
_STRIDING_THREADS = 256
_CONTROL_WORDS = 14
_TEAM_THREADS = 512  # as in top_down.cu
_THREADS = 512  # as in direction_optimising.cu
_LANE_ARCS = 32  # as there: a row that waits for a warp has more,
_WARP_ARCS = 512  # and one that waits for a block has this many more
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED


@dataclass(frozen=True)
class Plan:
    """What a search needs of a graph beyond its arrays; made once a graph and kept with it.

    Attributes
    ----------
    quads : int, or None
        How many Quads hold the rows (slots.cuh); None where the search is direction-optimising.
    closed : uint32 [W], or None
        Bitmap of the rows without in-arcs; None where `quads` is there.
    """

    quads: int | None
    closed: Array | None


def plan_of(graph: Graph) -> Plan:
    """Return the graph's plan, made on the first call."""
    plan: Plan | None = vars(graph).get("_bfs_plan")
    if plan is None:
        plan = _top_down(graph) if has_long_paths(graph) else _two_ways(graph)
        vars(graph)["_bfs_plan"] = plan
    return plan


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.bfs.bfs` on CuPy arrays."""
    plan = plan_of(graph)
    return _search_both_ways(graph, source, plan) if plan.quads is None else _search_top_down(graph, source, plan.quads)


def paths_of(graph: Graph, source: int, levels: Array) -> Paths:
    """Return the answer that the final levels (index width [V], -1 where not reached) imply."""
    row, num_rows, into = graph.rows_by_id.dtype, graph.num_vertices, graph.into
    distance, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    size = np.int64(num_rows)
    launch("top_down", "find_predecessors", row, num_rows, into.offsets, into.indices, levels, size, distance, predecessor)
    return Paths(source, distance, predecessor)


def has_long_paths(graph: Graph) -> bool:
    """Whether the graph has few arcs a row and no large row, so that paths have many arcs."""
    return are_long(*degrees_of(graph.out.offsets))


def degrees_of(offsets: Array) -> tuple[int, int, int]:
    """The number of arcs, that of rows with arcs, and the largest row's arcs."""
    degrees = cupy.diff(offsets)
    return int(degrees.sum()), int(cupy.count_nonzero(degrees)), int(degrees.max()) if len(degrees) else 0


def are_long(arcs: int, with_arcs: int, most: int) -> bool:
    """Whether paths have many arcs in a graph of such rows."""
    return arcs <= _FEW_ARCS * with_arcs and most <= _SMALL_ROW


def _top_down(graph: Graph) -> Plan:
    degrees = cupy.diff(graph.out.offsets)
    chained = degrees[(degrees > 4) & (degrees <= _CHAINED_ARCS)]
    return Plan(graph.num_vertices + int(((chained - 2) // 3).sum()), None)


def _two_ways(graph: Graph) -> Plan:
    row, words = graph.rows_by_id.dtype, _words(graph.num_vertices)
    closed = cupy.empty(words, np.uint32)
    size = np.int64(graph.num_vertices)
    launch("direction_optimising", "find_closed", row, words * 32, graph.into.offsets, size, np.int64(words), closed)
    return Plan(None, closed)


def _search_top_down(graph: Graph, source: int, quads: int) -> Paths:
    """Search with slots that are made anew: for less than a hundredth of a search, none of them lies beside the answer."""
    num_rows, row, arcs = graph.num_vertices, graph.rows_by_id.dtype, (graph.out.offsets, graph.out.indices)
    words = _words(num_rows)
    slots, visited = cupy.empty((quads, 4), row), cupy.empty(words, np.uint32)
    levels, queue = cupy.empty(num_rows, row), cupy.empty(num_rows, row)
    control = cupy.zeros(_CONTROL_WORDS, np.uint64)
    size = np.int64(num_rows)
    launch("top_down", "prepare", row, num_rows, *arcs, size, np.int64(source), slots, visited, levels, queue, control)
    kernel, blocks = _team_kernel(row, cupy.cuda.Device().id)
    team_words = _team_words(words)
    kernel((blocks,), (_TEAM_THREADS,), (
        slots, *arcs, visited, levels, queue, control, np.int64(words), np.uint32(team_words),
    ), shared_mem=4 * team_words)  # fmt: skip
    del slots, visited, queue
    return paths_of(graph, source, levels)


def _search_both_ways(graph: Graph, source: int, plan: Plan) -> Paths:
    num_rows, row, out, into = graph.num_vertices, graph.rows_by_id.dtype, graph.out, graph.into
    words = _words(num_rows)
    visited, queue, control = cupy.empty(words, np.uint32), cupy.empty(num_rows, row), cupy.empty(_CONTROL_WORDS, np.uint64)
    distance, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    size = np.int64(num_rows)
    launch("direction_optimising", "prepare", row, num_rows, size, np.int64(words), np.int64(source), plan.closed, visited,
            distance, predecessor, queue, control)  # fmt: skip
    frontier, found = cupy.empty(words, np.uint32), cupy.empty(words, np.uint32)
    for_warps, for_blocks = (cupy.empty(graph.num_arcs // arcs + 1, row) for arcs in (_LANE_ARCS, _LANE_ARCS + _WARP_ARCS))
    device = cupy.cuda.Device().id
    kernel, blocks = cooperative("bfs/direction_optimising.cu", "search_both_ways", _THREADS, device, ROW=row)
    kernel((blocks,), (_THREADS,), (
        out.offsets, out.indices, into.offsets, into.indices, graph.positions, graph.rows_by_id, size, np.int64(graph.num_arcs),
        np.int64(source), visited, frontier, found, distance, predecessor, queue, for_warps, for_blocks, control,
    ))  # fmt: skip
    return Paths(source, distance, predecessor)


def _words(num_rows: int) -> int:
    """Words of a bitmap."""
    return -(-num_rows // 32)


def _team_words(words: int) -> int:
    """Words of a bitmap of `words` in each block of a team, 0 where it stays in device memory."""
    team_words = -(-words // (32 * _TEAM)) * 32
    return team_words if 4 * team_words <= _TEAM_BYTES and _has_teams(cupy.cuda.Device().id) else 0


def launch(source: str, name: str, row: np.dtype[Any], size: int, *arguments: Any) -> None:
    """Run a kernel whose threads stride over `size` elements, on as many threads as the GPU holds at a time."""
    cuda.launch(f"bfs/{source}.cu", name, _STRIDING_THREADS, size, *arguments, ROW=row)


@cache
def _team_kernel(row: np.dtype[Any], device: int) -> tuple[Any, int]:
    """The kernel of a whole search top-down, and the blocks of its launch."""
    if not _has_teams(device):
        return cooperative("bfs/top_down.cu", "search_levels", _TEAM_THREADS, device, ROW=row)
    kernel, _ = cooperative("bfs/top_down.cu", "search_levels", _TEAM_THREADS, device, _TEAM_BYTES, ROW=row)
    cupy.cuda.driver.funcSetAttribute(kernel.kernel.ptr, _NON_PORTABLE_CLUSTER, 1)
    return kernel, _TEAM * _TEAMS


@cache
def _has_teams(device: int) -> bool:
    """Whether the GPU has clusters of blocks."""
    return int(cupy.cuda.Device(device).compute_capability) >= 90
