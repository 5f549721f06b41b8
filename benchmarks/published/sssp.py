"""Shortest paths by two published methods (sssp.cu), for graphs with weights."""

import math
from dataclasses import replace
from functools import partial

import cupy
import numpy as np

from benchmarks.published import SOURCES
from kernels.answers import Paths
from kernels.gpu.loader import launch
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype
from kernels.paths.constants import THREADS
from kernels.paths.lengths import length_type
from kernels.paths.predecessors_cuda import paths_of_lengths, types_of
from kernels.sssp import cuda

METHODS = ("dijkstra", "bellman-ford")
DIJKSTRA_ROWS = 1 << 20  # beyond, it takes more than seconds
_CONTROL_BYTES = 16  # of Control in sssp.cu


def search(graph: Graph, source: int, method: str) -> Paths:
    """Answer `kernels.sssp.sssp` on CuPy arrays by one of METHODS. "dijkstra" settles one row per step.

    Raises:
        ValueError: The graph has more than DIJKSTRA_ROWS rows, which "dijkstra" all reads in each step.
    """
    if method == "dijkstra" and graph.num_vertices > DIJKSTRA_ROWS:
        raise ValueError(f'method "dijkstra" accepts at most {DIJKSTRA_ROWS} rows: this graph has {graph.num_vertices}')
    return cuda.search_by(partial(_answer, method), graph, source)


def length_to(graph: Graph, source: int, target: int) -> float:
    """The distance of one row by "dijkstra", which ends when it is settled; UNREACHED where no path leads, or no sum fits."""
    sums = distance_dtype(graph.out.weights)
    lengths = _lengths("dijkstra", graph, source, replace(cuda.plan_of(graph), sums=sums), target)
    length: float = lengths.view(sums)[target].item()  # that of no path is less than 0 or infinite
    return length if 0 <= length < math.inf else UNREACHED


def _answer(method: str, graph: Graph, source: int, plan: cuda.ShortestPathPlan) -> tuple[Array, Array] | None:
    return paths_of_lengths(graph, source, plan.sums, _lengths(method, graph, source, plan))


def _lengths(method: str, graph: Graph, source: int, plan: cuda.ShortestPathPlan, target: int = NO_ROW) -> Array:
    out, num_rows, scratch, ends = graph.out, graph.num_vertices, list[Array](), [np.int64(source)]
    lengths: Array = cupy.empty(num_rows, length_type(plan.sums))
    if method == "dijkstra":
        most_blocks = max(1, -(-num_rows // THREADS))
        scratch = [cupy.empty(num_rows, np.uint8), cupy.empty(most_blocks, lengths.dtype), cupy.empty(most_blocks, np.int64)]
        ends.append(np.int64(target))
    arguments = out.offsets, out.indices, out.weights, np.int64(num_rows), *ends, lengths, *scratch
    control = cupy.zeros(_CONTROL_BYTES, np.uint8)
    name, types = method.replace("-", "_"), types_of(out, plan.sums)
    launch(f"{SOURCES}sssp.cu", name, THREADS, num_rows, *arguments, control, **types)
    return lengths
