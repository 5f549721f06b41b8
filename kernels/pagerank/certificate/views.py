"""What the certificates of PageRank read of a graph, or of one rank's part of it, and a step of the iteration in doubles."""

from typing import Any, Protocol

import numpy as np

from kernels.arrays import is_cupy, is_cupy_array
from kernels.certificate.rules import Entries, RowNames, at, name_of, require_form
from kernels.gpu.loader import to_host
from kernels.graph import NO_ROW, Array, Csr, Graph
from kernels.pagerank.certificate.bounds import EPSILON, OPERATIONS, blocked_sum, terms_of_sum


class View(Protocol):
    """A graph, or one rank's part of it, where the methods are collective."""

    ids: RowNames
    num_vertices: int
    own: range  # the own rows
    out: Csr
    into: Csr

    def form(self, scores: Any) -> Array:
        """`scores`, or Broken unless it is an array of a double for each row."""

    def first_row(self, wrong: Array) -> int:
        """The first row where `wrong`; NO_ROW if there is none."""

    def entries(self, array: Array) -> Entries:
        """The entries of all rows."""

    def sum(self, array: Array) -> float:
        """Sum of the entries of all rows, by blocks."""

    def sums(self, array: Array) -> Array:
        """Sums of the columns of all rows [n, K], by blocks, as an array [K] of NumPy."""

    def max(self, array: Array) -> float:
        """Largest entry of all rows."""

    def arriving(self, shares: Array) -> Array:
        """Sum of the shares, [n] or [n, K], of each row's in-arcs' tails, float64."""


def following(view: View, scores: Array, damping: float) -> tuple[Array, Array]:
    """The scores after a step, and bounds on their errors of rounding."""
    degrees = np.diff(view.out.offsets)
    base = (1 - damping + damping * view.sum(np.where(degrees == 0, scores, 0.0))) / view.num_vertices
    after = base + damping * view.arriving(scores / np.maximum(degrees, 1))
    terms = np.diff(view.into.offsets)[: len(scores)] + OPERATIONS
    return after, EPSILON * (terms * after + terms_of_sum(view.num_vertices) * base)


def score_of(view: View, row: int, scores: Array, named: bool = True) -> str:
    """A row's score, with its vertex if it is to be named."""
    score = float(at(view.entries(scores), row))
    return f"vertex {name_of(view.ids, row)}: score {score}" if named else str(score)


def changed(view: View, where: Array) -> str:
    """The first vertex where an array is true."""
    row = view.first_row(where)
    return f"vertex {name_of(view.ids, row)}"


def arriving(into: Csr, shares: Array) -> Array:
    """Sum of the shares, [n] or [n, K], of each row's in-arcs' tails, float64, of the shape of `shares`."""
    if is_cupy_array(shares):
        from kernels.pagerank.certificate.cuda import gather, gather_columns
    else:
        from kernels.pagerank.certificate.cpu import gather, gather_columns
    return gather(into, shares) if shares.ndim == 1 else gather_columns(into, shares)


class WholeView:
    """See View."""

    def __init__(self, graph: Graph):
        self.ids: RowNames = graph
        self.num_vertices, self.out, self.into = graph.num_vertices, graph.out, graph.into
        self.own = range(graph.num_vertices)
        self._kind = type(graph.ids) if is_cupy(graph) else np.ndarray

    def form(self, scores: Any) -> Array:
        """See View."""
        return require_form("pagerank", scores, self.num_vertices, np.dtype(np.float64), self._kind)

    def first_row(self, wrong: Array) -> int:
        """See View."""
        return int(wrong.argmax()) if wrong.any() else NO_ROW

    def entries(self, array: Array) -> Array:
        """See View."""
        return array

    def sum(self, array: Array) -> float:
        """See View."""
        return float(blocked_sum(array))

    def sums(self, array: Array) -> Array:
        """See View."""
        return to_host(blocked_sum(array))

    def max(self, array: Array) -> float:
        """See View."""
        return float(array.max())

    def arriving(self, shares: Array) -> Array:
        """See View."""
        return arriving(self.into, shares)
