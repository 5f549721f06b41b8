"""Parallel arcs: arcs with equal ends."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.graph import Array, Csr


def keep_lightest(csr: Csr) -> Csr:
    """Keep the arc of least weight among arcs with equal ends. The arrays of `csr` are overwritten, and shared."""
    kept = _keep_lightest(csr.offsets, csr.indices, csr.weights)
    return Csr(csr.offsets, csr.indices[:kept], None if csr.weights is None else csr.weights[:kept])


def sort_parallel(csr: Csr) -> Csr:
    """Sort arcs with equal ends by weight, in place."""
    if csr.weights is not None:
        _sort_parallel(csr.offsets, csr.indices, csr.weights)
    return csr


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


@njit(cache=True, nogil=True)
def _sort_parallel(offsets: Array, indices: Array, weights: Array) -> None:
    for row in range(len(offsets) - 1):
        first = offsets[row]
        for arc in range(offsets[row], offsets[row + 1]):
            if indices[arc] != indices[first]:
                first = arc
            last = arc + 1 == offsets[row + 1] or indices[arc + 1] != indices[arc]
            if last and arc > first:
                weights[first : arc + 1] = np.sort(weights[first : arc + 1])
