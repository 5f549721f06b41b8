"""Compile the CPU kernels into Numba's cache, so that the first run does not wait for the compiler."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import product
from multiprocessing import get_context

import numpy as np
from numpy.typing import DTypeLike

from kernels.algorithm import Algorithm
from kernels.arrays import frozen
from kernels.cpu import parallel
from kernels.cpu.parallel import first_other, gathered, looked_up
from kernels.distributed.communicator import SingleRank
from kernels.graph import NO_ROW, Graph
from kernels.layout.building import build_csr
from kernels.layout.certificate import certify_layout
from kernels.layout.certificate.claim import Claim
from kernels.layout.rules import ArcRules, Edges
from kernels.registry import ALGORITHMS

WEIGHTS = (None, np.int32, np.float64)  # that ingest writes


def compile_all() -> None:
    """Lay out a small graph and run every algorithm and certificate on it, for each type of weights.

    Once as it is, and once as if threads were worth it, because large graphs have functions of their own. Each type has a
    process.
    """
    with ProcessPoolExecutor(min(parallel.cores(), len(WEIGHTS)), get_context("spawn")) as processes:
        list(processes.map(_compile_for, WEIGHTS))


def _compile_for(weights: DTypeLike | None) -> None:
    for symmetric, threads in product((True, False), (False, True)):
        with _threads() if threads else nullcontext():
            graph = _graph(weights, symmetric)
            for algorithm in ALGORITHMS:
                _warm_up(algorithm, graph)
            _gather(graph)


def _warm_up(algorithm: Algorithm, graph: Graph) -> None:
    if algorithm.warm_up:
        algorithm.resolve("warm_up")(graph)
        return
    answer = algorithm.resolve("solver")(graph, *([0] if algorithm.has_sources else []))
    certificate = algorithm.resolve("certificate")(graph, answer)
    assert certificate.holds, certificate.reason


def _gather(graph: Graph) -> None:
    """What tables of the graph's answers are written and read with."""
    rows, table = graph.rows_by_id, np.append(graph.rows_by_id, graph.rows_by_id.dtype.type(NO_ROW))
    ids = gathered(graph.ids, rows)
    assert first_other(ids, graph.ids, rows) == -1
    assert np.array_equal(looked_up(table, int(ids[0]), ids), rows)


def _graph(weights: DTypeLike | None, symmetric: bool) -> Graph:
    """The layout of a star and of an edge that is parallel to another; large enough for a range of rows for every core."""
    src, dst = np.zeros(1000, np.int64), np.maximum(np.arange(1000), 1)
    # Columns of a table are read-only, which Numba compiles apart.
    edges = Edges(frozen(src), frozen(dst), None if weights is None else frozen(np.ones(len(src), weights)))
    rules = ArcRules(range(0), both=symmetric, keep_self_loops=False, keep_parallel=False)
    laid_out = build_csr(edges, rules, 2**62, SingleRank())
    out = laid_out.take(0, "out")
    graph = Graph(laid_out.ids, laid_out.rows_by_id, out, out if symmetric else laid_out.take(0, "in"), not symmetric)
    degrees = laid_out.degrees("out"), laid_out.degrees("in")
    dropped = edges.take(slice(0)).with_parts(laid_out.dropped)
    claim = Claim(graph.num_vertices, graph.num_arcs, 0, len(src) if symmetric else 0, 2 if symmetric else 1, *degrees, dropped)
    certificate = certify_layout(edges, rules, claim, graph, SingleRank())
    assert certificate.holds, certificate.reason
    return graph


@contextmanager
def _threads() -> Iterator[None]:
    """Let every loop use threads, however short it is."""
    before = parallel.WORTH_A_THREAD
    parallel.WORTH_A_THREAD = 1
    try:
        yield
    finally:
        parallel.WORTH_A_THREAD = before
