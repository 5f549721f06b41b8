"""Breadth-first search and shortest paths in Python, beside hand-written kernels of the same method, our own kernels, cuGraph."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import cupy as cp
import numpy as np

from benchmarks.one_gpu import peers
from benchmarks.one_gpu.timing import random_sources
from benchmarks.operators.clock import Times, call_times
from benchmarks.operators.energy import Meter
from benchmarks.operators.handwritten import search
from benchmarks.operators.tables import OperatorRow, attempt
from examples.paths import bellman_ford as all_arcs
from examples.paths.bellman_ford_partial import bellman_ford_partial
from examples.paths.delta_stepping import delta_stepping
from examples.paths.direction_optimising import direction_optimising
from examples.paths.top_down import top_down
from kernels.bfs import bfs
from kernels.graph import Array, Graph
from kernels.sssp import sssp

_PEER_SECONDS = 0.5


def of_graph(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Tables 12 and 13."""
    (source,) = random_sources(graph, 1)
    levels, lengths = bfs(graph, source).distance, sssp(graph, source).distance.astype(np.float64)
    lengths = cp.where(lengths < 0, np.inf, lengths)
    reached = int(cp.diff(graph.out.offsets)[levels >= 0].sum())
    rows = graph.num_vertices

    def of(what: str, call: Callable[[Graph, int], Array], expected: Array, num_bytes: float | None) -> OperatorRow:
        def measure() -> OperatorRow:
            if not bool((call(graph, source) == expected).all()):
                raise AssertionError(f"{name}: {what} is wrong")
            return OperatorRow(12, name, what, call_times(lambda: call(graph, source)), num_bytes)

        return attempt(12, name, what, measure)

    levels_bytes, meter = 12.0 * reached + 8 * rows, Meter()
    by_hand = of("levels, hand-written, top-down", lambda g, s: search(g, s, False), levels, levels_bytes)
    yield by_hand
    yield beside(of("levels, top_down", top_down, levels, levels_bytes), by_hand.times, "hand-written")
    optimised = of("levels, direction_optimising", direction_optimising, levels, None)
    yield beside(optimised, call_times(lambda: bfs(graph, source)), "kernels.bfs, which also finds predecessors,")
    by_hand = of("lengths, hand-written, changed rows", lambda g, s: search(g, s, True), lengths, None)
    yield by_hand
    yield beside(of("lengths, bellman_ford_partial", bellman_ford_partial, lengths, None), by_hand.times, "hand-written")
    if graph.out.weights is not None:
        most = float(graph.out.weights.max())
        for parts in (2, 8):
            what = f"lengths, delta_stepping, 1/{parts} of the largest weight"
            yield of(what, lambda g, s, parts=parts: delta_stepping(g, s, most / parts), lengths, None)
    rounds = _rounds(graph, source)
    if rounds * graph.num_arcs < 1 << 36:  # the method reads all arcs in each round
        num_bytes = rounds * (16.0 * graph.num_arcs + 16 * rows)
        swept = of("lengths, bellman_ford", all_arcs.bellman_ford, lengths, num_bytes)
        own = call_times(lambda: sssp(graph, source))
        yield beside(swept, own, f"{rounds} rounds; kernels.sssp, which also finds predecessors,")
    yield from _of_cugraph(graph, name, source)
    if meter.works:
        yield from _energy(graph, name, source, meter)


def _energy(graph: Graph, name: str, source: int, meter: Meter) -> Iterator[OperatorRow]:
    for call in (top_down, direction_optimising, bellman_ford_partial):
        joules, of_cpus, seconds = meter.of(lambda call=call: call(graph, source))
        note = f"{joules:.3g} J, {joules / seconds:.0f} W, {graph.num_arcs / seconds / 1e9 / (joules / seconds):.3g} GTEPS/W"
        cpus = "" if of_cpus is None else f"; CPUs {of_cpus:.3g} J, {of_cpus / seconds:.0f} W"
        yield OperatorRow(13, name, call.__name__, Times.of([1000 * seconds]), note=note + cpus)


def idle(meter: Meter) -> Iterator[OperatorRow]:
    """Table 13: what a GPU takes that has a context and nothing to do."""
    if meter.works:
        time.sleep(1)
        joules, of_cpus, seconds = meter.of(lambda: time.sleep(0.5), 2.0)
        cpus = "" if of_cpus is None else f"; CPUs {of_cpus / seconds:.0f} W"
        yield OperatorRow(13, "none", "idle", None, note=f"{joules / seconds:.0f} W{cpus}")


def beside(row: OperatorRow, other: Times | None, name: str) -> OperatorRow:
    """The row, beside another way of doing the same, if that was measured."""
    return replace(row, beside=other.median, beside_name=name) if other else row


def _rounds(graph: Graph, source: int) -> int:
    """Rounds of the all-active method from a row; at most the levels of arcs + 1."""
    counted = 0

    def count(*arguments: Any, **named: Any) -> Any:
        nonlocal counted
        counted += 1
        if counted * graph.num_arcs >= 1 << 36:
            raise StopIteration
        return advance(*arguments, **named)

    advance = all_arcs.advance
    with suppress(StopIteration), patch.object(all_arcs, "advance", count):
        all_arcs.bellman_ford(graph, source)
    return counted


def _of_cugraph(graph: Graph, name: str, source: int) -> Iterator[OperatorRow]:
    try:
        way = peers.Pylibcugraph(graph, np.dtype(np.float32))
    except ImportError:
        return
    for kernel, solve in (("bfs", bfs), ("sssp", sssp)):
        timed = peers.race(way, kernel, solve(graph, source), [(source,)] * 5, _PEER_SECONDS)
        if timed.milliseconds is not None:
            yield OperatorRow(12, name, f"cuGraph {kernel}", Times.of([timed.milliseconds]), note=timed.note)
