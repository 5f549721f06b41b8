"""What keeps indirectly read values near: clusters, segments, packed values, and frontiers by groups of degrees."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import cupy as cp
import numpy as np

from benchmarks.one_gpu.graphs import GeneratedEdges
from benchmarks.one_gpu.timing import random_sources
from benchmarks.operators.clock import Times, call_times, kernel_times
from benchmarks.operators.tables import OperatorRow
from benchmarks.packing import FAR, quotients, visits
from kernels.bfs import bfs
from kernels.graph import Graph
from kernels.library.operators import Frontier, Rules, advance, compute, repeat_advance

_SEGMENTS = 4
_GROUPS = (1024, 32, 0)  # least degrees


def ablation(load: Callable[[], GeneratedEdges], name: str) -> Iterator[OperatorRow]:
    """Table 17: rows in random order or clustered by degree, neighbours in one segment or several, and the order of tiles."""
    edges = load()
    for order, clustered in (("source", False), ("degree", True)):
        graph = replace(edges, order=order).graph()
        for ways, rules in (("{}", Rules(tiled_after=None)), ("{}segments", Rules(tiled_after=None, segments=_SEGMENTS)),
                            ("{}tiles", Rules(tiled_after=0))):  # fmt: skip
            what = ways.format(("clusters" if ways == "{}" else "clusters and ") if clustered else "") or "none"
            yield OperatorRow(17, name, what, kernel_times(_summed(Frontier.everything(graph, rules))), 8.0 * graph.num_arcs)
        del graph
        cp.get_default_memory_pool().free_all_blocks()


def _summed(frontier: Frontier) -> Callable[[], Any]:
    """A sum of int32 over the neighbours of the frontier's rows."""
    size = frontier.graph.num_vertices
    values, sums = cp.arange(size, dtype=np.int32), cp.zeros(size, np.int32)

    def give(neighbour):
        return values[neighbour]

    def keep(row, total):
        sums[row] = total

    return lambda: advance(frontier, give, after=keep, collect="sum")


def packed(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Table 18: two values of a neighbour in one word of 8 bytes, beside two arrays."""
    yield from _ranks_and_degrees(graph, name)
    yield from _levels_and_parents(graph, name)


def _ranks_and_degrees(graph: Graph, name: str) -> Iterator[OperatorRow]:
    frontier, shares = Frontier.everything(graph, Rules(tiled_after=None)), quotients(graph)

    def time(edge: Callable[..., Any]) -> Times:
        return kernel_times(lambda: advance(frontier, edge, after=shares.keep, collect="sum"))

    two = time(shares.of_two)
    yield OperatorRow(18, name, "sum of rank / degree, two arrays of 4 bytes", two, 12.0 * graph.num_arcs)
    for what, edge, num_bytes in (
        ("packed in 8 bytes", shares.of_packed, 12.0), ("the quotient, float32, made once for each row", shares.of_share, 8.0)
    ):  # fmt: skip
        yield OperatorRow(
            18, name, f"sum of rank / degree, {what}", time(edge), num_bytes * graph.num_arcs,
            beside=two.median, beside_name="two arrays",
        )  # fmt: skip


def _levels_and_parents(graph: Graph, name: str) -> Iterator[OperatorRow]:
    (source,) = random_sources(graph, 1)
    expected, found = bfs(graph, source).distance, visits(graph)
    levels, parents, state = found.levels, found.parents, found.state

    def start_two(row):
        levels[row] = 0 if row == source else FAR
        parents[row] = row if row == source else FAR

    def start_packed(row):
        state[row] = row if row == source else FAR << 32

    def search(start: Callable[..., Any], visit: Callable[..., Any]) -> Times:
        def call() -> None:
            compute(Frontier.everything(graph), start)
            repeat_advance(Frontier.of_rows(graph, [source]), visit)

        return call_times(call)

    two, one = search(start_two, found.visit_two), search(start_packed, found.visit_packed)
    reached = expected >= 0
    if not bool((levels[reached] == expected[reached]).all()):
        raise AssertionError(f"{name}: levels are wrong")
    if not found.agree(reached):
        raise AssertionError(f"{name}: two arrays and packed words differ")
    yield OperatorRow(18, name, "levels and parents top-down, two arrays of 4 bytes", two, note="from call to answer")
    yield OperatorRow(
        18, name, "levels and parents top-down, packed in 8 bytes", one, beside=two.median, beside_name="two arrays",
        note="from call to answer",
    )  # fmt: skip


def mixed_frontiers(graph: Graph, name: str) -> Iterator[OperatorRow]:
    """Table 19: each level of a search as one frontier, and as one for each group of degrees, each in its faster kind."""
    (source,) = random_sources(graph, 1)
    levels, degrees = bfs(graph, source).distance, cp.diff(graph.out.offsets)
    for level in range(int(levels.max()) + 1):
        inside, most = levels == level, 1 << 62
        whole, parts, kinds = _fastest(graph, inside), 0.0, []
        for least in _GROUPS:
            group = (degrees >= least) & (degrees < most)
            part, of_group, most = inside & group, int(group.sum()), least
            if (count := int(part.sum())) and of_group:
                best, kind = _fastest(graph, part)
                parts += best.median
                kinds.append(f"{count / of_group:.1%} of those of {least} arcs or more: {kind}")
        note = f"{whole[1]}; {', '.join(kinds)}"
        what = f"level {level}, {int(inside.sum()):,} rows"
        yield OperatorRow(19, name, what, whole[0], beside=parts, beside_name="by groups", note=note)


def _fastest(graph: Graph, inside: Any) -> tuple[Times, str]:
    """The times of a sum over the arcs of these rows, with a list or with flags, and which it was."""
    rows, found = cp.flatnonzero(inside), dict[str, Times]()
    for kind, share in (("list", 1.0), ("flags", 0.0)):
        frontier = Frontier.of_rows(graph, rows, Rules(sparse_rows=share, tiled_after=None))
        found[kind] = kernel_times(_summed(frontier))
    best = min(found, key=lambda kind: found[kind].median)
    return found[best], best
