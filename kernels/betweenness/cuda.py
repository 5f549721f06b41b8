"""Betweenness on the GPU.

Where a search has few levels, or arcs have weights: as many groups of 32 sources at a time as fit, two cooperative launches for
each (betweenness.cu). Otherwise a block for each source (deep.cu).
"""

from typing import Any, NamedTuple

import cupy
import numpy as np

from kernels.answers import Betweenness
from kernels.betweenness.constants import ARCS_OF_A_SUM, CONTROL_WORDS, LANES, MOST_THREADS, THREADS
from kernels.betweenness.parameters import NO_LENGTH, Parameters, rows_of, scale
from kernels.bfs import bfs
from kernels.gpu.loader import free_bytes, launch, pointer, to_host
from kernels.graph import OFFSET, Array, Csr, Graph, distance_dtype
from kernels.sssp import sssp

_SOURCE = "betweenness/betweenness.cu"
_BYTES = 32  # of a source at a row, at most: value, exponent, level, distance
_MOST_BYTES = 8 << 30  # for all groups
_DEEP = 48  # levels from which a block takes a source
_TRIED = 4  # sources whose levels are counted
_OVERFLOW, _NO_LENGTH = 5, 3  # words of Control: uint32, int64


class Side(NamedTuple):
    """Arcs of one direction, as `Side` of values.cuh."""

    arcs: Csr
    large: Array  # index width: rows of more than ARCS_OF_A_SUM arcs
    parts: Array  # int64: where the parts of each begin; then their number

    @classmethod
    def of(cls, arcs: Csr) -> "Side":
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


def solve(graph: Graph, parameters: Parameters) -> Betweenness:
    """Answer `kernels.betweenness.betweenness` on CuPy arrays."""
    sources = rows_of(parameters, graph.ids)
    units = scale(graph.num_vertices, len(sources), graph.symmetric)
    totals = cupy.zeros(graph.num_vertices, np.int64)
    weighted = parameters.weights and graph.out.weights is not None
    starting = sources[graph.out.offsets[sources + 1] > graph.out.offsets[sources]]  # others have no paths
    levels = 0 if weighted else max((int(bfs(graph, row).distance.max()) for row in starting[:_TRIED].tolist()), default=0)
    (_by_blocks if levels >= _DEEP else _by_groups)(graph, weighted, starting, 2.0**units.bits, totals)
    return Betweenness(totals * units.factor, len(sources))


def _by_blocks(graph: Graph, weighted: bool, sources: Array, units: float, totals: Array) -> None:
    """Add the dependencies of sources to totals, by lengths in arcs, with a block for each source."""
    num_rows, row, into = graph.num_vertices, graph.out.indices.dtype, None if graph.symmetric else graph.into
    fit = free_bytes() // 2 // ((16 + row.itemsize + 8) * (num_rows + 1))
    blocks = max(1, min(fit, len(sources)))
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    memory = cupy.empty((blocks, num_rows, 2)), cupy.empty((blocks, num_rows), row), cupy.empty((blocks, num_rows + 1), OFFSET)
    reverse = (into.offsets, into.indices) if into else (pointer(None), pointer(None))
    asked = sources, np.int64(len(sources)), np.int64(num_rows), *memory, np.float64(units), totals
    launch(
        "betweenness/deep.cu", "from_each", THREADS if blocks > processors else MOST_THREADS, None,
        graph.out.offsets, graph.out.indices, *reverse, *asked, blocks=blocks, plain=True, ROW=row,
    )  # fmt: skip


def _by_groups(graph: Graph, weighted: bool, sources: Array, units: float, totals: Array) -> None:
    """Add the dependencies of sources to totals, by groups of LANES sources."""
    into = Side.of(graph.into)
    sides = into, into if graph.symmetric else Side.of(graph.out)
    fit = min(free_bytes() // 2, _MOST_BYTES) // (LANES * _BYTES * max(graph.num_vertices, 1) + 1)
    step = LANES * max(1, min(fit, -(-len(sources) // LANES)))
    num_rows = max(int(np.searchsorted(side.arcs.offsets, side.arcs.offsets[-1:])[0]) for side in sides)  # others have no arcs
    for begin in range(0, len(sources), step):
        some = sources[begin : begin + step]
        distances = _distances(graph, some) if weighted else None
        for wide in (False, True):
            words = _add(sides, some, distances, (units, totals[:num_rows]), wide)
            if words[_NO_LENGTH] >= 0:
                raise ArithmeticError(NO_LENGTH.format(graph.ids[int(words[_NO_LENGTH])]))
            if not words.view(np.uint32)[_OVERFLOW]:
                break


def _distances(graph: Graph, sources: Array) -> Array:
    """Distances of each group: [groups, V, LANES], -1 where not reached and for sources that a group lacks."""
    groups = -(-len(sources) // LANES)
    distances: Array = cupy.full((groups, graph.num_vertices, LANES), -1, distance_dtype(graph.out.weights))
    for number, source in enumerate(sources.tolist()):
        distances[number // LANES, :, number % LANES] = sssp(graph, source).distance
    return distances


def _add(
    sides: tuple[Side, Side], sources: Array, distances: Array | None, sums: tuple[float, Array], wide: bool
) -> Array:  # fmt: skip
    """Add the dependencies of some sources to totals, given behind the units in 1; `wide`: with exponents.

    Returns the control; nothing is added if numbers of paths need exponents that there are not, or if an arc has no length.
    """
    units, totals = sums
    num_rows, groups = len(totals), -(-len(sources) // LANES)
    places, parts = groups * num_rows, groups * max(1, *(side.num_parts for side in sides))
    numbers, levels = cupy.empty((places, LANES), np.float64), cupy.empty((places, LANES), np.int32)
    exponents = cupy.empty((places, LANES), np.int32) if wide else None
    masks, waiting = cupy.empty((3, places), np.uint32), cupy.empty(parts, np.uint32)
    partial, control = cupy.empty((parts, LANES, 2), np.float64), cupy.zeros(CONTROL_WORDS, np.int64)
    control[_NO_LENGTH] = -1
    weighted, (into, out) = distances is not None, sides
    types = {"ROW": into.arcs.indices.dtype}
    weights = into.arcs.weights
    types |= {"WEIGHT": weights.dtype if weights is not None else np.dtype(np.int32)}
    types |= {"SUM": distances.dtype if distances is not None else np.dtype(np.int64)}
    shape = np.int64(num_rows), np.int64(places)
    state = numbers, pointer(exponents), levels, pointer(distances), masks[:1], masks[1:], partial, waiting
    asked = sources, np.int64(len(sources))
    launch(_SOURCE, "count", THREADS, None, *into.arguments(weighted), *asked, *shape, *state, control, **types)
    added = np.float64(units), totals, control
    launch(_SOURCE, "accumulate", THREADS, None, *out.arguments(weighted), *shape, *state, *added, **types)
    return to_host(control)
