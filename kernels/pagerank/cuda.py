"""PageRank on the GPU: all iterations in one cooperative launch, with tiles (pagerank.cu) or without (pull.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.answers import Scores
from kernels.gpu.loader import launch
from kernels.graph import Array, Graph
from kernels.pagerank.constants import CONTROL_WORDS, PULL_THREADS, THREADS
from kernels.pagerank.parameters import PageRankParameters
from kernels.pagerank.pieces import is_pulled, pieces_of
from kernels.pagerank.tiles import plan_of, sizes

_ITERATIONS, _CHANGE = 1, 2  # words of Control


def scores(graph: Graph, parameters: PageRankParameters) -> Scores:
    """Answer `kernels.pagerank.pagerank` on CuPy arrays."""
    num_rows = graph.num_vertices
    if num_rows == 0 or parameters.most_iterations < 1:
        return Scores(cupy.full(num_rows, 1 / max(num_rows, 1)), 0, np.inf if num_rows else 0.0)
    return pulled(graph, parameters) if is_pulled(graph) else in_tiles(graph, parameters)


def pulled(graph: Graph, parameters: PageRankParameters) -> Scores:
    """The scores of at least one row, each from the shares of its in-arcs' tails."""
    pieces, num_rows = pieces_of(graph), graph.num_vertices
    values, control = cupy.empty(num_rows, np.float64), cupy.zeros(CONTROL_WORDS, np.uint64)
    shares, sums, done = cupy.empty(2 * num_rows, np.float32), cupy.empty(len(pieces)), cupy.zeros(len(pieces), np.uint32)
    launch("pagerank/pull.cu", "iterate", PULL_THREADS, None,
           graph.out.offsets, graph.into.offsets, graph.into.indices, pieces, np.int64(len(pieces)),
           *_numbers(num_rows, parameters), shares, sums, done, values, control, ROW=graph.rows_by_id.dtype)  # fmt: skip
    return _answer(values, control)


def in_tiles(graph: Graph, parameters: PageRankParameters) -> Scores:
    """The scores of at least one row, from what each tile contributes."""
    plan, num_rows = plan_of(graph), graph.num_vertices
    # The largest array first: while an earlier answer is kept, the scores would be cut from the block of its partials, and these
    # would need another one, of 10 GB at R-MAT 28
    partials = cupy.empty(plan.num_partials, np.float32)
    shares, values = cupy.empty(num_rows, np.float32), cupy.empty(num_rows, np.float64)
    following, control = plan.next_shares(shares), cupy.zeros(CONTROL_WORDS, np.uint64)
    launch("pagerank/pagerank.cu", "iterate", THREADS, None,
           *plan.arguments, graph.out.offsets, graph.into.offsets, np.int64(plan.num_without_arcs),
           *_numbers(num_rows, parameters), shares, following, partials, values, control,
           **sizes(), ROW=graph.rows_by_id.dtype)  # fmt: skip
    return _answer(values, control)


def _numbers(num_rows: int, parameters: PageRankParameters) -> tuple[Any, ...]:
    """Arguments of both kernels."""
    damping, tolerance, most = parameters
    return np.int64(num_rows), np.float64(damping), np.float64(tolerance), np.float64(parameters.settled), np.int64(most)


def _answer(values: Array, control: Any) -> Scores:
    words = cupy.asnumpy(control)
    return Scores(values, int(words[_ITERATIONS]), float(words.view(np.float64)[_CHANGE]))
