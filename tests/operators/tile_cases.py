"""Sweeps that can be made in the order of tiles, and what they give on any backend."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kernels.graph import Graph
from kernels.library.operators import (
    Frontier,
    Rules,
    UserFunctionError,
    advance,
    atomic_add,
    atomic_max,
    atomic_min,
    atomic_or,
    reduce,
)
from kernels.library.operators.gpu.constants import TILE_ROUND
from tests.operators.cases import host, like, thirds

AT_ONCE = Rules(tiled_after=0)


def frontiers(graph: Graph, rules: Rules = AT_ONCE) -> list[Frontier]:
    """All rows, and flags."""
    size = graph.num_vertices
    flags = Rules(sparse_rows=0.0, tiled_after=rules.tiled_after)
    few = np.flatnonzero(np.arange(size) % (2 * TILE_ROUND) >= TILE_ROUND)  # so that no row of some rounds is in it
    return [Frontier.everything(graph, rules), thirds(graph, flags), Frontier.of_rows(graph, few, flags)]


def on_tiles(graph: Graph, direction: Any, frontier: Frontier) -> list[Any]:
    """Pushes and pulls of each kind: updates and their frontiers, totals of each type, with and without rows and weights."""
    size = graph.num_vertices
    numbers = like(graph, (np.arange(size) * 7919 % 10007 - 5000).astype(np.int32))
    wide, reals = like(graph, np.arange(size) * 104729 % 1000003), like(graph, np.cos(np.arange(size)).astype(np.float32))
    marks = like(graph, np.arange(size) % 5 == 2)
    near, far, bits = (like(graph, np.full(size, value, kind)) for value, kind in ((1 << 30, "i4"), (-1, "i8"), (0, "i4")))
    low, heavy = like(graph, np.full(size, 1 << 30, np.int32)), like(graph, np.zeros(size, np.float64))
    lowest, count = like(graph, np.full(size, 0.5, np.float64)), like(graph, np.zeros(1, np.int64))
    out, totals = like(graph, np.zeros(size, np.int64)), like(graph, np.zeros(size, np.float64))

    def relax(neighbour, weight):
        atomic_min(near, neighbour, int(weight) * 3 + 1)

    def relax_from(row, neighbour, weight, own):
        found = own + int(weight)
        return found > far[neighbour] and atomic_max(far, neighbour, found)

    def lower(neighbour):
        return atomic_min(low, neighbour, numbers[neighbour])

    def weigh(neighbour, weight):
        return weight > heavy[neighbour] and atomic_max(heavy, neighbour, weight)

    def begin(row, degree):
        return row * 3 % 1000 + degree

    def mark(row, neighbour):
        changes = atomic_or(bits, neighbour, 1 << row % 31)
        return atomic_min(lowest, neighbour, reals[row]) or changes

    def count_arcs(neighbour):
        atomic_add(count, 0, 1)
        return marks[neighbour]

    results, found = list[Any](), list[Any]()
    advance(frontier, relax, direction=direction)
    found += [advance(frontier, each, direction=direction) for each in (lower, weigh)]
    found.append(advance(frontier, count_arcs, direction=direction))
    found.append(advance(frontier, relax_from, direction=direction, before=begin))
    found.append(advance(frontier, mark, direction=direction))
    results += [near.copy(), far.copy(), bits.copy(), lowest.copy(), count.copy(), low, heavy]

    def give(neighbour):
        return numbers[neighbour]

    def give_marked(neighbour):
        return marks[neighbour]

    def give_pair(row, neighbour, weight, own):
        total = numbers[neighbour] * int(weight) + wide[neighbour]
        for k in range(row % 3):
            total += k
        return total - own if marks[neighbour] else total // (own + 1)

    def give_real(neighbour, weight):
        return -reals[neighbour] * weight

    def keep(row, total, degree):
        out[row] = total + degree
        return total % 2 == 0

    def keep_own(row, total, own):
        out[row] = total - own

    def keep_real(row, total):
        totals[row] = total

    for how in ("sum", "min", "max"):
        found.append(advance(frontier, give, direction=direction, after=keep, collect=how))
        results.append(out.copy())
        advance(frontier, give_pair, direction=direction, before=begin, after=keep_own, collect=how)
        results.append(out.copy())
    advance(frontier, give_marked, direction=direction, after=keep, collect="sum")
    results.append(out.copy())
    for how in ("min", "max"):
        advance(frontier, give_real, direction=direction, after=keep_real, collect=how)
        results.append(totals.copy())
    return [host(each) for each in (*results, *(part for each in found for part in (each.rows(), each.size)))]


def everything_on_tiles(graph: Graph) -> list[Any]:
    """Both directions, every frontier."""
    return [each for direction in ("out", "in") for frontier in frontiers(graph) for each in on_tiles(graph, direction, frontier)]


def failures(graph: Graph) -> Iterator[str]:
    """Messages of functions that fail for several rows and arcs: of the smallest row, in its first function, at its first arc."""
    size = graph.num_vertices
    numbers, totals = like(graph, np.arange(size) % 50), like(graph, np.zeros(size, np.int64))

    def outside(row, neighbour, weight):
        return numbers[neighbour] + numbers[neighbour + (300 if weight > 3 and row > 7 else 0)]

    def by_zero(neighbour):
        return 100 // (numbers[neighbour] - 7)

    def by_weight(neighbour, weight):
        return numbers[neighbour] % (weight - 5)

    def fine(neighbour):
        return numbers[neighbour]

    def endless(neighbour, row):
        k = 0
        while numbers[neighbour] == 3 and row % 4 == 1:
            k += 1
        return k

    def early(row):
        return 5 % (row - 43)

    def late(row, total):
        totals[row] = total // (row - 42)

    def value(row):
        return row

    calls: list[tuple[Any, Any, Any]] = [(outside, None, None), (by_zero, None, late), (by_weight, early, late)]
    calls += [(fine, early, late), (fine, None, late), (fine, early, None), (endless, None, None)]
    for frontier in frontiers(graph):
        for edge, before, after in calls:
            for direction in ("out", "in"):
                try:
                    advance(frontier, edge, before=before, after=after, collect="sum", direction=direction)
                    reduce(frontier, value)  # which reads the failure back
                except UserFunctionError as error:
                    yield str(error)
                else:
                    yield ""
