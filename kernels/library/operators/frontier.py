"""Frontiers: sets of rows of a graph that operators work on."""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kernels.arrays import is_cupy, is_cupy_array
from kernels.derived import Derived
from kernels.graph import Array, Graph
from kernels.library.operators.constants import ALL, DENSE, SPARSE


@dataclass(frozen=True)
class Rules:
    """How operators process a frontier. Only `most_work` changes their results."""

    # sparse_rows, sparse_arcs: a frontier is sparse if it has at most these shares of the graph's rows, and of its out-arcs. A
    # share of arcs of 1 does not count arcs.
    sparse_rows: float = 1 / 32
    sparse_arcs: float = 1.0
    # `advance` over all rows visits the neighbours in this many ranges, one after another, so that what is read of a range stays
    # in the cache. For graphs without hubs.
    segments: int = 1
    # On a GPU, `advance` over all rows, or over flags of many, visits the arcs in the order of tiles after so many sweeps of a
    # direction that could have this order, if that pays (docs/abstractions.md); None: never.
    tiled_after: int | None = 32
    # `repeat_advance` ends before a round whose rows, and arcs of its direction, are more than this together.
    most_work: int | None = None

    def most_rows(self, graph: Graph) -> int:
        """The most rows of a sparse frontier."""
        return int(self.sparse_rows * graph.num_vertices)

    def ranges(self, graph: Graph) -> int:
        """Into how many ranges `advance` divides the neighbours."""
        return max(1, min(self.segments, graph.num_vertices))


class Frontier:
    """A set of rows: all of them, flags, or a list; operators choose the form by `rules` and change it as the set grows.

    Made by `everything`, `of_rows`, `filter` and `advance`.

    Attributes:
        size: Number of rows, exact.
        kind: "all", "dense" or "sparse".
        rules: Also of the frontiers that operators make from this one.
    """

    def __init__(self, graph: Graph, rules: Rules, size: int, *, listed: Array | None = None, flags: Array | None = None) -> None:
        self.graph, self.rules, self.size = graph, rules, size
        self.form = ALL if size == graph.num_vertices else DENSE if listed is None else SPARSE
        self.listed, self.flags_form, self._sorted = listed, flags, listed is None

    @classmethod
    def everything(cls, graph: Graph, rules: Rules | None = None) -> "Frontier":
        """All rows: no operator tests whether a row belongs to it."""
        return cls(graph, rules or Rules(), graph.num_vertices)

    @classmethod
    def of_rows(cls, graph: Graph, rows: Any, rules: Rules | None = None) -> "Frontier":
        """The given rows, each once however often it is given.

        Raises:
            TypeError: They are no integers.
            IndexError: One is not a row of the graph.
        """
        rules, offsets = rules or Rules(), graph.out.offsets
        given = rows if is_cupy_array(rows) else np.asarray(rows)
        if given.dtype.kind not in "iu" and given.size:
            advice = "; np.flatnonzero(flags) gives the rows of flags" if given.dtype.kind == "b" else ""
            raise TypeError(f"rows are {given.dtype}, not integers{advice}")
        listed = np.unique(given)
        if len(listed) and not (int(listed[0]) >= 0 and int(listed[-1]) < graph.num_vertices):
            raise IndexError(f"rows {int(listed[0])}..{int(listed[-1])} are not all in 0..{graph.num_vertices - 1}")
        return made(graph, rules, np.asarray(listed, graph.rows_by_id.dtype, like=offsets), len(listed))

    def under(self, **changes: Any) -> "Frontier":
        """The same rows with other rules: fields of `Rules` by name."""
        made = copy(self)
        made.rules = replace(self.rules, **changes)
        return made

    @cached_property
    def derived(self) -> Derived:
        """What operators found out about these rows."""
        return Derived()

    @property
    def kind(self) -> str:
        """The form: "all", "dense" or "sparse"."""
        return ("all", "dense", "sparse")[self.form]

    def rows(self) -> Array:
        """The rows in ascending order (index width) [size]."""
        if self.form == ALL:
            return np.arange(self.graph.num_vertices, dtype=self.graph.rows_by_id.dtype, like=self.graph.out.offsets)
        if self.form == SPARSE:
            assert self.listed is not None
            if not self._sorted:
                self.listed, self._sorted = np.sort(self.listed), True
            return self.listed
        assert self.flags_form is not None
        if not is_cupy(self.graph):
            return np.flatnonzero(self.flags_form).astype(self.graph.rows_by_id.dtype)
        from kernels.library.operators.gpu.bits import rows_of

        return rows_of(self.graph, self.flags_form, self.size)

    def __len__(self) -> int:
        return self.size


def made(graph: Graph, rules: Rules, listed: Array, size: int) -> Frontier:
    """A frontier of distinct rows, in the form that the rules give."""
    if is_sparse(graph, rules, listed, size):
        return Frontier(graph, rules, size, listed=listed)
    return Frontier(graph, rules, size, flags=flags_of(graph, listed))


def is_sparse(graph: Graph, rules: Rules, listed: Array, size: int) -> bool:
    """Whether the rules make a frontier of these rows sparse."""
    if size > rules.most_rows(graph) or size == graph.num_vertices:
        return size == 0
    if rules.sparse_arcs >= 1:
        return True
    offsets = graph.out.offsets
    return int((offsets[listed + 1] - offsets[listed]).sum()) <= rules.sparse_arcs * graph.num_arcs


def flags_of(graph: Graph, listed: Array) -> Array:
    """The flags of rows: a bool each on the CPU, a bit each on a GPU."""
    if is_cupy(graph):
        from kernels.library.operators.gpu.bits import bits_of

        return bits_of(graph, listed)
    flags = np.zeros(graph.num_vertices, np.bool_)
    flags[listed] = True
    return flags
