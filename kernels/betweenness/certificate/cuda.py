"""What shortest paths weigh, on the GPU (follow.cu)."""

import math

import cupy
import numpy as np

from kernels.betweenness.certificate.constants import BLOCK, LONG_ROW, WIDTH, WORDS
from kernels.certificate.rules import Broken, name_of
from kernels.gpu.loader import free_bytes, launch, pointer
from kernels.graph import Array, Graph, distance_dtype
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp

_BYTES = 25  # of a source at a row, at most
_MOST_BYTES = 8 << 30
_ROUNDS = 4  # word of the control


def paths_from(graph: Graph, weights: bool, sources: Array, drawn: Array) -> tuple[float, int, float]:
    """The sum of the mean weights, the most rounds, and the largest logarithm of a number of paths.

    Raises Broken where a distance is wrong.
    """
    fit = min(free_bytes() // 2, _MOST_BYTES) // (WIDTH * _BYTES * max(graph.num_vertices, 1))
    step = WIDTH * max(1, min(fit, -(-len(sources) // WIDTH)))
    found = [
        _follow(graph, weights and graph.out.weights is not None, sources[begin : begin + step], drawn)
        for begin in range(0, len(sources), step)
    ]
    sums, rounds, logarithms = zip((0.0, 0, 0.0), *found, strict=True)
    return math.fsum(sums), max(rounds), max(logarithms)


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
