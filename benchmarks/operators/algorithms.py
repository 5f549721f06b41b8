"""Every algorithm of examples/ beside our kernel for the same answer and cuGraph, where there is one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import cupy as cp
import numpy as np

from benchmarks.one_gpu import peers
from benchmarks.one_gpu.contests import arcs_of
from benchmarks.one_gpu.timing import random_sources
from benchmarks.operators.clock import call_times
from benchmarks.operators.tables import OperatorRow, attempt
from examples.components.by_search import by_search
from examples.components.closure_by_search import closure_by_search
from examples.components.colouring import colouring
from examples.components.communities import communities
from examples.components.floyd_warshall import floyd_warshall
from examples.components.forward_backward import forward_backward
from examples.components.label_propagation import label_propagation
from examples.components.random_neighbour import random_neighbour
from examples.components.shiloach_vishkin import shiloach_vishkin
from examples.paths.bellman_ford import bellman_ford
from examples.paths.bellman_ford_partial import bellman_ford_partial
from examples.paths.bottom_up import bottom_up
from examples.paths.brandes import brandes
from examples.paths.delta_stepping import delta_stepping
from examples.paths.dijkstra import dijkstra
from examples.paths.direction_optimising import direction_optimising
from examples.paths.top_down import top_down
from examples.weights import pagerank as ranks
from examples.weights.boruvka import boruvka
from examples.weights.flow_by_search import flow_by_search
from examples.weights.push_relabel import push_relabel
from kernels.betweenness import betweenness
from kernels.bfs import bfs
from kernels.closure import closure
from kernels.communities import communities as own_communities
from kernels.flow import max_flow
from kernels.forest import minimum_spanning_forest
from kernels.graph import Graph
from kernels.pagerank import pagerank
from kernels.scc import scc
from kernels.sssp import sssp
from kernels.wcc import wcc

SMALL, MEDIUM, LARGE = range(3)  # graphs of 2^10, 2^20 and 2^24 rows
_TABLE, _RANKS = 16, "pagerank, an iteration"
_PEER_SECONDS = 0.5
_TOLERANCE = 1e-2  # of PageRank: enough iterations for a time per iteration


@dataclass(frozen=True)
class Pairing:
    """An algorithm: `solve(graph, row)`; our kernel; whether both answers are the same; cuGraph's name for it."""

    name: str
    solve: Callable[[Graph, int], Any]
    kernel: Callable[[Graph, int], Any]
    same: Callable[[Graph, Any, Any], bool]  # `same(graph, found, ours)`; communities of two methods differ
    peer: str | None
    most: int  # the largest graphs on which it takes less than seconds
    symmetric: bool | None = None  # None: on all graphs


def _same_levels(_: Graph, found: Any, ours: Any) -> bool:
    return bool((found == ours.distance).all())


def _same_lengths(_: Graph, found: Any, ours: Any) -> bool:
    return bool((found == cp.where(ours.distance < 0, np.inf, ours.distance.astype(np.float64))).all())


def _same_parts(_: Graph, found: Any, ours: Any) -> bool:
    return peers.same_parts((cp.arange(len(found)), found), ours)


def _same_shares(_: Graph, found: Any, ours: Any) -> bool:
    return peers.same_shares((cp.arange(len(found)), found), ours)


def _same_pairs(graph: Graph, found: Any, ours: Any) -> bool:
    """Whether the bits of each row, in words of 64, are the pairs. NumPy's bitwise_count would count bits of absolute values."""
    bits = np.unpackbits(cp.asnumpy(found).view(np.uint8), bitorder="little").reshape(graph.num_vertices, -1)
    expected = np.zeros_like(bits)
    expected[cp.asnumpy(ours.vertex), cp.asnumpy(ours.reached)] = 1
    return bool((bits == expected).all())


def _same_forest(graph: Graph, found: Any, ours: Any) -> bool:
    """Whether the edges chosen among all, ascending by weight, are as many as ours and have the same weight."""
    src, dst, weights = arcs_of(graph)
    assert weights is not None
    chosen = cp.sort(weights[src < dst])[found]
    return len(chosen) == len(ours.weights) and int(chosen.sum(dtype=np.int64)) == int(ours.weights.sum(dtype=np.int64))


def _same_flow(_: Graph, found: Any, ours: Any) -> bool:
    return bool(found[0] == int(ours.value[0]))


def _delta_of(graph: Graph, row: int) -> Any:
    assert graph.out.weights is not None
    return delta_stepping(graph, row, float(graph.out.weights.max()) / 2)


def _flow(graph: Graph, row: int) -> Any:
    return max_flow(graph, cp.array([row]), cp.array([0 if row else 1]))


def _components(name: str, solve: Callable[[Graph], Any], most: int) -> Pairing:
    return Pairing(name, lambda graph, _: solve(graph), lambda graph, _: wcc(graph), _same_parts, "wcc", most, symmetric=True)


