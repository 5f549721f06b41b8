"""Betweenness on the GPU.

Where a search has few levels: as many groups of 32 sources at a time as fit, two cooperative launches for each (shallow.cu).
Otherwise, and where the free memory holds no group, a block for each source (deep.cu).
"""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.betweenness.constants import ARCS_OF_A_SUM, CONTROL_WORDS, DEEP_THREADS, LANES, MOST_ROUNDS, MOST_THREADS, THREADS
from kernels.betweenness.parameters import NO_LENGTH, BetweennessParameters
from kernels.bfs import bfs
from kernels.gpu.deep import require_work, unless_deep
from kernels.gpu.loader import at_once, fitting, launch, minus_ones, pointer, to_host
from kernels.graph import OFFSET, Array, Csr, Graph, distance_dtype
from kernels.sssp import sssp

_MOST_BYTES = 8 << 30  # for all groups
_TRIED = 4  # sources whose levels are counted
_FAILED, _NO_LENGTH = 5, 3  # words of Control: uint32, int64


class SummedArcs(NamedTuple):
    """Arcs of one direction, as `SummedArcs` of values.cuh."""

    arcs: Csr
    large: Array  # index width: rows of more than ARCS_OF_A_SUM arcs
    parts: Array  # int64: where the parts of each begin; then their number

    @classmethod
    def of(cls, arcs: Csr) -> "SummedArcs":
        """Find the large rows."""
        counts = -(-cupy.diff(arcs.offsets) // ARCS_OF_A_SUM)
        large = cupy.flatnonzero(counts > 1)
        ends = np.concatenate([np.zeros_like(arcs.offsets[:1]), np.cumsum(counts[large])])
        return cls(arcs, large.astype(arcs.indices.dtype), ends.astype(OFFSET))

    @property
    def num_parts(self) -> int:
        """Number of parts of all large rows."""
        return int(self.parts[-1])

    def arguments(self, weighted: bool) -> tuple[Any, ...]:
        """Those of a launch."""
        weights = pointer(self.arcs.weights if weighted else None)
        return self.arcs.offsets, self.arcs.indices, weights, self.large, self.parts, np.int64(len(self.large))


def sum_of_sources(graph: Graph, parameters: BetweennessParameters, sources: Array, bits: int) -> Array:
    """Dependencies of some sources, as `kernels.betweenness` asks, in units of 2^-bits, on CuPy arrays."""
    return unless_deep(_sum_of_sources, "kernels.betweenness.cpu:sum_of_sources", graph, parameters, sources, bits)


def _sum_of_sources(graph: Graph, parameters: BetweennessParameters, sources: Array, bits: int) -> Array:
    """The same; raises Deep."""
    totals: Array = cupy.zeros(graph.num_arcs if parameters.of_edges else graph.num_vertices, np.int64)
    starting = sources[graph.out.offsets[sources + 1] > graph.out.offsets[sources]]  # others have no paths
    levels = [int(bfs(graph, row).distance.max()) for row in starting[:_TRIED].tolist()]
    if levels:
        require_work(graph, max(levels), len(starting))
        weighted = parameters.weights and graph.out.weights is not None
        sums = DependencySums(totals, bits, parameters.of_edges, parameters.endpoints)
        add = _by_groups if max(levels) + 2 < MOST_ROUNDS else _by_blocks
        add(graph, weighted, starting, sums)
    return totals


class DependencySums(NamedTuple):
    """What dependencies are added to."""

    totals: Array  # int64 [V], or [A]
    bits: int  # a unit is 2^-bits
    of_arcs: bool
    at_ends: bool  # whether a path counts at the rows where it begins and ends

    @property
    def units(self) -> Any:
        """Units in 1, for a launch."""
        return np.float64(2.0**self.bits)


def _by_blocks(graph: Graph, weighted: bool, sources: Array, added: DependencySums) -> None:
    """Add the dependencies of sources, with a block for each source."""
    num_rows, row, (into, out) = graph.num_vertices, graph.out.indices.dtype, (graph.into, graph.out)
    processors, sums = cupy.cuda.Device().attributes["MultiProcessorCount"], distance_dtype(out.weights if weighted else None)
    fit = at_once("betweenness from one source", (16 + 2 * row.itemsize + weighted * sums.itemsize) * num_rows)
    step = min(fit, len(sources)) if weighted else len(sources)
    blocks = min(fit, step, 8 * processors)
    arcs = [(side.offsets, side.indices, pointer(side.weights)) for side in (out, into)]
    state = cupy.empty((blocks, num_rows, 2)), cupy.empty((blocks, num_rows), row), cupy.empty((blocks, num_rows), row)
    types = {"ROW": row, "WEIGHT": np.dtype(np.int32) if out.weights is None else out.weights.dtype, "SUM": sums}
    no_length, threads = minus_ones(1, np.int64), DEEP_THREADS if blocks > processors else MOST_THREADS
    name, at_ends = "arcs_from_each" if added.of_arcs else "from_each", np.int64(added.at_ends << added.bits)
    for some in (sources[begin : begin + step] for begin in range(0, len(sources), step)):
        distances = cupy.stack([sssp(graph, source).distance for source in some.tolist()]) if weighted else None
        inputs = some, np.int64(len(some)), np.int64(num_rows), pointer(distances)
        arguments = *arcs[0], *arcs[1], *inputs, *state, added.units, added.totals, at_ends, no_length
        launch("betweenness/deep.cu", name, threads, None, *arguments, blocks=blocks, plain=True, **types)
        _require_lengths(graph, int(no_length[0]) if weighted else -1)


def _require_lengths(graph: Graph, row: int) -> None:
    if row >= 0:
        raise ArithmeticError(NO_LENGTH.format(graph.ids[row]))


def _by_groups(graph: Graph, weighted: bool, sources: Array, added: DependencySums) -> None:
    """Add the dependencies of sources, by groups of LANES sources, or by blocks if memory holds no group."""
    into = SummedArcs.of(graph.into)
    sides = into, into if graph.symmetric else SummedArcs.of(graph.out)
    num_rows = max(side.arcs.used_rows for side in sides)
    of_row = 4 * (1 + MOST_ROUNDS) + LANES * (8 + weighted * distance_dtype(graph.out.weights).itemsize)
    of_group = of_row * num_rows + (8 * LANES + 4) * max(side.num_parts for side in sides)
    step = LANES * min(fitting(of_group), max(1, _MOST_BYTES // of_group))
    if not step:
        _by_blocks(graph, weighted, sources, added)
        return
    for some in (sources[begin : begin + step] for begin in range(0, len(sources), step)):
        words = _add(sides, num_rows, some, _distances(graph, some, num_rows) if weighted else None, added)
        _require_lengths(graph, int(words[_NO_LENGTH]))
        if words.view(np.uint32)[_FAILED]:
            _by_blocks(graph, weighted, some, added)


def _distances(graph: Graph, sources: Array, num_rows: int) -> Array:
    """Distances of each group: [groups, num_rows, LANES], -1 where not reached and for sources that a group lacks."""
    distances: Array = minus_ones((-(-len(sources) // LANES), num_rows, LANES), distance_dtype(graph.out.weights))
    for number, source in enumerate(sources.tolist()):
        distances[number // LANES, :, number % LANES] = sssp(graph, source).distance[:num_rows]
    return distances


def _add(
    sides: tuple[SummedArcs, SummedArcs], num_rows: int, sources: Array, distances: Array | None, added: DependencySums
) -> Array:  # fmt: skip
    """Add the dependencies of some sources.

    Returns the control; nothing is added if numbers of paths need exponents, if there are too many rounds, or if an arc has no
    length.
    """
    groups = -(-len(sources) // LANES)
    places, parts = groups * num_rows, groups * max(1, *(side.num_parts for side in sides))
    masks, waiting = cupy.empty((1 + MOST_ROUNDS, places), np.uint32), cupy.empty(parts, np.uint32)
    partial, control = cupy.empty((parts, LANES)), cupy.zeros(CONTROL_WORDS, np.int64)
    control[_NO_LENGTH] = -1
    weighted, (into, out), weights = distances is not None, sides, sides[0].arcs.weights
    types = {"ROW": into.arcs.indices.dtype, "WEIGHT": np.dtype(np.int32) if weights is None else weights.dtype}
    types |= {"SUM": np.dtype(np.int64) if distances is None else distances.dtype}
    shape = np.int64(num_rows), np.int64(places)
    state = cupy.empty((places, LANES)), pointer(distances), masks[:1], masks[1:], partial, waiting
    inputs = sources, np.int64(len(sources))
    shallow, accumulate = "betweenness/shallow.cu", "accumulate_arcs" if added.of_arcs else "accumulate"
    launch(shallow, "count", THREADS, None, *into.arguments(weighted), *inputs, *shape, *state, control, **types)
    sums = added.units, added.totals, control
    launch(shallow, accumulate, THREADS, None, *out.arguments(weighted), *shape, *state, *sums, **types)
    words = to_host(control)
    if added.at_ends and words[_NO_LENGTH] < 0 and not words.view(np.uint32)[_FAILED]:
        _add_ends(masks[0].reshape(groups, num_rows), sources, distances, added)
    return words


def _add_ends(visited: Array, sources: Array, distances: Array | None, added: DependencySums) -> None:
    """Add the ends of all paths: a path from each source to each other row that it reaches.

    Args:
        visited (uint32 [groups, num_rows]): Bits of sources that reach the row, or that a group lacks.
        distances (array [groups, num_rows, LANES] or None): -1 where not reached.
    """
    num_rows = visited.shape[1]
    for lane in range(min(LANES, len(sources))):
        of_lane = sources[lane::LANES]
        reached = visited[: len(of_lane)] >> np.uint32(lane) & np.uint32(1) != 0
        if distances is not None:
            reached &= distances[: len(of_lane), :, lane] >= 0
        added.totals[:num_rows] += reached.sum(axis=0) << added.bits
        added.totals[of_lane] += (reached.sum(axis=1) - 2) << added.bits  # itself is one of them, and counted above
