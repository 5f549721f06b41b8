"""The unique predecessors of final lengths or levels on the GPU; `kernels.paths.predecessors_cpu` defines them."""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.gpu.deep import most_rounds, require_shallow
from kernels.gpu.loader import launch
from kernels.graph import Array, Csr, Graph, distance_dtype
from kernels.paths.constants import LARGE_ROW, SMALL_ROW, THREADS, WAITS

_SOURCE = "paths/predecessors.cu"
_LEVEL_THREADS = 256
_FOUND_WORDS, _DEEP = 8, 5


class LargeRows(NamedTuple):
    """Rows whose in-arcs a warp (`medium`) or a block (`large`) searches; index width."""

    medium: Array
    large: Array


class NearestTight(NamedTuple):
    """What `nearest_tight` found."""

    distance: Array  # int64 or float64 [R]
    predecessor: Array  # index width [R]: WAITS where only tight arcs of length zero reach the row
    summary: Array  # uint64 [8]: `Found` of predecessors.cu

    @property
    def flags(self) -> Array:
        """Two uint32 on the host: nonzero if a row waits, and if a sum did not fit."""
        flags: Array = cupy.asnumpy(self.summary[:1]).view(np.uint32)
        return flags


def of_levels(into: Csr, levels: Array, num_rows: int) -> tuple[Array, Array]:
    """Return hops (int64) and predecessors of the first `num_rows` rows.

    Args:
        into: In-arcs of the rows.
        levels (index width): Final levels of the rows and of all rows that their in-arcs name; -1 where not reached.
    """
    row = into.indices.dtype
    hops, predecessor = cupy.empty(num_rows, distance_dtype(None)), cupy.empty(num_rows, row)
    arguments = into.offsets, into.indices, levels, np.int64(num_rows), hops, predecessor
    launch("paths/levels.cu", "find_predecessors", _LEVEL_THREADS, num_rows, *arguments, ROW=row)
    return hops, predecessor


def paths_of_lengths(graph: Graph, source: int, sums: np.dtype[Any], lengths: Array) -> tuple[Array, Array] | None:
    """Return the distances and predecessors that final `lengths` imply; None if a sum did not fit. Raises Deep.

    Args:
        graph: Its arcs have weights.
        sums: Type in which weights are summed.
        lengths (uint32 or uint64 [V]): Encoded as in lengths.cuh.
    """
    into, row = graph.into, graph.rows_by_id.dtype
    large_rows = graph.derived.get(large_rows_of, lambda: large_rows_of(into))
    nearest = nearest_tight(into, graph.num_vertices, source, large_rows, sums, lengths)
    waits, beyond = nearest.flags
    if beyond:
        return None
    if waits:
        waiting = cupy.flatnonzero(nearest.predecessor == WAITS).astype(row)
        steps = cupy.zeros(graph.num_vertices, row)
        steps[waiting] = -1
        arcs = into.offsets, into.indices, into.weights, lengths
        work = waiting, np.int64(len(waiting)), nearest.predecessor, steps, np.int64(most_rounds(graph.out))
        launch(_SOURCE, "complete_zero_steps", THREADS, len(waiting), *arcs, *work, nearest.summary, **types_of(into, sums))
        require_shallow(nearest.summary[_DEEP])
    return nearest.distance, nearest.predecessor


def nearest_tight(
    into: Csr, num_rows: int, source: int, large_rows: LargeRows, sums: np.dtype[Any], lengths: Array
) -> NearestTight:
    """Find distances and the predecessors that tight arcs from strictly nearer rows decide.

    Args:
        into: In-arcs of the first `num_rows` rows; `lengths` covers all rows that their indices name.
    """
    distance, predecessor = cupy.empty(num_rows, distance_dtype(into.weights)), cupy.empty(num_rows, into.indices.dtype)
    summary = cupy.zeros(_FOUND_WORDS, np.uint64)
    arcs = into.offsets, into.indices, into.weights, lengths
    results = np.int64(source), distance, predecessor, summary
    types = types_of(into, sums)
    for name, rows, threads in (("find_in_blocks", large_rows.large, THREADS), ("find_in_warps", large_rows.medium, 32)):
        if len(rows):
            launch(_SOURCE, name, THREADS, len(rows) * threads, *arcs, rows, np.int64(len(rows)), *results, **types)
    launch(_SOURCE, "find_in_lanes", THREADS, num_rows, *arcs, np.int64(num_rows), *results, **types)
    return NearestTight(distance, predecessor, summary)


def large_rows_of(into: Csr) -> LargeRows:
    """List the rows that are too large for one lane."""
    degrees = cupy.diff(into.offsets)
    medium, large = (degrees >= SMALL_ROW) & (degrees < LARGE_ROW), degrees >= LARGE_ROW
    row = into.indices.dtype
    return LargeRows(cupy.flatnonzero(medium).astype(row), cupy.flatnonzero(large).astype(row))


def types_of(csr: Csr, sums: np.dtype[Any], weighted: bool = True) -> dict[str, Any]:
    """Type macros of the sources that include a lengths.cuh; arcs without weights, or not `weighted`, weigh 1."""
    weight = csr.weights.dtype if weighted and csr.weights is not None else np.dtype(np.int32)
    return {"ROW": csr.indices.dtype, "WEIGHT": weight, "SUM": sums}
