"""What shortest paths weigh, on the GPU (follow.cu)."""

import math

import cupy
import numpy as np

from kernels.bfs import bfs
from kernels.betweenness.certificate.constants import BLOCK, LONG_ROW, WIDTH, WORDS
from kernels.certificate.rules import Broken, name_of
from kernels.gpu.loader import free_bytes, launch, pointer
from kernels.graph import Array, Graph, distance_dtype
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp

_BYTES = 25  # of a source at a row, at most
_MOST_BYTES = 8 << 30
_ROUNDS = 4  # word of the control
_DEEP = 48  # levels from which a block takes a source
_TRIED = 4  # sources whose levels are counted


def paths_from(graph: Graph, weights: bool, sources: Array, drawn: Array) -> tuple[float, int, float]:
    """The sum of the mean weights, the most rounds, and the largest logarithm of a number of paths.

    Raises Broken where a distance is wrong.
    """
    weighted = weights and graph.out.weights is not None
    starting = sources[graph.out.offsets[sources + 1] > graph.out.offsets[sources]]  # others have no paths
    levels = 0 if weighted else max((int(bfs(graph, row).distance.max()) for row in starting[:_TRIED].tolist()), default=0)
    if levels >= _DEEP:
        return _follow_by_blocks(graph, starting, drawn)
    fit = min(free_bytes() // 2, _MOST_BYTES) // (WIDTH * _BYTES * max(graph.num_vertices, 1))
    step = WIDTH * max(1, min(fit, -(-len(starting) // WIDTH)))
    found = [
        _follow(graph, weighted, starting[begin : begin + step], drawn) for begin in range(0, len(starting), step)
    ]
    sums, rounds, logarithms = zip((0.0, 0, 0.0), *found, strict=True)
    return math.fsum(sums), max(rounds), max(logarithms)


def _follow_by_blocks(graph: Graph, sources: Array, drawn: Array) -> tuple[float, int, float]:
    num_rows, row, count = graph.num_vertices, graph.out.indices.dtype, len(sources)
    blocks = max(1, min(free_bytes() // 2 // ((32 + row.itemsize) * (num_rows + 1)), count))
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    weights, logarithms, levels = cupy.empty(count), cupy.empty(count), cupy.empty(count, np.int64)
    arcs = graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices
    memory = cupy.empty((blocks, num_rows, 4)), cupy.empty((blocks, num_rows), row)
    asked = drawn, sources, np.int64(count), np.int64(num_rows), *memory, weights, logarithms, levels
    launch("betweenness/certificate/follow_deep.cu", "follow_from_each", BLOCK if blocks > processors else 1024, None,
           *arcs, *asked, blocks=blocks, plain=True, ROW=row)  # fmt: skip
    return float(weights.sum()), int(levels.max()), float(logarithms.max())


def _follow(graph: Graph, weighted: bool, sources: Array, drawn: Array) -> tuple[float, int, float]:
    into, num_rows, groups = graph.into, graph.num_vertices, -(-len(sources) // WIDTH)
    places = groups * num_rows
    distances = _proved(graph, sources) if weighted else None
    logarithms, means = cupy.empty((places, WIDTH), np.float64), cupy.empty((places, WIDTH), np.float64)
    done, fresh, control = cupy.empty(places, np.uint32), cupy.empty(2 * places, np.uint32), cupy.zeros(WORDS, np.uint32)
    row = into.indices.dtype
    long_rows = cupy.flatnonzero(cupy.diff(into.offsets) > LONG_ROW).astype(row)
    weight = into.weights.dtype if weighted and into.weights is not None else np.dtype(np.int32)
    arcs = into.offsets, into.indices, pointer(into.weights if weighted else None), long_rows, np.int64(len(long_rows))
    asked = drawn, sources, np.int64(len(sources)), np.int64(num_rows), np.int64(places), pointer(distances)
    launch("betweenness/certificate/follow.cu", "follow", BLOCK, None, *arcs, *asked, logarithms, means, done, fresh, control,
           ROW=row, WEIGHT=weight, SUM=distance_dtype(into.weights if weighted else None))  # fmt: skip
    return float(means.sum()), int(control[_ROUNDS]), float(logarithms.max())


def _proved(graph: Graph, sources: Array) -> Array:
    """Proved distances of all groups, -1 where not reached and for sources that a group lacks."""
    groups = -(-len(sources) // WIDTH)
    distances: Array = cupy.full((groups, graph.num_vertices, WIDTH), -1, distance_dtype(graph.out.weights))
    for number, source in enumerate(sources.tolist()):
        paths = sssp(graph, source)
        verdict = certify_sssp(graph, paths)
        if not verdict.holds:
            raise Broken(f"from source {name_of(graph, source)}: {verdict.reason}")
        distances[number // WIDTH, :, number % WIDTH] = paths.distance
    return distances
