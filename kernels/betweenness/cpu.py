"""Betweenness on the CPU: Brandes' method (2001), each source on one core.

From a source, the number of shortest paths to a row is the sum of those to the tails of its tight in-arcs. On the way back,
farthest rows first, a row's coefficient is (1 + dependency) / paths = 1 / paths + the sum of the coefficients of its tight
out-arcs' heads, and its dependency is paths times that sum. That of a tight arc is the tail's paths times the head's coefficient.

What makes the answer unique: a sum follows the order of the row's arcs, by external ids, ARCS_OF_A_SUM at a time; then these
parts are added in order. Numbers of paths soon exceed 2^53, where they are rounded, and on grids 2^1000; so a value is a double
in 1..2^SPAN times 2^(SPAN e). Scaling by a power of two is exact, so without overflow plain doubles have the same digits.
Dependencies are added as integers (`parameters.scale`).

Rows are numbered by their places in the order of distance, and values are kept by place, so that the values of neighbours, which
are near in this order, are near in memory.
"""

from threading import Lock
from typing import NamedTuple

import numpy as np

from kernels.arrays import frozen
from kernels.betweenness.constants import ARCS_OF_A_SUM, SPAN
from kernels.betweenness.parameters import NO_LENGTH, BetweennessParameters
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.parallel import cores, over_items
from kernels.graph import Array, Csr, Graph, distance_dtype
from kernels.sssp import sssp

_LOW, _HIGH = 2.0**-SPAN, 2.0**SPAN
Arcs = tuple[Array, Array, Array]


class SourceSearch(NamedTuple):
    """What a core keeps while it follows sources one by one."""

    place: Array  # index width [V]: of each row in the order of distance, -1 where not reached
    order: Array  # index width [V]: the row at each place
    starts: Array  # int64 [V + 1]: places where the levels start, without weights
    double: Array  # float64 [V]: number of paths, later the coefficient, `double * 2^(SPAN * exponent)`, by place
    exponent: Array  # int32 [V]
    total: Array  # int64 [V], or [A]: sum of dependencies of each row, or of each out-arc, in units

    @classmethod
    def of(cls, graph: Graph, of_arcs: bool) -> "SourceSearch":
        """Nothing is reached."""
        length, row = graph.num_vertices, graph.rows_by_id.dtype
        places = np.full(length, -1, row), np.empty(length, row), np.empty(length + 1, np.int64)
        total = np.zeros(graph.num_arcs if of_arcs else length, np.int64)
        return cls(*places, np.empty(length), np.empty(length, np.int32), total)


def sum_of_sources(graph: Graph, parameters: BetweennessParameters, sources: Array, bits: int) -> Array:
    """Dependencies of some sources, as `kernels.betweenness` asks, in units of 2^-bits, on NumPy arrays."""
    parallel = len(sources) * (graph.num_arcs + graph.num_vertices) > 1 << 22
    parts = np.array_split(sources, min(4 * cores(), max(len(sources), 1)) if parallel else 1)
    total = np.zeros(graph.num_arcs if parameters.of_edges else graph.num_vertices, np.int64)
    adding = Lock()

    def add(part: Array) -> None:
        of_part = _sum_of_part(graph, parameters, part, bits)
        with adding:
            np.add(total, of_part, out=total)

    over_items(parts, add, parallel=parallel)
    return total


def _sum_of_part(graph: Graph, parameters: BetweennessParameters, sources: Array, bits: int) -> Array:
    weighted = parameters.weights and graph.out.weights is not None
    into, out = arcs_of(graph.into, weighted), arcs_of(graph.out, weighted)
    search = SourceSearch.of(graph, parameters.of_edges)
    distance, reached, ends = np.empty(0, distance_dtype(out[2])), 1, parameters.endpoints
    for source in sources.tolist():
        search.order[0] = source
        if weighted:
            distance = frozen(sssp(graph, source).distance)
            rows = nearest_first(distance)
            reached = len(rows)
            search.order[1:reached] = rows[rows != source]  # others, too, may be at distance 0
        near, number, level = _count_paths(into, out, distance, reached, search)
        if near >= 0:
            raise ArithmeticError(NO_LENGTH.format(graph.ids[near]))
        _add_dependencies(out, distance, number, level, search, 2.0**bits, parameters.of_edges, ends)
    return search.total


def arcs_of(csr: Csr, weighted: bool) -> Arcs:
    """Offsets, indices and weights; an empty array where every arc weighs 1."""
    weights = csr.weights if weighted and csr.weights is not None else np.empty(0, np.int64)
    return frozen(csr.offsets), frozen(csr.indices), frozen(weights)


def nearest_first(distance: Array) -> Array:
    """The reached rows in ascending order of distance; the source is the first."""
    reached = np.flatnonzero(distance >= 0)
    rows: Array = reached[np.argsort(distance[reached], kind="stable")]
    return rows


@njit(cache=True, **UNCOUNTED)
def _plus(double: float, exponent: int, other: float, others: int) -> tuple[float, int]:
    """Sum of two values, rounded once; 0 stands for no value."""
    if double == 0.0:
        return other, others
    if other == 0.0:
        return double, exponent
    if others > exponent:
        double, exponent, other, others = other, others, double, exponent
    if others == exponent:
        double += other
    elif others == exponent - 1:
        double += other * _LOW
    if double >= _HIGH:
        return double * _LOW, exponent + 1
    return double, exponent


