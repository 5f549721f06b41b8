"""Components, PageRank and forests in Python, beside cuGraph."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import cupy as cp
import numpy as np

from benchmarks.one_gpu import peers
from benchmarks.operators.clock import call_milliseconds
from benchmarks.operators.tables import OperatorRow
from examples.components.forward_backward import forward_backward
from examples.components.label_propagation import label_propagation
from examples.components.shiloach_vishkin import shiloach_vishkin
from examples.weights import pagerank as ranks
from examples.weights.boruvka import boruvka
from kernels.forest import minimum_spanning_forest
from kernels.graph import Array, Graph
from kernels.pagerank import pagerank
from kernels.scc import scc
from kernels.wcc import wcc

_PEER_SECONDS = 2.0
_TOLERANCE = 1e-2  # of PageRank: enough iterations for a time per iteration
_EDGES = 1 << 26  # for more arcs, `boruvka` takes seconds to sort the edges


def of_graph(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Table 16; strong components of directed graphs, weak components and forests of symmetric ones."""
    way = _peer(graph)
    if graph.symmetric:
        parts = wcc(graph)
        for method in (label_propagation, shiloach_vishkin):
            yield _of_parts(graph, name, method, parts)
        yield from _of_cugraph(way, name, "wcc", parts, ())
    else:
        parts = scc(graph)
        yield _of_parts(graph, name, forward_backward, parts)
        yield from _of_cugraph(way, name, "scc", parts, ())
    yield from _ranks(graph, name, way)
    if graph.symmetric and graph.num_arcs < _EDGES:
        tree = minimum_spanning_forest(graph)
        chosen, _ = boruvka(graph)
        if int(chosen.sum()) != len(tree.weights):
            raise AssertionError(f"{name}: boruvka is wrong")
        yield OperatorRow(16, name, "boruvka", call_milliseconds(lambda: boruvka(graph)))
        yield from _of_cugraph(way, name, "forest", tree, ())


def _of_parts(graph: Graph, name: str, method: Callable[[Graph], Array], parts: Any) -> OperatorRow:
    if not peers.same_parts((cp.arange(graph.num_vertices), method(graph)), parts):
        raise AssertionError(f"{name}: {method.__name__} is wrong")
    return OperatorRow(16, name, method.__name__, call_milliseconds(lambda: method(graph)))


def _ranks(graph: Graph, name: str, way: Any) -> Iterator[OperatorRow]:
    counted, reduce = 0, ranks.reduce

    def count(*arguments: Any) -> Any:
        nonlocal counted
        counted += 1
        return reduce(*arguments)

    with patch.object(ranks, "reduce", count):
        found = ranks.pagerank(graph, tolerance=_TOLERANCE)
    iterations = counted // 2  # each reduces twice
    if float(cp.abs(found - pagerank(graph).scores).sum()) > _TOLERANCE / 0.15:  # what the later iterations add
        raise AssertionError(f"{name}: pagerank is wrong")
    taken = call_milliseconds(lambda: ranks.pagerank(graph, tolerance=_TOLERANCE))
    yield OperatorRow(16, name, "pagerank, an iteration", taken / iterations, note=f"{iterations} iterations, float64")
    for row in _of_cugraph(way, name, "pagerank", pagerank(graph, tolerance=1e-30, most_iterations=iterations), (iterations,)):
        each = row.milliseconds and row.milliseconds / iterations
        yield OperatorRow(
            16, name, "cuGraph pagerank, an iteration", each, note=f"{row.note} {iterations} iterations, float32".strip()
        )


def _peer(graph: Graph) -> Any:
    try:
        return peers.Pylibcugraph(graph, np.dtype(np.float32))
    except ImportError:
        return None


def _of_cugraph(way: Any, name: str, kernel: str, ours: Any, call: tuple[int, ...]) -> Iterator[OperatorRow]:
    if way is not None:
        timed = peers.race(way, kernel, ours, [call] * 5, _PEER_SECONDS)
        if timed.milliseconds is not None:
            yield OperatorRow(16, name, f"cuGraph {kernel}", timed.milliseconds, note=timed.note)
