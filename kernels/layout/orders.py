"""The order of the rows.

An order lists the vertices' positions (in ascending order of external ids) in the order of the rows, index width [V]. Vertices
of equal degree keep the order of their positions.
"""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.compiled import njit
from kernels.graph import Array, index_dtype
from kernels.layout.constants import WARP_DEGREE


def by_degree_in_windows(degrees: Array, window: int, before: int = 0) -> Array:
    """Positions of degree 32 and more by descending degree, then the others by descending degree within windows.

    A window has `window` positions; if that is at least V, all are by descending degree. `degrees`, int64 [V] by position, begins
    at position `before` of the graph, which shifts the windows.
    """
    if is_cupy_array(degrees):
        from kernels.layout import cuda

        return cuda.by_degree_in_windows(degrees, window, before)
    order = np.empty(len(degrees), index_dtype(len(degrees)))
    _put_all(degrees, WARP_DEGREE, int(degrees.max(initial=0)), window, before % window, order)
    return order


@njit(cache=True, nogil=True)
def _put_all(degrees: Array, limit: int, most: int, window: int, before: int, order: Array) -> None:
    put = _put(degrees, 0, len(degrees), limit, max(most, limit), order, 0)
    for begin in range(-before, len(degrees), window):
        put = _put(degrees, max(begin, 0), min(begin + window, len(degrees)), 0, limit - 1, order, put)


@njit(cache=True, nogil=True)
def _put(degrees: Array, begin: int, end: int, least: int, most: int, order: Array, put: int) -> int:
    """Write the positions `begin..end-1` of degree `least..most` to `order` from index `put` on; return the next index."""
    free = np.zeros(most - least + 2, np.int64)  # first the counts per degree, then the next index per degree
    for position in range(begin, end):
        if least <= degrees[position] <= most:
            free[most - degrees[position] + 1] += 1
    free[0] = put
    for degree in range(1, len(free)):
        free[degree] += free[degree - 1]
    for position in range(begin, end):
        if least <= degrees[position] <= most:
            order[free[most - degrees[position]]] = position
            free[most - degrees[position]] += 1
    return int(free[-1])