ALGORITHMS = (
    Pairing("top_down", top_down, bfs, _same_levels, "bfs", MEDIUM),
    Pairing("bottom_up", bottom_up, bfs, _same_levels, "bfs", MEDIUM),
    Pairing("direction_optimising", direction_optimising, bfs, _same_levels, "bfs", MEDIUM),
    Pairing("bellman_ford", bellman_ford, sssp, _same_lengths, "sssp", MEDIUM, symmetric=True),
    Pairing("bellman_ford_partial", bellman_ford_partial, sssp, _same_lengths, "sssp", MEDIUM, symmetric=True),
    Pairing("dijkstra", dijkstra, sssp, _same_lengths, "sssp", MEDIUM, symmetric=True),
    Pairing("delta_stepping", _delta_of, sssp, _same_lengths, "sssp", MEDIUM, symmetric=True),
    _components("shiloach_vishkin", shiloach_vishkin, LARGE),
    _components("by_search", by_search, SMALL),
    _components("random_neighbour", random_neighbour, LARGE),
    _components("label_propagation", label_propagation, LARGE),
    _components("colouring", colouring, LARGE),
    Pairing("communities", lambda graph, _: communities(graph), lambda graph, _: own_communities(graph), lambda *_: True,
             "communities", SMALL, symmetric=True),
    Pairing("floyd_warshall", lambda graph, _: floyd_warshall(graph), lambda graph, _: closure(graph), _same_pairs, None, SMALL),
    Pairing("closure_by_search", lambda graph, _: closure_by_search(graph), lambda graph, _: closure(graph), _same_pairs, None,
             SMALL),
    Pairing("forward_backward", lambda graph, _: forward_backward(graph), lambda graph, _: scc(graph), _same_parts, "scc", LARGE,
             symmetric=False),
    Pairing("brandes, all sources", lambda graph, _: brandes(graph, range(graph.num_vertices)),
             lambda graph, _: betweenness(graph, weights=False), _same_shares, "betweenness", SMALL, symmetric=True),
    Pairing("boruvka", lambda graph, _: boruvka(graph)[0], lambda graph, _: minimum_spanning_forest(graph),
             _same_forest, "forest", MEDIUM, symmetric=True),
    Pairing("push_relabel", lambda graph, row: push_relabel(graph, row, 0 if row else 1), _flow, _same_flow, None, SMALL,
             symmetric=True),
    Pairing("flow_by_search", lambda graph, row: flow_by_search(graph, row, 0 if row else 1), _flow, _same_flow, None, SMALL,
             symmetric=True),
)  # fmt: skip


def of_graph(graph: Graph, name: str, size: int) -> Iterator[OperatorRow]:
    """Table 16: the algorithms for graphs of this size; those that a larger graph has are left out of the small one."""
    (source,) = random_sources(graph, 1)
    way, timed = _peer(graph), dict[str, float | None]()
    for each in ALGORITHMS:
        if each.most < size or (size == SMALL and each.most != SMALL) or each.symmetric not in (None, graph.symmetric):
            continue
        yield attempt(_TABLE, name, each.name, lambda: _raced(graph, source, name, each, way, timed))  # noqa: B023
    if size != SMALL:
        yield attempt(_TABLE, name, _RANKS, lambda: _ranks(graph, name, way))


def _raced(graph: Graph, source: int, name: str, of: Pairing, way: Any, timed: dict[str, float | None]) -> OperatorRow:
    """The row of an algorithm; `timed` has the times of cuGraph's that are known."""
    ours = of.kernel(graph, source)
    if not of.same(graph, of.solve(graph, source), ours):
        raise AssertionError(f"{name}: {of.name} is wrong")
    if of.peer and of.peer not in timed:
        timed[of.peer] = _of_cugraph(way, of.peer, ours, source)
    times, kernel = (call_times(lambda call=call: call(graph, source)) for call in (of.solve, of.kernel))
    note = "" if of.peer else "cuGraph has none"
    return OperatorRow(
        _TABLE, name, of.name, times,
        beside=kernel.median, beside_name="our kernel", peer=of.peer and timed[of.peer], note=note,
    )  # fmt: skip


def _ranks(graph: Graph, name: str, way: Any) -> OperatorRow:
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
    times = call_times(lambda: ranks.pagerank(graph, tolerance=_TOLERANCE)).each(iterations)
    ours = pagerank(graph, iterations=iterations)
    own = call_times(lambda: pagerank(graph, iterations=iterations)).median / iterations
    peer = _of_cugraph(way, "pagerank", ours, iterations)
    note = f"{iterations} iterations, float64; cuGraph's float32"
    return OperatorRow(
        _TABLE, name, _RANKS, times,
        beside=own, beside_name="our kernel", peer=peer and peer / iterations, note=note,
    )  # fmt: skip


def _peer(graph: Graph) -> Any:
    try:
        return peers.Pylibcugraph(graph, np.dtype(np.float32))
    except ImportError:
        return None


def _of_cugraph(way: Any, kernel: str, ours: Any, argument: int) -> float | None:
    if way is None:
        return None
    call = (argument,) if kernel in ("bfs", "sssp", "pagerank") else ()
    return peers.race(way, kernel, ours, [call] * 5, _PEER_SECONDS).milliseconds
