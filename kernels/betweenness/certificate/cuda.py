"""The weights of shortest paths on the GPU: by groups of sources (follow.cu), or a block for each source (follow_deep.cu)."""

import math

import cupy
import numpy as np

from kernels.betweenness.certificate.constants import BLOCK, DEEP, LONG_ROW, WORDS
from kernels.betweenness.certificate.weighing import Weighing
from kernels.betweenness.constants import DEEP_THREADS, MOST_THREADS
from kernels.bfs import bfs
from kernels.certificate.rules import Broken, name_of
from kernels.gpu.deep import require_work
from kernels.gpu.loader import at_once, fitting, launch, minus_ones, pointer
from kernels.graph import Array, Graph, distance_dtype
from kernels.sssp import sssp
from kernels.sssp.certificate import certify_sssp

_MOST_BYTES = 8 << 30  # for all groups
_ROUNDS, _FAILED, _WEIGHT, _MOST = 4, 5, 3, 4  # words of Control: uint32, uint32, float64, float64
_WIDTHS = 32, 16, 8, 2, 1  # sources of a group: the most for which the free memory holds one; 4 would spill registers on 8.0
_TRIED = 4  # sources whose levels are counted


def paths_from(graph: Graph, weighing: Weighing, sources: Array) -> tuple[float, int, float]:
    """The sum of the mean weights, the most rounds, and the largest logarithm of a number of paths.

    Raises Broken where a distance is wrong, and Deep.
    """
    weighted = weighing.weights and graph.out.weights is not None
    starting = sources[graph.out.offsets[sources + 1] > graph.out.offsets[sources]]  # others have no paths
    levels = max((int(bfs(graph, row).distance.max()) for row in starting[:_TRIED].tolist()), default=0)
    require_work(graph, levels, len(starting))
    if levels >= DEEP and not weighted:
        return _follow_by_blocks(graph, starting, weighing)
    num_rows = max(graph.out.used_rows, graph.into.used_rows)
    of_source = 16 + weighted * distance_dtype(graph.out.weights).itemsize
    of_groups = {width: num_rows * (12 + width * of_source) for width in _WIDTHS}
    width = next((width for width, needed in of_groups.items() if fitting(needed)), 1)
    groups = at_once("the proof of betweenness from one source", of_groups[width])
    step = width * min(groups, max(1, _MOST_BYTES // max(of_groups[width], 1)))
    parts = (starting[begin : begin + step] for begin in range(0, len(starting), step))
    followed = [_follow(graph, weighted, some, weighing, num_rows, width) for some in parts]
    sums, rounds, logarithms = zip((0.0, 0, 0.0), *followed, strict=True)
    return math.fsum(sums), max(rounds), max(logarithms)


def _follow_by_blocks(graph: Graph, sources: Array, weighing: Weighing) -> tuple[float, int, float]:
    num_rows, row, count = graph.num_vertices, graph.out.indices.dtype, len(sources)
    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    fit = at_once("the proof of betweenness from one source", (32 + row.itemsize) * num_rows)
    blocks = min(fit, count, 8 * processors)
    weights, logarithms, levels = cupy.empty(count), cupy.empty(count), cupy.empty(count, np.int64)
    arcs = graph.out.offsets, graph.out.indices, graph.into.offsets, graph.into.indices
    memory = cupy.empty((blocks, num_rows, 4)), cupy.empty((blocks, num_rows), row)
    inputs = weighing.drawn, sources, np.int64(count), np.int64(num_rows), np.int64(weighing.of_arcs), np.int64(weighing.ends)
    results = *memory, weights, logarithms, levels
    source, threads = "betweenness/certificate/follow_deep.cu", DEEP_THREADS if blocks > processors else MOST_THREADS
    launch(source, "follow_from_each", threads, None, *arcs, *inputs, *results, blocks=blocks, plain=True, ROW=row)
    return float(weights.sum()), int(levels.max()), float(logarithms.max())


def _follow(
    graph: Graph, weighted: bool, sources: Array, weighing: Weighing, num_rows: int, width: int
) -> tuple[float, int, float]:  # fmt: skip
    into, groups, row = graph.into, -(-len(sources) // width), graph.into.indices.dtype
    places, long_rows = groups * num_rows, cupy.flatnonzero(cupy.diff(into.offsets) > LONG_ROW).astype(row)
    distances = _proved(graph, sources, num_rows, width) if weighted else None
    paths, masks = cupy.empty((places, width, 2)), cupy.empty((3, places), np.uint32)
    weight = into.weights.dtype if weighted and into.weights is not None else np.dtype(np.int32)
    arcs = into.offsets, into.indices, pointer(into.weights if weighted else None), long_rows, np.int64(len(long_rows))
    inputs = weighing.drawn, sources, np.int64(len(sources)), np.int64(num_rows), np.int64(places), pointer(distances)
    types = {"ROW": row, "WEIGHT": weight, "SUM": distance_dtype(into.weights if weighted else None)}
    modern = int(cupy.cuda.Device().compute_capability) >= 90  # needs fewer registers
    sizes = {"WIDTH": width, "GROUP_BLOCKS": 2 if width < _WIDTHS[0] else 4 if modern else 3}
    for name in ("follow",) * (not weighted) + ("follow_logarithms",):
        control = cupy.zeros(WORDS, np.float64)
        state = np.int64(weighing.of_arcs), paths, masks[:1], masks[1:], control
        launch("betweenness/certificate/follow.cu", name, BLOCK, None, *arcs, *inputs, *state, **sizes, **types)
        words = control.get()
        if not words.view(np.uint32)[_FAILED]:
            break
    ends = (
        _weight_of_ends(masks[0].reshape(groups, num_rows), width, sources, distances, weighing.drawn) if weighing.ends else 0.0
    )
    return float(words[_WEIGHT]) + ends, int(words.view(np.uint32)[_ROUNDS]), float(words[_MOST])


def _weight_of_ends(done: Array, width: int, sources: Array, distances: Array | None, drawn: Array) -> float:
    """What the first and the last rows of all paths weigh.

    Args:
        done (uint32 [groups, num_rows]): Bits of sources that reach the row or never do.
        distances (array [groups, num_rows, width] or None): -1 where not reached.
    """
    num_rows, weights = done.shape[1], []
    for number, source in enumerate(sources.tolist()):
        group, lane = divmod(number, width)
        reached = (done[group] >> np.uint32(lane) & np.uint32(1)) != 0
        if distances is not None:
            reached &= distances[group, :, lane] >= 0
        weights.append(float(drawn[:num_rows][reached].sum() + (reached.sum() - 2) * drawn[source]))
    return math.fsum(weights)


def _proved(graph: Graph, sources: Array, num_rows: int, width: int) -> Array:
    """Proved distances of all groups, -1 where not reached and for sources that a group lacks."""
    distances: Array = minus_ones((-(-len(sources) // width), num_rows, width), distance_dtype(graph.out.weights))
    for number, source in enumerate(sources.tolist()):
        paths = sssp(graph, source)
        verdict = certify_sssp(graph, paths)
        if not verdict.holds:
            raise Broken(f"from source {name_of(graph, source)}: {verdict.reason}")
        distances[number // width, :, number % width] = paths.distance[:num_rows]
    return distances
