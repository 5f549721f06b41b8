"""Sums of in-arcs' shares on the CPU. Nothing is shared with the kernel that the certificate checks."""

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_rows
from kernels.graph import Array, Csr


def gather(into: Csr, shares: Array) -> Array:
    """See `kernels.pagerank.certificate.views.arriving`."""
    sums = np.empty(len(shares))
    arcs = frozen(into.offsets), frozen(into.indices), frozen(shares)
    over_rows(into, lambda begin, end: _gather(*arcs, begin, end, sums))
    return sums


@njit(cache=True, nogil=True)
def _gather(offsets: Array, indices: Array, shares: Array, begin: int, end: int, sums: Array) -> None:
    for row in range(begin, end):
        total = 0.0
        for arc in range(offsets[row], offsets[row + 1]):
            total += shares[indices[arc]]
        sums[row] = total


def gather_columns(into: Csr, shares: Array) -> Array:
    """As `gather`, of shares [n, K]."""
    sums = np.zeros(shares.shape)
    arcs = frozen(into.offsets), frozen(into.indices), frozen(np.ascontiguousarray(shares))
    over_rows(into, lambda begin, end: _gather_columns(*arcs, begin, end, sums))
    return sums


@njit(cache=True, nogil=True)
def _gather_columns(offsets: Array, indices: Array, shares: Array, begin: int, end: int, sums: Array) -> None:
    for row in range(begin, end):
        for arc in range(offsets[row], offsets[row + 1]):
            tail = indices[arc]
            for column in range(shares.shape[1]):
                sums[row, column] += shares[tail, column]
