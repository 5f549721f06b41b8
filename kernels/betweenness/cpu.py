"""Betweenness on the CPU: Brandes' method (2001), each source on one core.

From a source, the number of shortest paths to a row is the sum of those to the tails of its tight in-arcs. On the way back,
farthest rows first, a row's coefficient is (1 + dependency) / paths = 1 / paths + the sum of the coefficients of its tight
out-arcs' heads, and its dependency is paths times that sum.

What makes the answer unique: a sum follows the order of the row's arcs, by external ids, ARCS_OF_A_SUM at a time; then these
parts are added in order. Numbers of paths soon exceed 2^53, where they are rounded, and on grids 2^1000; so a value is a double
in 1..2^SPAN times 2^(SPAN e). Scaling by a power of two is exact, so without overflow plain doubles have the same digits.
Dependencies are added as integers (`parameters.scale`).

A row whose neighbour has no value yet waits; only ranks that hold a part of the rows wait.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from kernels.answers import Betweenness
from kernels.arrays import frozen
from kernels.betweenness.constants import ARCS_OF_A_SUM, SPAN
from kernels.betweenness.parameters import NO_LENGTH, Parameters, rows_of, scale
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import cores, over_items
from kernels.graph import Array, Csr, Graph
from kernels.sssp import sssp

_LOW, _HIGH = 2.0**-SPAN, 2.0**SPAN
Arcs = tuple[Array, Array, Array]


class Values(NamedTuple):
    """Numbers of paths, or coefficients: `double * 2^(SPAN * exponent)`; the double is 0 where there is no value."""

    double: Array  # float64
    exponent: Array  # int32

    @classmethod
    def of(cls, length: int) -> "Values":
        """No values."""
        return cls(np.zeros(length), np.zeros(length, np.int32))


def solve(graph: Graph, parameters: Parameters) -> Betweenness:
    """Answer `kernels.betweenness.betweenness` on NumPy arrays."""
    sources, of_graph = rows_of(parameters, graph.ids), partial(sum_of_sources, graph, parameters.weights)
    units = scale(graph.num_vertices, len(sources), graph.symmetric)
    parallel = len(sources) * (graph.num_arcs + graph.num_vertices) > 1 << 22
    parts = np.array_split(sources, min(4 * cores(), max(len(sources), 1)) if parallel else 1)
    totals = over_items(parts, lambda part: of_graph(part, units.bits), parallel=parallel)
    total: Array = np.sum(totals, axis=0)
    return Betweenness(total * units.factor, len(sources))


def sum_of_sources(graph: Graph, weights: bool, sources: Array, bits: int) -> Array:
    """Dependencies of some sources on every row, in units: int64 [V]."""
    num_rows = graph.num_vertices
    weighted = weights and graph.out.weights is not None
    into, out = arcs_of(graph.into, weighted), arcs_of(graph.out, weighted)
    unit, total, order = 2.0**bits, np.zeros(num_rows, np.int64), np.empty(num_rows, graph.rows_by_id.dtype)
    hops, paths, coefficients = np.empty(num_rows, np.int64), Values.of(num_rows), Values.of(num_rows)
    for source in sources.tolist():
        if weighted:
            distance = sssp(graph, source).distance
            reached = nearest_first(distance)
        else:
            distance, reached = hops, order[: _search(out, source, hops, order)]
        _, near = count_paths(into, source, distance, reached, paths)
        if near >= 0:
            raise ArithmeticError(NO_LENGTH.format(graph.ids[near]))
        add_dependencies(out, source, distance, reached, (paths, coefficients, total), unit)
        _forget(reached, paths, coefficients)
    return total


def arcs_of(csr: Csr, weighted: bool) -> Arcs:
    """Offsets, indices and weights; an empty array where every arc weighs 1."""
    weights = csr.weights if weighted and csr.weights is not None else np.empty(0, np.int64)
    return frozen(csr.offsets), frozen(csr.indices), frozen(weights)


def nearest_first(distance: Array) -> Array:
    """The reached rows in ascending order of distance; the source is the first."""
    reached = np.flatnonzero(distance >= 0)
    rows: Array = reached[np.argsort(distance[reached], kind="stable")]
    return rows


@njit(cache=True, nogil=True)
def _search(out: Arcs, source: int, hops: Array, order: Array) -> int:
    """Set hops (-1: not reached), and the reached rows in ascending order of hops; return their number."""
    offsets, indices, _ = out
    hops[:] = -1
    hops[source] = 0
    order[0] = source
    head, tail = 0, 1
    while head < tail:
        row = order[head]
        head += 1
        for arc in range(offsets[row], offsets[row + 1]):
            far = indices[arc]
            if hops[far] < 0:
                hops[far] = hops[row] + 1
                order[tail] = far
                tail += 1
    return tail


@njit(cache=True, nogil=True)
def _forget(rows: Array, paths: Values, coefficients: Values) -> None:
    for row in rows:
        paths.double[row] = 0.0
        coefficients.double[row] = 0.0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _sum(arcs: Arcs, row: int, step: int, distance: Array, values: Values) -> tuple[float, int, int]:
    """Sum of the values of a row's neighbours by tight in-arcs (step -1) or out-arcs (1).

    Returns the double, the exponent, and 0; 1 where a neighbour has no value yet, 2 where an in-arc has no length.
    """
    offsets, indices, weights = arcs
    begin, end, own = offsets[row], offsets[row + 1], distance[row]
    total, of_total = 0.0, 0
    for first in range(begin, end, ARCS_OF_A_SUM):
        part, of_part = 0.0, 0
        for arc in range(first, min(first + ARCS_OF_A_SUM, end)):
            other = indices[arc]
            theirs = distance[other]
            if len(weights):
                tail, head = (theirs, own) if step < 0 else (own, theirs)
                if theirs < 0 or other == row or tail + weights[arc] != head:
                    continue
                if theirs == own:
                    return 0.0, 0, 2
            elif theirs != own + step:
                continue
            if arc > begin and indices[arc - 1] == other:
                continue
            if values.double[other] == 0.0:
                return 0.0, 0, 1
            part, of_part = _plus(part, of_part, values.double[other], values.exponent[other])
        total, of_total = _plus(total, of_total, part, of_part)
    return total, of_total, 0


@njit(cache=True, nogil=True)
def count_paths(into: Arcs, source: int, distance: Array, order: Array, paths: Values) -> tuple[int, int]:
    """Set the numbers of paths of rows in ascending order of distance, which have none yet.

    Returns the number of rows that wait, and a row that an arc without length reaches, or -1.
    """
    waiting = 0
    for row in order:
        if paths.double[row] == 0.0:
            double, exponent, found = (1.0, 0, 0) if row == source else _sum(into, row, -1, distance, paths)
            if found == 2:
                return 0, row
            waiting += found
            paths.double[row], paths.exponent[row] = double, exponent
    return waiting, -1


@njit(cache=True, nogil=True)
def add_dependencies(
    out: Arcs, source: int, distance: Array, order: Array, values: tuple[Values, Values, Array], unit: float
) -> int:
    """Set the coefficients of rows in descending order of distance, which have none yet, and add their dependencies.

    Args:
        source: Its row, or -1 if another rank has it.
        values: Numbers of paths, coefficients, and the sums of dependencies (int64), to which all rows but the source add.
        unit: Units in 1.

    Returns the number of rows that wait.
    """
    paths, coefficients, total = values
    waiting = 0
    for row in order[::-1]:
        if coefficients.double[row] == 0.0:
            double, exponent, waits = _sum(out, row, 1, distance, coefficients)
            waiting += waits
            if waits:
                continue
            of_row, power = paths.double[row], paths.exponent[row]
            if row != source and double > 0.0:
                total[row] += np.int64(np.rint(_times(double * of_row, exponent + power) * unit))
            if of_row > 1.0:
                double, exponent = _plus(double, exponent, 1 / of_row * _HIGH, -power - 1)
            else:
                double, exponent = _plus(double, exponent, 1.0, -power)
            coefficients.double[row], coefficients.exponent[row] = double, exponent
    return waiting


@njit(cache=True, nogil=True)
def _times(double: float, exponent: int) -> float:
    """A value that is less than 2^SPAN, as a double."""
    while exponent < 0 and double > 0.0:
        double, exponent = double * _LOW, exponent + 1
    return double
