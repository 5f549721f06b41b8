"""The functions of `functions/updates.py` for compiled loops of several threads."""

from typing import Any

import numpy as np

from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.cpu.numba_internals import COUNTS_REFERENCES
from kernels.graph import Array

ALLOCATING = UNCOUNTED | {COUNTS_REFERENCES: True}  # options of a loop that makes an array


@njit(**UNCOUNTED)
def atomic_min(array: Array, place: Any, value: Any) -> bool:
    """Lower an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new < array[place]:
        if compare_and_swap(array, np.intp(place), array[place], new):
            return True
    return False


@njit(**UNCOUNTED)
def atomic_max(array: Array, place: Any, value: Any) -> bool:
    """Raise an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new > array[place]:
        if compare_and_swap(array, np.intp(place), array[place], new):
            return True
    return False


@njit(**UNCOUNTED)
def atomic_or(array: Array, place: Any, value: Any) -> bool:
    """Set bits; whether that changed the entry."""
    while True:
        old = array[place]
        new = array.dtype.type(old | value)
        if new == old:
            return False
        if compare_and_swap(array, np.intp(place), old, new):
            return True


@njit(**UNCOUNTED)
def atomic_add(array: Array, place: Any, value: Any) -> Any:
    """Add; what was there before."""
    while True:
        old = array[place]
        if compare_and_swap(array, np.intp(place), old, array.dtype.type(old + value)):
            return np.int64(old)
