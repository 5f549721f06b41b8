"""Breadth-first search on the GPU: one cooperative launch per search; the graph's degrees select one of two methods.

Graphs with few arcs per row and no large row (roads, grids) have many levels, and a level costs the chain of its dependent steps:
`top_down.cu` makes this chain short. Other graphs have few levels and many arcs: `direction_optimising.cu` reads few of them.
Degrees do not show how many levels there are, so both follow the frontiers that they find: the first passes large ones to more
blocks, the second searches bottom-up only while that reads less than the frontier's arcs would cost. Both give up deep graphs.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.bfs.constants import CHAINED_ARCS, CONTROL_WORDS, LANE_ARCS, STRIDING_THREADS, THREADS, WARP_ARCS
from kernels.gpu.deep import NO_LIMIT, most_rounds, require_shallow, unless_deep
from kernels.gpu.loader import cooperative, launch
from kernels.gpu.teams import TeamKernel, team_kernel
from kernels.graph import Array, Csr, Graph, distance_dtype
from kernels.paths.degrees import has_long_paths
from kernels.paths.predecessors_cuda import of_levels

_TEAMS = 8  # clusters for the levels that are too large for one, at most
_TEAM_BYTES = 1 << 16  # of a bitmap in each block, for 8.4 million rows; wide frontiers of larger graphs are faster through L2
_DEEP = 1  # 32-bit word of both kinds of Control
_TOP_DOWN, _TWO_WAYS = "bfs/top_down.cu", "bfs/direction_optimising.cu"


@dataclass(frozen=True)
class SearchPlan:
    """What the searches derive from a graph."""

    quads: int | None  # number of Quads that hold the rows (slots.cuh); None if the search is direction-optimising
    closed: Array | None  # uint32 [W], or None: bitmap of the rows without in-arcs; None if the search is top-down


def plan_of(graph: Graph) -> SearchPlan:
    """Return the graph's plan; the first call makes it."""
    return graph.derived.get(plan_of, lambda: plan_top_down(graph) if has_long_paths(graph) else plan_both_ways(graph))


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.bfs.bfs` on CuPy arrays."""
    return unless_deep(_search, "kernels.bfs.cpu:search", graph, source)


def _search(graph: Graph, source: int) -> Paths:
    """The same; raises Deep."""
    plan = plan_of(graph)
    if plan.quads is None:
        paths, control = _search_both_ways(graph, source, plan)
    else:
        levels, control = levels_top_down(graph.out, source, plan.quads, most_rounds(graph.out))
        paths = Paths(source, *of_levels(graph.into, levels, graph.num_vertices))
    if graph.num_vertices > most_rounds(graph.out):  # only then; and the GPU need not wait, because the answer has been begun
        require_shallow(control.view(np.uint32)[_DEEP])
    return paths


def plan_top_down(graph: Graph) -> SearchPlan:
    """Plan a search by top_down.cu."""
    return SearchPlan(quads_of(graph.out), None)


def quads_of(out: Csr) -> int:
    """Number of Quads that hold the rows."""
    degrees = cupy.diff(out.offsets)
    chained = degrees[(degrees > 4) & (degrees <= CHAINED_ARCS)]
    return len(degrees) + int(((chained - 2) // 3).sum())


def plan_both_ways(graph: Graph) -> SearchPlan:
    """Plan a search by direction_optimising.cu."""
    return SearchPlan(None, closed_rows(graph.into, graph.num_vertices))


def closed_rows(into: Csr, num_rows: int) -> Array:
    """Bitmap of the first `num_rows` rows that have no in-arcs, and of the bits behind the last row: uint32."""
    words = _words(num_rows)
    closed: Array = cupy.empty(words, np.uint32)
    arguments = into.offsets, np.int64(num_rows), np.int64(words), closed
    launch(_TWO_WAYS, "find_closed", STRIDING_THREADS, words * 32, *arguments, ROW=into.indices.dtype)
    return closed


def levels_top_down(out: Csr, source: int, quads: int, most_thin: int = NO_LIMIT) -> tuple[Array, Array]:
    """The level of each row (index width), -1 if it is not reached, by top_down.cu; a row's arcs may be in any order.

    Also returns the control words, which state whether the search was given up because it had more than `most_thin` thin levels.
    The search makes its slots anew: that takes less than a hundredth of it, and frees them before the answer.
    """
    num_rows, row, arcs = len(out.offsets) - 1, out.indices.dtype, (out.offsets, out.indices)
    words = _words(num_rows)
    slots, visited = cupy.empty((quads, 4), row), cupy.empty(words, np.uint32)
    levels: Array = cupy.empty(num_rows, row)
    queue = cupy.empty(num_rows, row)
    control = cupy.zeros(CONTROL_WORDS, np.uint64)
    arguments = np.int64(num_rows), np.int64(source), slots, visited, levels, queue, control
    team = _team_kernel(row, cupy.cuda.Device().id)
    launch(_TOP_DOWN, "prepare", STRIDING_THREADS, num_rows, *arcs, *arguments, ROW=row, TEAM_BLOCKS=team.blocks)
    team_words = _team_words(words, team.blocks)
    team.kernel((team.blocks * team.teams,), (THREADS,), (
        slots, *arcs, visited, levels, queue, control, np.int64(words), np.uint32(team_words), np.int64(most_thin),
    ), shared_mem=4 * team_words)  # fmt: skip
    return levels, control


def _search_both_ways(graph: Graph, source: int, plan: SearchPlan) -> tuple[Paths, Array]:
    num_rows, row, out, into = graph.num_vertices, graph.rows_by_id.dtype, graph.out, graph.into
    words = _words(num_rows)
    visited, queue, control = cupy.empty(words, np.uint32), cupy.empty(num_rows, row), cupy.empty(CONTROL_WORDS, np.uint64)
    distance, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    size = np.int64(num_rows)
    launch(_TWO_WAYS, "prepare", STRIDING_THREADS, num_rows, size, np.int64(words), np.int64(source), plan.closed, visited,
           distance, predecessor, queue, control, ROW=row)  # fmt: skip
    frontier, next_frontier = cupy.empty(words, np.uint32), cupy.empty(words, np.uint32)
    for_warps, for_blocks = (cupy.empty(graph.num_arcs // arcs + 1, row) for arcs in (LANE_ARCS, LANE_ARCS + WARP_ARCS))
    launch(_TWO_WAYS, "search_both_ways", THREADS, None,
           out.offsets, out.indices, into.offsets, into.indices, graph.positions, graph.rows_by_id, size,
           np.int64(graph.num_arcs), np.int64(source), visited, frontier, next_frontier, distance, predecessor, queue, for_warps,
           for_blocks, control, np.int64(most_rounds(graph.out)), ROW=row)  # fmt: skip
    return Paths(source, distance, predecessor), control


def _words(num_rows: int) -> int:
    """Words of a bitmap."""
    return -(-num_rows // 32)


def _team_words(words: int, blocks: int) -> int:
    """Words that each of the `blocks` of a team holds of a bitmap of `words`; 0 if the bitmap stays in device memory."""
    team_words = -(-words // (32 * blocks)) * 32
    return team_words if 4 * team_words <= _TEAM_BYTES and blocks > 1 else 0


@cache
def _team_kernel(row: np.dtype[Any], device: int) -> TeamKernel:
    """The kernel of a whole top-down search, with the teams of its launch."""
    team = team_kernel(_TOP_DOWN, "search_levels", THREADS, device, _TEAM_BYTES, ROW=row)
    if team:
        return team._replace(teams=min(team.teams, _TEAMS))
    kernel, resident = cooperative(_TOP_DOWN, "search_levels", THREADS, device, ROW=row, TEAM_BLOCKS=1)
    return TeamKernel(kernel, 1, resident)
