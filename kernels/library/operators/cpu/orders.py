"""How values are combined: order-free operations, and float sums and products in the order that docs/abstractions.md defines.

The order of n values: 32 lanes, lane i of which combines the values i, i + 32, ... of a chunk of CHUNK; then halves of the lanes
are combined, 16, 8, 4, 2 and 1 lanes at a time.
"""

from functools import cache
from typing import Any

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.graph import Array
from kernels.library.operators.constants import CHUNK
from kernels.library.operators.cpu.updates import ALLOCATING
from kernels.library.operators.functions.tree import Type

REDUCTIONS = ("sum", "product", "min", "max")
DTYPES = {"b": np.dtype(np.bool_), "i": np.dtype(np.int64), "f": np.dtype(np.float32), "d": np.dtype(np.float64)}


def ordered(how: str, of_type: Type) -> bool:
    """Whether the result depends on the order."""
    return of_type in "fd" and how in ("sum", "product")


def identity(how: str, of_type: Type) -> Any:
    """The value of no rows or arcs, of the NumPy type."""
    dtype = DTYPES[of_type]
    if how in ("sum", "product"):
        return dtype.type(how == "product")
    if how == "first":
        return dtype.type(-1)
    limits: Any = np.iinfo(np.int64) if dtype.kind == "i" else None
    lowest, highest = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    return dtype.type(highest if how == "min" else lowest)


@njit(**UNCOUNTED)
def _sum(one: Any, other: Any) -> Any:
    return one + other


@njit(**UNCOUNTED)
def _product(one: Any, other: Any) -> Any:
    return one * other


@njit(**UNCOUNTED)
def _positive_zero(value: Any) -> Any:
    """The value, and 0.0 for -0.0, so that the order of zeros does not matter."""
    return abs(value) if value == 0 else value


@njit(**UNCOUNTED)
def _min(one: Any, other: Any) -> Any:
    return _positive_zero(other) if other < one else one


@njit(**UNCOUNTED)
def _max(one: Any, other: Any) -> Any:
    return _positive_zero(other) if other > one else one


COMBINE = {"sum": _sum, "product": _product, "min": _min, "max": _max}


@njit(**UNCOUNTED)
def fold_lanes(lanes: Array, combine: Any) -> Any:
    """Combine 32 lanes, in place."""
    step = 16
    while step:
        for lane in range(step):
            lanes[lane] = combine(lanes[lane], lanes[lane + step])
        step //= 2
    return lanes[0]


@cache
def folding(combine: Any) -> Any:
    """Compiled loop: combine chunks of CHUNK values, then their results in the same way, until one is left."""

    # Made for `combine`, and not called with it: Numba keeps no code for a type that is one process's function.
    @njit(**ALLOCATING, cache=True)
    def fold(values: Array, start: Any) -> Any:
        lanes = np.empty(32, values.dtype)
        while True:
            made = np.empty(max(1, (len(values) + CHUNK - 1) // CHUNK), values.dtype)
            for chunk in range(len(made)):
                lanes[:] = start
                for place in range(CHUNK * chunk, min(CHUNK * chunk + CHUNK, len(values))):
                    lanes[place & 31] = combine(lanes[place & 31], values[place])
                made[chunk] = fold_lanes(lanes, combine)
            values = made
            if len(values) == 1:
                return values[0]

    return fold
