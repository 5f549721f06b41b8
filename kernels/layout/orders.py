"""The order of the rows.

An order lists the vertices' positions (in ascending order of external ids) in the order of the rows, index width [V]. Vertices
of equal degree keep the order of their positions.
"""

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import elementwise, over_items, ranges
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
    parts = ranges(len(degrees))
    wide = np.flatnonzero(elementwise(lambda degrees: degrees >= WARP_DEGREE, degrees, dtype=np.bool_))
    order[: len(wide)] = wide[np.argsort(-degrees[wide], kind="stable")]
    if window < len(degrees) + before % window:
        _put_windows(degrees, window, before % window, order, len(wide))
        return order
    counts = np.array(over_items(parts, lambda part: _counts(degrees, *part)))  # [ranges, degrees]
    per_degree = counts.sum(axis=0)
    free = len(wide) + per_degree[::-1].cumsum()[::-1] - per_degree + counts.cumsum(axis=0) - counts
    over_items(range(len(parts)), lambda part: _put(degrees, *parts[part], order, free[part]))
    return order


@njit(cache=True, nogil=True)
def _put_windows(degrees: Array, window: int, before: int, order: Array, put: int) -> None:
    for begin in range(-before, len(degrees), window):
        part = max(begin, 0), min(begin + window, len(degrees))
        free = _counts(degrees, *part)
        for degree in range(WARP_DEGREE - 1, -1, -1):
            free[degree], put = put, put + free[degree]
        _put(degrees, *part, order, free)


@njit(cache=True, nogil=True)
def _counts(degrees: Array, begin: int, end: int) -> Array:
    """How many of the positions `begin..end-1` have each degree below that of a warp."""
    counts = np.zeros(WARP_DEGREE, np.int64)
    for degree in degrees[begin:end]:
        if degree < WARP_DEGREE:
            counts[degree] += 1
    return counts


@njit(cache=True, nogil=True)
def _put(degrees: Array, begin: int, end: int, order: Array, free: Array) -> None:
    """Write the positions `begin..end-1` to `order`, each to the index that is `free` for its degree, if this has one."""
    for position in range(begin, end):
        if degrees[position] < WARP_DEGREE:
            order[free[degrees[position]]] = position
            free[degrees[position]] += 1
