"""PageRank on the GPU: all iterations in one cooperative launch (pagerank.cu)."""

import cupy
import numpy as np

from kernels.answers import Scores
from kernels.gpu.loader import launch
from kernels.graph import Graph
from kernels.pagerank.constants import CONTROL_WORDS, THREADS
from kernels.pagerank.parameters import PageRankParameters
from kernels.pagerank.tiles import plan_of, sizes

_ITERATIONS, _CHANGE = 1, 2  # words of Control


def scores(graph: Graph, parameters: PageRankParameters) -> Scores:
    """Answer `kernels.pagerank.pagerank` on CuPy arrays."""
    num_rows = graph.num_vertices
    damping, tolerance, most_iterations = parameters
    values = cupy.empty(num_rows, np.float64)
    if num_rows == 0 or most_iterations < 1:
        values[...] = 1 / max(num_rows, 1)
        return Scores(values, 0, np.inf if num_rows else 0.0)
    plan = plan_of(graph)
    shares, partials = cupy.empty(num_rows, np.float32), cupy.empty(plan.num_partials, np.float32)
    control = cupy.zeros(CONTROL_WORDS, np.uint64)
    launch("pagerank/pagerank.cu", "iterate", THREADS, None,
           *plan.arguments, graph.out.offsets, graph.into.offsets, np.int64(num_rows), np.int64(plan.num_without_arcs),
           np.float64(damping), np.float64(tolerance), np.float64(parameters.settled), np.int64(most_iterations),
           shares, partials, values, control, **sizes(), ROW=graph.rows_by_id.dtype)  # fmt: skip
    words = cupy.asnumpy(control)
    return Scores(values, int(words[_ITERATIONS]), float(words.view(np.float64)[_CHANGE]))
