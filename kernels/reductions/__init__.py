"""What becomes of the distances and predecessors of many trees: sums, counts, nearest sources, and loads of arcs.

Read `__init__.py` first; `cpu.py` and `cuda.py` have the loops of these classes.

Batches of k trees come from `kernels.trees`, as arrays [k, V] in the order of the graph's rows, and are reduced where they are:
only the results, which are small, are copied. A distance is UNREACHED where no path leads.

All results are integers, or floats that do not depend on any order of summation: a float is summed as integers, a distance as two
of BITS bits each, whose unit follows from the largest one (Demmel and Nguyen, Parallel reproducible summation, 2015, with fixed
bins), and a given number as all of its digits. So the CPU, a GPU and any number of workers have the same bits.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.decimals import in_decimals
from kernels.gpu.loader import to_host
from kernels.graph import ID, NO_ROW, UNREACHED, Array, Graph
from kernels.reductions.constants import BITS


@dataclass(frozen=True)
class Measures:
    """What is known of each of k trees; NumPy arrays [k]."""

    reached: Array  # int64: vertices with a distance, the source included
    total: Array  # int64 or float64: the sum of all distances
    farthest: Array  # int64 or float64: the largest one


def measure(distances: Array, decimals: int | None = None, sums: Array | None = None) -> Measures:
    """Count, sum and compare the distances of each tree.

    Args:
        distances (integer or float64 [k, V]): The source of each tree has distance 0.
        decimals: The integers are in units of 10^-decimals, and what is known becomes float64, each rounded once.
        sums (int64 [3, k]): Of integers, instead of the distances (`kernels.trees.Trees.sums`).

    Each float is cut off at the 62nd bit of the largest one, or at 2^-1054 if that is larger, and the sum is rounded once. Raises
    OverflowError if a sum of integers exceeds int64.
    """
    here, floats = _backend_of(distances), distances.dtype.kind == "f"
    parts = here.measure(distances) if sums is None else (sums[0], sums[1], sums[2] >> 32, sums[2] & 0xFFFFFFFF)
    reached, farthest, high, low = map(to_host, parts)
    if decimals is not None:
        totals = [((int(above) << 32) + int(below)) / 10**decimals for above, below in zip(high, low, strict=True)]
        return Measures(reached, np.array(totals, np.float64), in_decimals(farthest.astype(ID), decimals))
    if not floats:
        upper = high + (low >> 32)
        if (upper >> 31).any():
            most = max((int(above) << 32) + int(below) for above, below in zip(high, low, strict=True))
            raise OverflowError(f"the sum of the distances of a source is {most}, and {np.iinfo(ID).max} is the largest")
        return Measures(reached, (upper << 32) + (low & 0xFFFFFFFF), farthest.astype(ID))
    exponents = exponent_of(farthest)
    high, low = map(to_host, here.sums_of_floats(distances, np.ldexp(1.0, BITS - exponents)))
    return Measures(reached, np.array([*map(float_of, high, low, exponents)], np.float64), farthest)


def exponent_of(largest: Array) -> Array:
    """The exponent of the unit in which floats up to `largest`, float64 [n], are summed, int64 [n]."""
    return np.maximum(np.frexp(largest)[1].astype(np.int64), BITS - 1023)  # so that the scale is a float64


def float_of(high: Any, low: Any, exponent: Any) -> float:
    """The float of a sum of upper and of lower integers in a unit of `exponent`, rounded once. Raises OverflowError."""
    try:
        return math.ldexp(float((int(high) << BITS) + int(low)), int(exponent) - 2 * BITS)
    except OverflowError:
        raise OverflowError("a sum exceeds the largest float64") from None


@dataclass(frozen=True)
class Digits:
    """Floats as integers whose sums are exact."""

    columns: Array  # int64 [n, V]: digits of `bits` bits, the highest first; a sum of V of them fits int64
    bits: int
    exponent: int  # of the unit of the last digit, which is 2 to it

    def floats(self, sums: Array) -> Array:
        """The floats of sums of the columns, int64 [k, n], each rounded once. Raises OverflowError if one is too large."""
        values = []
        for digits in sums.tolist():
            total = 0
            for digit in digits:
                total = (total << self.bits) + digit
            values.append(total / (1 << -self.exponent) if self.exponent < 0 else float(total << self.exponent))
        return np.array(values, np.float64)


def digits_of(values: Array) -> Digits:
    """The digits of finite floats, float64 [V]: as many as the lowest bit of any of them needs."""
    bits, exponent = 62 - len(values).bit_length(), int(np.frexp(np.abs(values).max(initial=0.0))[1])
    columns, rest = list[Array](), values
    while not columns or rest.any():
        exponent -= bits
        columns.append(np.trunc(np.ldexp(rest, -exponent)))
        rest = rest - np.ldexp(columns[-1], exponent)  # exactly: the lower bits of each float
    return Digits(np.stack(columns).astype(np.int64), bits, exponent)


def within(distances: Array, thresholds: Array, columns: Array) -> Array:
    """Count the vertices within each threshold of each source, and sum columns of integers over them.

    Args:
        distances (integer or float64 [k, V]): Of k trees.
        thresholds (int64 or float64 [T]): A vertex is within one if its distance is at most this.
        columns (int64 [A, V]): No sum of any entries of a column exceeds int64.

    Returns:
        int64 [k, T, 1 + A]: The count, then the sums; on the backend of `distances`.
    """
    if distances.dtype.kind == "i":
        thresholds = np.minimum(thresholds, np.iinfo(distances.dtype).max)
    counts: Array = _backend_of(distances).within(distances, thresholds.astype(distances.dtype), columns)
    return counts


class Nearest:
    """The `most` nearest facilities of every vertex, of equally near ones those of the smallest external ids.

    Attributes:
        distance (int64 or float64 [most, V]): Ascending along the first axis; UNREACHED where there is no further facility.
        facility (int64 [most, V]): Their external ids; -1 where there is none.
    """

    def __init__(self, like: Array, most: int, num_vertices: int, dtype: Any) -> None:
        """Where `like` is; `dtype` is that of distances, int64 or float64."""
        self.distance = np.full_like(like, UNREACHED, dtype, shape=(most, num_vertices))
        self.facility = np.full_like(like, NO_ROW, ID, shape=(most, num_vertices))

    def add(self, distances: Array, facilities: Array) -> None:
        """Add facilities, int64 [k], ascending from those before, with their distances [k, V] to or from all vertices."""
        wide = distances.astype(self.distance.dtype, copy=False)
        _backend_of(distances).insert(wide, facilities, self.distance, self.facility)


class ArcLoads:
    """How many of the paths in trees lead over each arc.

    Attributes:
        loads (int64 [A]): Of the arcs of `graph.into`. Of parallel arcs the first, which is the lightest, has them all.
    """

    def __init__(self, graph: Graph) -> None:
        self.loads = np.zeros_like(graph.into.indices, ID)
        self._graph = graph

    def add(self, predecessors: Array, demand: Array | None = None) -> None:
        """Add the paths of k trees to all vertices.

        Args:
            predecessors (index width [k, V]): NO_ROW for the source and where it does not reach.
            demand (int64 [V]): How many paths lead from each source to each vertex; None: one to each that it reaches.
        """
        _backend_of(predecessors).load(self._graph.into, predecessors, demand, self.loads)

    def add_paths(self, predecessors: Array, trees: Array, heads: Array, amounts: Array) -> None:
        """Add single paths of k trees. It takes time for the vertices on these paths only, however many paths share them.

        Args:
            predecessors (index width [k, V]): As in `add`.
            trees (int64 [p], NumPy's): The tree of each path, ascending.
            heads (index width [p], NumPy's): The row at which it ends.
            amounts (int64 [p], NumPy's): How much it adds to each of its arcs.
        """
        _backend_of(predecessors).load_paths(self._graph.into, predecessors, trees, heads, amounts, self.loads)


def _backend_of(array: Array) -> Any:
    if is_cupy_array(array):
        from kernels.reductions import cuda

        return cuda
    from kernels.reductions import cpu

    return cpu
