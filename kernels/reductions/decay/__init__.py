"""Sums in which a vertex counts less the farther away it is, and the same for vertices that sources are near.

`factors` has the factor of a distance. Terms are cut off and added as `kernels.reductions` adds distances: in a unit that follows
from the largest possible term, but with PARTS integers of BITS bits, because terms of near and far vertices differ a lot.
"""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.gpu.loader import to_host
from kernels.graph import Array
from kernels.reductions import exponent_of
from kernels.reductions.constants import BITS
from kernels.reductions.decay.constants import PARTS
from kernels.reductions.decay.factors import Decay


def decayed(distances: Array, thresholds: Array, values: Array, decay: Decay) -> tuple[Array, Array]:
    """Count the vertices within each threshold of each source, and sum values times factors over them.

    Args:
        distances (integer or float64 [k, V]): Of k trees.
        thresholds (int64 or float64 [T]): Ascending; a vertex is within one if its distance is at most this.
        values (float64 [A, V]): Of the vertices.

    Returns:
        NumPy arrays: the counts, int64 [k, T], and the sums, float64 [k, T, A], infinite if too large. A term is a rounded
        product, cut off at the 124th bit of the largest possible one; a sum is rounded once.
    """
    here, thresholds = _backend_of(distances), _as_distances(thresholds, distances)
    exponents = exponent_of(np.abs(to_host(values)).max(axis=1, initial=0.0) * decay.largest)
    scales = np.ldexp(1.0, BITS - exponents)
    totals = to_host(here.decayed(distances, thresholds, values, scales, decay))
    parts = totals[:, :, 1:].reshape(*totals.shape[:2], len(scales), PARTS)
    return totals[:, :, 0], _floats(np.moveaxis(parts, 3, 0), exponents)


class Access:
    """For every vertex and threshold: the sum of the amounts of the sources that it is within, times factors.

    Attributes:
        totals (int64 [PARTS, T, V]): The integers of the sums, the highest first; those of several tasks may be added.
    """

    def __init__(self, like: Array, num_vertices: int, thresholds: Array, largest: Array, decay: Decay) -> None:
        """Where `like` is; `largest`, float64 [T], are the largest amounts of any source."""
        self._thresholds, self._decay, self._exponents = thresholds, decay, exponent_of(largest * decay.largest)
        self.totals = np.zeros_like(like, np.int64, shape=(PARTS, len(thresholds), num_vertices))

    def add(self, distances: Array, amounts: Array) -> None:
        """Add sources with their distances [k, V] and amounts, float64 [k, T]."""
        scales, thresholds = np.ldexp(1.0, BITS - self._exponents), _as_distances(self._thresholds, distances)
        _backend_of(distances).spread(distances, thresholds, np.ascontiguousarray(amounts), scales, self._decay, self.totals)

    def floats(self, totals: Array) -> Array:
        """The sums, float64 [T, V], of the totals of all tasks, NumPy's; infinite if too large, and rounded once."""
        return _floats(totals, self._exponents[:, np.newaxis])


def _floats(parts: Array, exponents: Array) -> Array:
    """The floats of integers [PARTS, ...] in units of exponents."""
    exact = np.zeros(parts.shape[1:], object)
    for part in parts:
        exact = (exact << BITS) + part
    with np.errstate(over="ignore"):
        floats: Array = np.ldexp(exact.astype(np.float64), exponents - PARTS * BITS)
    return floats


def _as_distances(thresholds: Array, distances: Array) -> Array:
    """Thresholds in the type of distances, in which none is smaller than all distances that it allows."""
    if distances.dtype.kind == "i":
        thresholds = np.minimum(thresholds, np.iinfo(distances.dtype).max)
    typed: Array = thresholds.astype(distances.dtype)
    return typed


def _backend_of(array: Array) -> Any:
    if is_cupy_array(array):
        from kernels.reductions.decay import cuda

        return cuda
    from kernels.reductions.decay import cpu

    return cpu
