"""Triangles and arcs between neighbours by SciPy's sparse matrices."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from kernels.answers import Clustering, TriangleCounts
from kernels.certificate.rules import Broken, name_of, require_array
from kernels.graph import OFFSET, Array, Graph
from kernels.oracle.compare import compares

_PRODUCTS = 1 << 26  # of entries, about, that are added at a time


@compares("each vertex has half of its row's sum of (N N) * N, with scipy.sparse.csr_array of neighbours N")
def triangles(graph: Graph, answer: TriangleCounts) -> None:
    """Compare numbers of triangles."""
    near = _neighbours(_arcs(graph))
    require_counts(graph, "triangles", answer.triangles, _within(near, near) // 2)


@compares("numerators are the sums of rows of (N A) * N, with scipy.sparse.csr_array of arcs A and neighbours N")
def lcc(graph: Graph, answer: Clustering) -> None:
    """Compare numerators and denominators."""
    arcs = _arcs(graph)
    near = _neighbours(arcs)
    degrees = np.diff(near.indptr).astype(OFFSET)
    require_counts(graph, "numerator", answer.numerator, _within(near, arcs))
    require_counts(graph, "denominator", answer.denominator, degrees * (degrees - 1))


def require_counts(graph: Graph, name: str, stated: Any, solved: Array, solver: str = "SciPy") -> None:
    """Raise Broken unless the integers of all rows are those of the second solver."""
    own = require_array(name, stated, graph.num_vertices, OFFSET)
    if (own != solved).any():
        row = int((own != solved).argmax())
        raise Broken(f"vertex {name_of(graph, row)}: {name} {own[row]} is not {solver}'s {solved[row]}")


def _arcs(graph: Graph) -> Any:
    """The arcs between different rows, each once."""
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    apart = np.flatnonzero(tails != graph.out.indices)
    ends = tails[apart], graph.out.indices[apart]
    arcs = csr_array((np.ones(len(apart), np.int64), ends), shape=(graph.num_vertices,) * 2)
    arcs.sum_duplicates()
    arcs.data[:] = 1
    return arcs


def _neighbours(arcs: Any) -> Any:
    near = csr_array(arcs + arcs.T)
    near.data[:] = 1
    return near


def _within(near: Any, arcs: Any) -> Array:
    """Of each row how many arcs lead from one of its neighbours to another, int64 [V]."""
    work = np.cumsum(near @ np.diff(arcs.indptr))
    marks = np.arange(_PRODUCTS, int(work[-1]) if len(work) else 0, _PRODUCTS)
    cuts = np.unique([0, *np.searchsorted(work, marks, side="right"), len(work)]).tolist()
    blocks = ((near[begin:end], near[begin:end] @ arcs) for begin, end in pairwise(cuts))
    sums = [np.asarray((products * rows).sum(axis=1)) for rows, products in blocks]
    return np.concatenate([np.zeros(0, OFFSET), *sums]).astype(OFFSET)
