"""Edges to clean arcs: between positions, sorted into rows, without the arcs that the rules exclude."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.arrays import is_cupy_array
from kernels.graph import Array, Csr
from kernels.layout.numbering import number
from kernels.layout.rules import Rules
from kernels.layout.sorting import sort_arcs


def clean(src: Array, dst: Array, weights: Array | None, rules: Rules) -> tuple[Array, Csr, int]:
    """Number the vertices and sort the edges into rows of clean arcs.

    Parameters
    ----------
    src, dst : int64 [E]
        External ids of the edges' endpoints, not negative; on a GPU also int32.
    weights : [E] or None
        Not negative, not NaN.
    rules : Rules

    Returns
    -------
    ids : int64 [V]
        Ascending; position p is the vertex `ids[p]`.
    arcs : Csr
        The out-arcs of each position, ascending by the position of their head, then by weight.
    self_loops : int
        Number of edges that are self-loops.

    Raises
    ------
    ValueError
        On a GPU: more than 2^32 vertices, so that two positions do not fit a key.
    """
    if is_cupy_array(src):
        from kernels.layout import cuda

        return cuda.clean(src, dst, weights, rules)
    ids, src, dst = number(src, dst, rules.declared)
    if rules.keep_parallel:
        src, dst, weights = _lightest_first(src, dst, weights)
    arcs = sort_arcs(len(ids), src, dst, weights, rules.both, rules.keep_self_loops)
    return ids, arcs if rules.keep_parallel else _lightest_of_parallel(arcs), int((src == dst).sum())


def _lightest_first(src: Array, dst: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Edges in ascending order of weight, so that stable sorts keep parallel arcs in that order."""
    if weights is None:
        return src, dst, weights
    order = np.argsort(weights, kind="stable")
    return src[order], dst[order], weights[order]


def _lightest_of_parallel(csr: Csr) -> Csr:
    """Keep the arc of least weight among parallel arcs. Overwrites the arrays of `csr` and returns views of them."""
    kept = _keep_lightest(csr.offsets, csr.indices, csr.weights)
    return Csr(csr.offsets, csr.indices[:kept], None if csr.weights is None else csr.weights[:kept])


@njit(cache=True, nogil=True)
def _keep_lightest(offsets: Array, indices: Array, weights: Array | None) -> int:
    kept = 0
    begin = 0
    for row in range(len(offsets) - 1):
        end = offsets[row + 1]
        first = kept
        for arc in range(begin, end):
            if kept > first and indices[kept - 1] == indices[arc]:
                if weights is not None:
                    weights[kept - 1] = min(weights[kept - 1], weights[arc])
            else:
                indices[kept] = indices[arc]
                if weights is not None:
                    weights[kept] = weights[arc]
                kept += 1
        begin = end
        offsets[row + 1] = kept
    return kept
