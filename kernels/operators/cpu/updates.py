"""The functions of `functions/updates.py` for compiled loops of several threads."""

from typing import Any

import numpy as np

from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import njit
from kernels.graph import Array

# Of all compiled loops and what they call. User functions check divisors themselves. References are not counted (`_nrt`), which
# would take most of a loop's time: callers hold the arrays. A function that makes an array is ALLOCATING.
NUMBA = {"nogil": True, "error_model": "numpy", "forceinline": True, "_nrt": False}
ALLOCATING = NUMBA | {"_nrt": True}


@njit(**NUMBA)
def atomic_min(array: Array, place: Any, value: Any) -> bool:
    """Lower an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new < array[place]:
        if compare_and_swap(array, np.intp(place), array[place], new):
            return True
    return False


@njit(**NUMBA)
def atomic_max(array: Array, place: Any, value: Any) -> bool:
    """Raise an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new > array[place]:
        if compare_and_swap(array, np.intp(place), array[place], new):
            return True
    return False


@njit(**NUMBA)
def atomic_or(array: Array, place: Any, value: Any) -> bool:
    """Set bits; whether that changed the entry."""
    while True:
        old = array[place]
        new = array.dtype.type(old | value)
        if new == old:
            return False
        if compare_and_swap(array, np.intp(place), old, new):
            return True


@njit(**NUMBA)
def atomic_add(array: Array, place: Any, value: Any) -> Any:
    """Add; what was there before."""
    while True:
        old = array[place]
        if compare_and_swap(array, np.intp(place), old, array.dtype.type(old + value)):
            return np.int64(old)
