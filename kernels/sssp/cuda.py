"""Shortest paths on the GPU: one launch finds the lengths, by one of two methods.

Graphs with few arcs per row and no large row may be roads or grids, with paths of many arcs, one dependent step after the other:
`long_paths.cu` makes a step short, with few blocks. Other graphs have short paths and many arcs: `short_paths.cu` reads few of
them, with all blocks. Degrees do not show how long paths are, so `long_paths.cu` stops when it has more rows to relax than few
blocks can; `short_paths.cu` then goes on from its lengths. Last, `predecessors.cu` turns the lengths into the answer. Integer
weights are summed in 32 bits first, and in 64 if a sum does not fit. All give up deep graphs.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import cupy
import numpy as np

from kernels.answers import Paths
from kernels.gpu.deep import most_rounds, require_shallow, unless_deep
from kernels.gpu.loader import launch
from kernels.graph import Array, Graph, distance_dtype
from kernels.paths.constants import THREADS
from kernels.paths.degrees import has_long_paths
from kernels.paths.lengths import as_length, length_type
from kernels.paths.predecessors_cuda import paths_of_lengths, types_of
from kernels.paths.team import MOST_ROWS, Team, quads_of
from kernels.paths.weights import heaviest_and_sum
from kernels.sssp.constants import CHUNK_ARCS, CHUNK_BYTES, CONTROL_BYTES, QUEUE_ROW

CORE, LIGHT_WIDTH, WIDTH = 3.0, 0.5, 60.0  # in lengths below which a row has two arcs if weights are spread evenly
_DEEP = 1  # 32-bit word of the control
START_SHARE = 4096  # the start ends when the queue holds 1/4096 of all rows and chunks


@dataclass(frozen=True)
class ShortestPathPlan:
    """What the searches derive from a graph."""

    sums: np.dtype[Any]  # dtype: type in which sums of weights fit, as far as is known: int32, int64 or float64
    mean: float  # mean weight
    mean_degree: float  # arcs of a row that has any
    chunks: int  # chunks of all large rows (queues.cuh), of out-arcs or in-arcs, whichever are more
    quads: int | None  # number of Quads that hold the rows (long_paths.cu); None if paths are short
    crowded: bool = False  # whether a search had too many rows to relax for long_paths.cu


def plan_of(graph: Graph) -> ShortestPathPlan:
    """Return the graph's plan; the first call makes it."""
    return graph.derived.get(plan_of, lambda: make_plan(graph, has_long_paths(graph)))


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.sssp.sssp` on CuPy arrays that have weights."""
    return unless_deep(partial(search_by, _answer), "kernels.sssp.cpu:search", graph, source)


def search_by(find: Callable[[Graph, int, ShortestPathPlan], tuple[Array, Array] | None], graph: Graph, source: int) -> Paths:
    """Return the distances and predecessors that `find` finds; with wider sums if it finds none because one did not fit."""
    while True:
        plan = plan_of(graph)
        answer = find(graph, source, plan)
        if answer is not None:
            return Paths(source, *answer)
        if plan.sums != np.int32:
            raise OverflowError(f"a distance exceeds the largest {distance_dtype(graph.out.weights)}")
        graph.derived.put(plan_of, replace(plan_of(graph), sums=np.dtype(np.int64)))


def _answer(graph: Graph, source: int, plan: ShortestPathPlan) -> tuple[Array, Array] | None:
    """Distances and predecessors; None if a sum does not fit. Raises Deep."""
    if plan.quads is None:
        return _answer_in_grid(graph, source, plan)
    # The Quads are made for every search: that takes a hundredth of it, and they do not outlive it
    team = Team(graph.out, plan.sums, plan.mean, plan.quads, source)
    team.shorten(most=MOST_ROWS, most_thin=most_rounds(graph.out))
    lengths = team.lengths
    # Unless the graph is known to be crowded, the answer is begun before the team's end is known, so that the GPU need not wait
    answer = None if plan.crowded else paths_of_lengths(graph, source, plan.sums, lengths)
    start = team.stopped_at()
    del team
    if start is not None:
        graph.derived.put(plan_of, replace(plan, crowded=True))
        return _answer_in_grid(graph, source, plan, lengths, start)
    return answer or paths_of_lengths(graph, source, plan.sums, lengths)


def make_plan(graph: Graph, long_paths: bool) -> ShortestPathPlan:
    """Make the plan for one of the two methods."""
    weights = graph.out.weights
    assert weights is not None
    integer, (heaviest, total) = weights.dtype.kind == "i", heaviest_and_sum(weights)
    fits = integer and heaviest <= np.iinfo(np.int32).max
    mean = total / len(weights) if len(weights) else 1.0
    mean_degree = max(1, graph.num_arcs) / max(1, int(cupy.count_nonzero(cupy.diff(graph.out.offsets))))
    sums = np.dtype(np.int32 if fits else np.int64 if integer else np.float64)
    chunks = max(chunks_of(graph.out.offsets), chunks_of(graph.into.offsets))
    return ShortestPathPlan(sums, mean, mean_degree, chunks, quads_of(graph.out) if long_paths else None)


def chunks_of(offsets: Array) -> int:
    """Number of chunks of the large rows (queues.cuh)."""
    degrees = cupy.diff(offsets)
    return int((-(-degrees[degrees >= QUEUE_ROW] // CHUNK_ARCS)).sum())


def _answer_in_grid(
    graph: Graph, source: int, plan: ShortestPathPlan, known: Array | None = None, start: int = 0
) -> tuple[Array, Array] | None:
    """As `_answer`, from `source`; or from lengths that are `known`, with all rows nearer than `start` settled."""
    num_rows, row, out, into = graph.num_vertices, graph.rows_by_id.dtype, graph.out, graph.into
    lengths: Array = cupy.empty(num_rows, length_type(plan.sums)) if known is None else known
    rows, chunks = cupy.empty(2 * num_rows, row), cupy.empty(2 * plan.chunks * CHUNK_BYTES, np.uint8)
    queued, control = cupy.empty(-(-num_rows // 32) * 2, np.uint32), cupy.empty(CONTROL_BYTES, np.uint8)
    source_file, types, size = "sssp/short_paths.cu", types_of(out, plan.sums), np.int64(num_rows)
    begin = size, np.int64(source), np.bool_(known is not None), lengths, queued, control
    launch(source_file, "prepare", THREADS, num_rows, *begin, **types)
    enough = 1 + (plan.chunks + num_rows // 16) // START_SHARE
    widths = (as_length(plan.sums, factor * 2 * plan.mean / plan.mean_degree) for factor in (CORE, LIGHT_WIDTH, WIDTH))
    bounds = lengths.dtype.type(start), *widths, np.int64(enough), np.int64(most_rounds(graph.out))
    launch(source_file, "shorten", THREADS, None,
           out.offsets, out.indices, out.weights, into.offsets, into.indices, into.weights, size,
           lengths, rows, chunks, np.int64(plan.chunks), queued, *bounds, control, **types)  # fmt: skip
    answer = paths_of_lengths(graph, source, plan.sums, lengths)  # begun before the end is known
    require_shallow(control.view(np.uint32)[_DEEP])
    return answer
