"""Parallel arcs: arcs with equal ends."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.graph import Array, Csr


def keep_lightest(csr: Csr) -> Csr:
    """Keep the arc of least weight among arcs with equal ends. The arrays of `csr` are overwritten, and shared."""
    kept = _keep_lightest(csr.offsets, csr.indices, csr.weights)
    return Csr(csr.offsets, csr.indices[:kept], None if csr.weights is None else csr.weights[:kept])


def lightest_first(src: Array, dst: Array, weights: Array | None) -> tuple[Array, Array, Array | None]:
    """Edges in ascending order of weight, so that stable sorts leave arcs with equal ends in that order."""
    if weights is None:
        return src, dst, weights
    order = np.argsort(weights, kind="stable")
    return src[order], dst[order], weights[order]


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
