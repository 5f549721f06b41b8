"""Proof of triangles and clustering coefficients: they are counted again, from another corner and in another order of rows.

A row comes later than another one if it has more arcs, or as many and a greater external id. The last rows are hubs: triangles
with two of them are counted by common bits of rows of bits, without a look at each. Any other triangle is found at its second
corner, from an earlier and a later neighbour. Sums over rows, edges and triangles have to agree.
"""

from typing import Any, Protocol

import numpy as np

from kernels.answers import Certificate, Clustering, TriangleCounts
from kernels.arrays import is_cupy
from kernels.certificate.rules import Broken, Entries, RowNames, at, differing, name_of, require_form, verdict
from kernels.graph import NO_ROW, OFFSET, Array, Graph
from kernels.triangles.certificate.recount import Recount, recount_graph

NEIGHBOURS = "two vertices are neighbours if an arc connects them, in either direction"
TRIANGLES = (NEIGHBOURS, "triangles counts the pairs of neighbours that are neighbours, and its sum is three times their number")
LCC = (
    NEIGHBOURS,
    "numerator counts the arcs from a neighbour to another, and its sum is that over the edges of all triangles",
    "denominator is d (d - 1) for d neighbours",
    "lcc is their quotient, rounded once, and 0 without neighbours",
)


class CountView(Protocol):
    """What a proof reads of a graph, or of one that ranks hold together."""

    names: RowNames

    def form(self, name: str, array: Any, dtype: np.dtype[Any]) -> Array:
        """`array`, or Broken unless it has an entry of this type for each row."""

    def first_row(self, wrong: Array) -> int:
        """The first row where `wrong` is true, or NO_ROW."""

    def entries(self, array: Array) -> Entries:
        """The entries of all rows."""

    def recount(self, directed: bool) -> Recount:
        """Count again; sums and neighbours are those of the own rows, numbers those of all."""

    def sum(self, array: Array) -> int:
        """The sum of the entries of all rows."""


def certify_triangles(graph: Graph, answer: TriangleCounts) -> Certificate:
    """Prove numbers of triangles. O(V + A) memory, and time as for the answer. A malformed answer does not hold."""
    return certify_counts(_GraphCounts(graph), answer)


def certify_lcc(graph: Graph, answer: Clustering) -> Certificate:
    """Prove local clustering coefficients, as `certify_triangles`."""
    return certify_coefficients(_GraphCounts(graph), answer)


def certify_counts(view: CountView, answer: TriangleCounts) -> Certificate:
    """`certify_triangles` of a view; the last rule states how many triangles there are."""
    total = [0]

    def check() -> None:
        stated = view.form("triangles", answer.triangles, OFFSET)
        counted = view.recount(directed=False)
        _require_equal(view, "triangles", stated, counted.sums)
        total[0] = _agreed(view, counted)

    proof = verdict(TRIANGLES, check)
    return Certificate(True, "", (*TRIANGLES, f"the graph has {total[0]} triangles")) if proof.holds else proof


def certify_coefficients(view: CountView, answer: Clustering) -> Certificate:
    """`certify_lcc` of a view."""

    def check() -> None:
        numerator, denominator = (view.form(name, getattr(answer, name), OFFSET) for name in ("numerator", "denominator"))
        quotient = view.form("lcc", answer.lcc, np.dtype(np.float64))
        counted = view.recount(directed=True)
        _require_equal(view, "numerator", numerator, counted.sums)
        _agreed(view, counted)
        _require_equal(view, "denominator", denominator, counted.neighbours * (counted.neighbours - 1))
        expected = _quotients(numerator, denominator)
        row = view.first_row(differing(quotient, expected))
        if row != NO_ROW:
            raise Broken(_wrong(view, "lcc", quotient, expected, row))

    return verdict(LCC, check)


def _agreed(view: CountView, counted: Recount) -> int:
    """The number of triangles; raises Broken if the sums of rows do not add up to that of triangles."""
    if view.sum(counted.sums) != counted.total:
        raise Broken(f"the sum over vertices is {view.sum(counted.sums)}, that over triangles {counted.total}")
    return counted.triangles


def _quotients(numerator: Array, denominator: Array) -> Array:
    """The nearest float64 of each quotient, by the quotient of Python's integers where one of both is no float64."""
    quotients = np.zeros_like(numerator, np.float64)
    pairs = np.flatnonzero(denominator)
    quotients[pairs] = numerator[pairs] / denominator[pairs]
    for row in np.flatnonzero(denominator >> 53).tolist():
        quotients[row] = int(at(numerator, row)) / int(at(denominator, row))
    return quotients


def _require_equal(view: CountView, name: str, stated: Array, counted: Array) -> None:
    row = view.first_row(stated != counted)
    if row != NO_ROW:
        raise Broken(_wrong(view, name, stated, counted, row))


def _wrong(view: CountView, name: str, stated: Array, counted: Array, row: int) -> str:
    """Reason where an entry is not the one that was counted."""
    values = (at(view.entries(array), row).item() for array in (stated, counted))
    return "vertex {}: {} is {}, not {}".format(name_of(view.names, row), name, *values)


class _GraphCounts:
    """See CountView."""

    def __init__(self, graph: Graph):
        self.names: RowNames = graph
        self._graph = graph
        self._kind = type(graph.ids) if is_cupy(graph) else np.ndarray

    def form(self, name: str, array: Any, dtype: np.dtype[Any]) -> Array:
        return require_form(name, array, self._graph.num_vertices, dtype, self._kind)

    def first_row(self, wrong: Array) -> int:
        return int(wrong.argmax()) if wrong.any() else NO_ROW

    def entries(self, array: Array) -> Array:
        return array

    def sum(self, array: Array) -> int:
        return int(array.sum())

    def recount(self, directed: bool) -> Recount:
        return recount_graph(self._graph, directed)
