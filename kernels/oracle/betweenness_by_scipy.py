"""Betweenness by SciPy's triangular equations.

With T the matrix of a source's tight arcs, in which rows ascend by distance, the numbers of paths solve (I - T^t) s = e, and the
coefficients solve (I - T) c = 1 / s (Brandes 2001, as Kepner and Gilbert write it: Graph Algorithms in the Language of Linear
Algebra, SIAM 2011, chapter 6).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import spsolve_triangular

from kernels.answers import Betweenness, EdgeBetweenness
from kernels.betweenness.parameters import BetweennessParameters, checked, rows_of, scale
from kernels.certificate.rules import Broken, name_of, require_array
from kernels.graph import Array, Graph
from kernels.oracle.by_scipy import matrix_of
from kernels.oracle.compare import DOUBLES, compares

_CLOSE = 1e-9
_RULE = (
    "values are those of scipy.sparse.linalg.spsolve_triangular over the tight arcs of every source, unless there are more paths "
    "than a double counts, or integer distances from 2^53, which a double rounds"
)


@compares(_RULE)
def betweenness(graph: Graph, answer: Betweenness, **options: Any) -> None:
    """Compare betweenness."""
    stated = require_array("betweenness", answer.betweenness, graph.num_vertices, np.dtype(np.float64))
    _compare(graph, checked(**options), stated, lambda row: f"vertex {name_of(graph, row)}", None)


@compares(_RULE)
def edge_betweenness(graph: Graph, answer: EdgeBetweenness, **options: Any) -> None:
    """Compare edge betweenness; the certificate has proved that the edges are those of the graph."""
    stated = require_array("betweenness", answer.betweenness, len(answer.src), np.dtype(np.float64))
    place = {ends: place for place, ends in enumerate(zip(answer.src.tolist(), answer.dst.tolist(), strict=True))}

    def name(edge: int) -> str:
        return f"edge {name_of(graph, answer.src[edge])} to {name_of(graph, answer.dst[edge])}"

    _compare(graph, checked(of_edges=True, **options), stated, name, place)


def _compare(
    graph: Graph,
    parameters: BetweennessParameters,
    stated: Array,
    name: Callable[[int], str],
    place: dict[tuple[int, int], int] | None,
) -> None:
    """Raise Broken unless the stated values are close; `place` has those of edges by their rows in either direction."""
    sources = rows_of(parameters, graph.ids, len(stated))
    units = scale(parameters, graph.num_vertices, len(sources), graph.directed)
    weights = graph.out.weights if parameters.weights else None
    lengths = np.ones(graph.num_arcs) if weights is None else weights.astype(np.float64)
    exact = graph.out.weights is not None and graph.out.weights.dtype.kind == "i"
    arcs = matrix_of(graph, lengths)
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    first = np.ones(graph.num_arcs, np.bool_)  # of parallel arcs, which ascend by weight
    first[1:] = (tails[1:] != tails[:-1]) | (graph.out.indices[1:] != graph.out.indices[:-1])
    arcs_once = tails[first], graph.out.indices[first], lengths[first]
    of_arcs = None if place is None else _places_of(place, *arcs_once[:2])
    solved = np.zeros(len(stated))
    for source in sources.tolist():
        distance = dijkstra(arcs, indices=source)
        if exact and (distance[np.isfinite(distance)] >= DOUBLES).any():
            return  # arcs that are not tight may seem so
        of_rows, tight, of_tight = _dependencies(distance, arcs_once, source)
        if of_arcs is not None:
            solved += np.bincount(of_arcs[tight], of_tight, len(stated))
            continue
        solved += of_rows
        if parameters.endpoints:
            solved += np.isfinite(distance)
            solved[source] += np.isfinite(distance).sum() - 2
    solved *= units.factor * 2.0**units.bits
    apart = np.abs(stated - solved)
    wrong = ~(apart <= _CLOSE * solved + len(sources) * units.factor) & np.isfinite(solved)
    if wrong.any():
        number = int(wrong.argmax())
        raise Broken(f"{name(number)}: betweenness {stated[number]} is not SciPy's {solved[number]}")


def _places_of(place: dict[tuple[int, int], int], tails: Array, heads: Array) -> Array:
    """The places of the edges of arcs; 0 for self-loops, which are never tight."""
    ends = zip(tails.tolist(), heads.tolist(), strict=True)
    return np.array([place.get((tail, head), place.get((head, tail), 0)) for tail, head in ends], np.int64)


def _dependencies(distance: Array, arcs: tuple[Array, Array, Array], source: int) -> tuple[Array, Array, Array]:
    """Dependencies of one source, on rows, and on the tight arcs, which are marked; not finite where there are too many paths."""
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
        coefficients: Array = spsolve_triangular(matrix, shares, lower=False, unit_diagonal=True)
        sums: Array = paths * (coefficients - shares)
        of_tight = paths[place[tails[tight]]] * coefficients[place[heads[tight]]]
    sums[place[source]] = 0
    return sums[place], tight, of_tight