@njit(cache=True, **UNCOUNTED)
def _times(double: float, exponent: int) -> float:
    """A value that is less than 2^SPAN, as a double."""
    while exponent < 0 and double > 0.0:
        double, exponent = double * _LOW, exponent + 1
    return double


@njit(cache=True, **UNCOUNTED)
def _tight(
    arcs: Arcs, row: int, arc: int, tails: bool, distance: Array, search: SourceSearch, places: tuple[int, int]
) -> tuple[int, bool]:
    """Place of a row's neighbour by a tight arc, -1 by another one; of parallel arcs the first counts. As `_sum`."""
    offsets, indices, weights = arcs
    other = indices[arc]
    there = search.place[other]
    if len(weights):
        near, far = (distance[other], distance[row]) if tails else (distance[row], distance[other])
        if there < 0 or other == row or near + weights[arc] != far:
            return -1, False
        if near == far:
            return -1, True
    elif not places[0] <= there < places[1]:
        return -1, False
    if arc > offsets[row] and indices[arc - 1] == other:
        return -1, False
    return there, False


@njit(cache=True, **UNCOUNTED)
def _sum(
    arcs: Arcs, row: int, tails: bool, distance: Array, search: SourceSearch, places: tuple[int, int]
) -> tuple[float, int, bool]:
    """Sum of the values of a row's neighbours by tight arcs: of tails by in-arcs, or of heads by out-arcs.

    Without weights, arcs are tight whose neighbours are at these places. Returns the double, the exponent, and whether an in-arc
    has no length.
    """
    offsets, _, _ = arcs
    begin, end = offsets[row], offsets[row + 1]
    total, of_total = 0.0, 0
    for first in range(begin, end, ARCS_OF_A_SUM):
        part, of_part = 0.0, 0
        for arc in range(first, min(first + ARCS_OF_A_SUM, end)):
            there, no_length = _tight(arcs, row, arc, tails, distance, search, places)
            if no_length:
                return 0.0, 0, True
            if there >= 0:
                part, of_part = _plus(part, of_part, search.double[there], search.exponent[there])
        total, of_total = _plus(total, of_total, part, of_part)
    return total, of_total, False


@njit(cache=True, **UNCOUNTED)
def _add_to_arcs(out: Arcs, i: int, distance: Array, search: SourceSearch, places: tuple[int, int], unit: float) -> None:
    """Add the dependencies of the tight out-arcs of the row at place i, whose heads have their coefficients, to the total."""
    row, double, exponent = search.order[i], search.double, search.exponent
    for arc in range(out[0][row], out[0][row + 1]):
        there, _ = _tight(out, row, arc, False, distance, search, places)
        if there >= 0:
            share = _times(double[there] * double[i], exponent[there] + exponent[i])
            search.total[arc] += np.int64(np.rint(share * unit))


@njit(cache=True, **UNCOUNTED)
def _count_paths(into: Arcs, out: Arcs, distance: Array, reached: int, search: SourceSearch) -> tuple[int, int, int]:
    """Set the place and the number of paths of each row that the source reaches; the source is first in the order.

    Args:
        distance: Of paths with weights; otherwise it is not read.
        reached: Length of the order, nearest rows first: all that are reached with weights, 1 without.

    Returns a row that an arc without length reaches, or -1, the number of rows that are reached, and the last level.
    """
    place, order, starts, double, exponent, _ = search
    offsets, indices, weights = out
    for i in range(reached):
        place[order[i]] = i
    double[0], exponent[0], starts[0] = 1.0, 0, 0
    before, start, end, level, i = 0, 0, 1, 0, 0  # places where the level before this one, this one, and the next one start
    while i < reached:
        if i == end and not len(weights):
            before, start, end, level = start, end, reached, level + 1
            starts[level] = start
        row = order[i]
        if i:
            double[i], exponent[i], no_length = _sum(into, row, True, distance, search, (before, start))
            if no_length:
                return row, reached, level
        if not len(weights):
            for arc in range(offsets[row], offsets[row + 1]):
                head = indices[arc]
                if place[head] < 0:
                    place[head], order[reached] = reached, head
                    reached += 1
        i += 1
    return -1, reached, level


@njit(cache=True, **UNCOUNTED)
def _add_dependencies(
    out: Arcs, distance: Array, reached: int, level: int, search: SourceSearch, unit: float, of_arcs: bool, ends: bool
) -> None:
    """Turn numbers of paths into coefficients, farthest rows first, add all dependencies to the total, and free all places.

    Args:
        of_arcs: Whether the total is of arcs.
        ends: Whether a path counts at the rows that it begins and ends at.
    """
    place, order, starts, double, exponent, total = search
    start = end = reached  # of the heads
    for i in range(reached - 1, -1, -1):
        if i < starts[level]:
            start, end, level = starts[level], start, level - 1
        row = order[i]
        if of_arcs:
            _add_to_arcs(out, i, distance, search, (start, end), unit)
        elif ends:
            total[row] += np.int64(unit) * (1 if i else reached - 1)
        if i == 0:
            break
        heads, power, _ = _sum(out, row, False, distance, search, (start, end))
        if heads > 0.0 and not of_arcs:
            total[row] += np.int64(np.rint(_times(heads * double[i], power + exponent[i]) * unit))
        if double[i] > 1.0:
            double[i], exponent[i] = _plus(heads, power, 1 / double[i] * _HIGH, -exponent[i] - 1)
        else:
            double[i], exponent[i] = _plus(heads, power, 1.0, -exponent[i])
    for i in range(reached):
        place[order[i]] = -1
