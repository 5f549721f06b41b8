"""Which vertex becomes which row.

An order is the ranks of the vertices (their places in ascending order of external ids) in the order of the rows, index
width [V]. Equal degrees keep the order of the ranks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.arrays import is_cupy_array
from kernels.graph import Array, index_dtype
from kernels.layout.vect_csr import WARP_DEGREE


def by_degree(degrees: Array) -> Array:
    """Scores by descending degree. `degrees`: int64 [V], of the ranks."""
    return by_degree_in_windows(degrees, max(len(degrees), 1))


def by_degree_in_windows(degrees: Array, window: int, before: int = 0) -> Array:
    """Scores of degree 32 and more by descending degree, then the others by descending degree within windows of `window` ranks.

    `before` ranks of the same graph, whose degrees are not given, belong to the windows that come first.
    """
    if is_cupy_array(degrees):
        from kernels.layout import cuda

        return cuda.by_degree_in_windows(degrees, window, before)
    order = np.empty(len(degrees), index_dtype(len(degrees)))
    _put_all(degrees, WARP_DEGREE, int(degrees.max(initial=0)), window, before % window, order)
    return order


def inverse(order: Array) -> Array:
    """Row of each rank."""
    rows = np.empty_like(order)
    rows[order] = np.arange(len(order), dtype=order.dtype, like=order)
    return rows


@njit(cache=True, nogil=True)
def _put_all(degrees: Array, limit: int, most: int, window: int, before: int, order: Array) -> None:
    put = _put(degrees, 0, len(degrees), limit, max(most, limit), order, 0)
    for begin in range(-before, len(degrees), window):
        put = _put(degrees, max(begin, 0), min(begin + window, len(degrees)), 0, limit - 1, order, put)


@njit(cache=True, nogil=True)
def _put(degrees: Array, begin: int, end: int, least: int, most: int, order: Array, put: int) -> int:
    """Put the ranks `begin..end-1` of degree `least..most` into `order` from place `put`; returns the place after them."""
    free = np.zeros(most - least + 2, np.int64)  # first the number of ranks of each degree, then where the next one goes
    for rank in range(begin, end):
        if least <= degrees[rank] <= most:
            free[most - degrees[rank] + 1] += 1
    free[0] = put
    for degree in range(1, len(free)):
        free[degree] += free[degree - 1]
    for rank in range(begin, end):
        if least <= degrees[rank] <= most:
            order[free[most - degrees[rank]]] = rank
            free[most - degrees[rank]] += 1
    return int(free[-1])
