"""Betweenness by SciPy's triangular equations.

With T the matrix of a source's tight arcs, in which rows ascend by distance, the numbers of paths solve (I - T^t) s = e, and the
coefficients solve (I - T) c = 1 / s (Brandes 2001, as Kepner and Gilbert write it: Graph Algorithms in the Language of Linear
Algebra, SIAM 2011, chapter 6).
"""

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import spsolve_triangular

from kernels.answers import Betweenness
from kernels.betweenness.parameters import checked, rows_of, scale
from kernels.certificate.rules import Broken, name_of, require_array
from kernels.graph import Array, Graph
from kernels.oracle.by_scipy import matrix_of
from kernels.oracle.compare import DOUBLES, compares

_CLOSE = 1e-9


@compares(
    "values are those of scipy.sparse.linalg.spsolve_triangular over the tight arcs of every source, unless there are more paths "
    "than a double counts, or integer distances from 2^53, which a double rounds"
)
def betweenness(graph: Graph, answer: Betweenness, **options: Any) -> None:
    """Compare betweenness."""
    parameters = checked(**options)
    sources = rows_of(parameters, graph.ids)
    units = scale(graph.num_vertices, len(sources), graph.directed)
    stated = require_array("betweenness", answer.betweenness, graph.num_vertices, np.dtype(np.float64))
    weights = graph.out.weights if parameters.weights else None
    lengths = np.ones(graph.num_arcs) if weights is None else weights.astype(np.float64)
    exact = graph.out.weights is not None and graph.out.weights.dtype.kind == "i"
    arcs = matrix_of(graph, lengths)
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    first = np.ones(graph.num_arcs, np.bool_)  # of parallel arcs, which ascend by weight
    first[1:] = (tails[1:] != tails[:-1]) | (graph.out.indices[1:] != graph.out.indices[:-1])
    solved = np.zeros(graph.num_vertices)
    for source in sources.tolist():
        distance = dijkstra(arcs, indices=source)
        if exact and (distance[np.isfinite(distance)] >= DOUBLES).any():
            return  # arcs that are not tight may seem so
        solved += _dependencies(distance, (tails[first], graph.out.indices[first], lengths[first]), source)
    solved *= units.factor * 2.0**units.bits
    apart = np.abs(stated - solved)
    wrong = ~(apart <= _CLOSE * solved + len(sources) * units.factor) & np.isfinite(solved)
    if wrong.any():
        row = int(wrong.argmax())
        raise Broken(f"vertex {name_of(graph, row)}: betweenness {stated[row]} is not SciPy's {solved[row]}")


def _dependencies(distance: Array, arcs: tuple[Array, Array, Array], source: int) -> Array:
    """Dependencies of one source; not finite where there are too many paths."""
    tails, heads, lengths = arcs
    order = np.argsort(distance, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    tight = np.isfinite(distance[tails]) & (tails != heads) & (distance[tails] + lengths == distance[heads])
    entries = np.ones(int(tight.sum())), (place[tails[tight]], place[heads[tight]])
    matrix = csr_array(eye_array(len(order)) - coo_array(entries, shape=(len(order), len(order))))
    begin = np.zeros(len(order))
    begin[place[source]] = 1
    with np.errstate(all="ignore"):
        paths = spsolve_triangular(csr_array(matrix.T), begin, lower=True, unit_diagonal=True)
        shares = np.divide(1, paths, where=paths > 0, out=np.zeros(len(order)))
        sums: Array = paths * (spsolve_triangular(matrix, shares, lower=False, unit_diagonal=True) - shares)
    sums[place[source]] = 0
    return sums[place]
