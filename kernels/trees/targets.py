"""Distances to some rows only: sweeps of the positions from which these are reached downwards (RPHAST).

Such a sweep knows no other distances, so the graph's arcs cannot prove it. A sample is compared with a proved tree.

Reference: Delling, Goldberg, Werneck: Faster Batched Shortest Paths in Road Networks. ATMOS 2011.
"""

import numpy as np

from kernels.answers import Hierarchy
from kernels.arrays import require_rows
from kernels.certificate.rules import Broken, name_of
from kernels.graph import Array, Graph, distance_dtype
from kernels.trees import trees
from kernels.trees.sweeping import backend_of, lengths_fit

_WORTH = 4  # a sweep of all positions is proved, and so preferred unless it has so many times the positions that are needed


class Targets:
    """The targets of a graph, and the positions that sweeps to them visit.

    Attributes:
        rows (index width [T], NumPy's): The targets; they may repeat.

    Raises:
        IndexError, TypeError: If a target is not a row of the graph, or not an integer.
    """

    def __init__(self, graph: Graph, hierarchy: Hierarchy, rows: Array) -> None:
        self.rows = require_rows(graph, np.asarray(rows))
        self._graph, self._hierarchy, self._backend = graph, hierarchy, backend_of(graph)
        self._there = np.asarray(self.rows, like=hierarchy.positions)
        self._positions = hierarchy.positions[self._there]
        self._chosen = self._backend.ancestors(hierarchy, self._positions)
        self._longest = _longest(graph)
        fits = hierarchy.exact and self._longest < 2**63 and lengths_fit(graph)
        self._restricted = fits and len(self._chosen) * _WORTH <= graph.num_vertices

    def distances(self, sources: Array) -> Array:
        """Distances from all `sources` (integer [k]) at once: int32, int64 or float64 [k, T], as `kernels.trees.Trees` has them.

        Raises as `kernels.trees.trees`.
        """
        rows = require_rows(self._graph, np.asarray(sources))
        proved = trees(self._graph, rows[:1] if self._restricted else rows, self._hierarchy, to=self._there).distances
        if not self._restricted:
            return proved
        kind = distance_dtype(self._graph.out.weights)
        sums = np.dtype(np.int32) if kind.kind == "i" and self._longest < 2**31 else kind
        lengths: Array = self._backend.solve_to(self._hierarchy, rows, sums, self._chosen, self._positions)
        wrong = lengths[:1] != proved
        if wrong.any():
            target = self.rows[int(wrong.argmax())]
            pair = f"from vertex {name_of(self._graph, rows[0])} to vertex {name_of(self._graph, target)}"
            raise Broken(f"the distance {pair} differs from that of a proved tree")
        return lengths


def _longest(graph: Graph) -> float:
    """A bound of every distance: no shortest path has more than one arc to a row."""
    weights = graph.into.weights
    heaviest = 1.0 if weights is None else float(weights.max()) if len(weights) else 0.0
    return heaviest * graph.num_vertices
