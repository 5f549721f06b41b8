"""The certificate of core numbers on all cores: rows of different cores are removed by different threads."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.certificate.rules import Broken, require_array
from kernels.cores import Cores
from kernels.cores.certificate.reasons import too_large, too_small
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import over_items, over_rows, ranges
from kernels.graph import OFFSET, Array, Csr, Graph

Arcs = tuple[Array, Array]


class ArcSides(NamedTuple):
    """The arcs at both ends of rows, which ascend by the positions of neighbours, so that repeats are adjacent when merged."""

    out: Arcs
    into: Arcs  # none if the graph is symmetric
    positions: Array  # index width: of all rows that arcs lead to


def check(graph: Graph, answer: Cores) -> None:
    """Raise Broken at the first rule that is broken."""
    num_rows = graph.num_vertices
    core = require_array("core", answer.core, num_rows, OFFSET)
    sides = sides_of(graph.out, graph.into, graph.positions)
    left = supports(sides, core, num_rows)
    if (left < core).any():
        raise Broken(too_large(graph, core, left, int((left < core).argmax())))
    removed, debts = np.zeros(num_rows, np.bool_), np.empty(0, OFFSET)
    order = np.argsort(core, kind="stable")
    ascending = core[order]
    tried = [begin for begin, _ in ranges(num_rows)][1:]
    cuts = np.unique([0, *np.searchsorted(ascending, ascending[tried]), num_rows])  # between two cores
    over_items(pairwise(cuts.tolist()), lambda part: _remove(sides, core, left, removed, debts, order[slice(*part)]))
    if not removed.all():
        raise Broken(too_small(graph, core, int(removed.argmin())))


def sides_of(out: Csr, into: Csr, positions: Array) -> ArcSides:
    """Both sides of rows."""
    of_out, of_into = ((frozen(csr.offsets), frozen(csr.indices)) for csr in (out, into))
    none = frozen(np.zeros_like(out.offsets)), frozen(out.indices[:0])
    return ArcSides(of_out, none if into is out else of_into, frozen(positions))


def supports(sides: ArcSides, core: Array, num_own: int) -> Array:
    """How many neighbours of each of the first `num_own` rows have its core or more: int64 [num_own].

    Args:
        core (int64): Of all rows that arcs lead to.
    """
    counts = np.empty(num_own, OFFSET)
    out = Csr(sides.out[0][: num_own + 1], sides.out[1], None)
    over_rows(out, lambda begin, end: _count(sides, core, begin, end, counts))
    return counts


def remove(sides: ArcSides, core: Array, left: Array, removed: Array, debts: Array) -> None:
    """Remove own rows until none has at most `core` neighbours left.

    Args:
        left (int64 [n]): How many neighbours of its core or more each own row has left; lowered in place.
        removed (bool [n]): Changed in place.
        debts (int64 [g]): Raised in place by the number of neighbours that each row behind the own ones lost.
    """
    rows = np.flatnonzero((left <= core[: len(left)]) & ~removed)
    _remove(sides, core, left, removed, debts, rows)


@njit(cache=True, **UNCOUNTED)
def _next(sides: ArcSides, one: int, last_one: int, two: int, last_two: int) -> tuple[int, int, int]:
    """The next neighbour of two merged lists of arcs, and what is left of them."""
    if two == last_two:
        return sides.out[1][one], one + 1, two
    if one == last_one:
        return sides.into[1][two], one, two + 1
    first, second = sides.out[1][one], sides.into[1][two]
    if sides.positions[first] <= sides.positions[second]:
        return first, one + 1, two
    return second, one, two + 1


@njit(cache=True, nogil=True)
def _count(sides: ArcSides, core: Array, begin: int, end: int, counts: Array) -> None:
    """`supports` of a range of rows."""
    (out, _), (into, _), _ = sides
    for row in range(begin, end):
        one, two, previous, count = out[row], into[row], row, 0
        while one < out[row + 1] or two < into[row + 1]:
            other, one, two = _next(sides, one, out[row + 1], two, into[row + 1])
            repeats, previous = other == previous, other
            if not repeats and other != row:
                count += core[other] >= core[row]
        counts[row] = count


@njit(cache=True, nogil=True)
def _remove(sides: ArcSides, core: Array, left: Array, removed: Array, debts: Array, rows: Array) -> None:
    """`remove`, from some rows on, with all of their cores."""
    (out, _), (into, _), _ = sides
    stack = np.empty(len(rows), np.int64)
    for begin in rows:
        if removed[begin] or left[begin] > core[begin]:
            continue
        stack[0], removed[begin], height = begin, True, 1
        while height:
            height -= 1
            row = stack[height]
            one, two, previous = out[row], into[row], row
            while one < out[row + 1] or two < into[row + 1]:
                other, one, two = _next(sides, one, out[row + 1], two, into[row + 1])
                repeats, previous = other == previous, other
                if repeats or other == row or core[other] != core[row]:
                    continue
                if other >= len(left):
                    debts[other - len(left)] += 1
                elif not removed[other]:
                    left[other] -= 1
                    if left[other] <= core[other]:
                        if height == len(stack):
                            stack = np.concatenate((stack, np.empty_like(stack)))
                        stack[height], removed[other] = other, True
                        height += 1
