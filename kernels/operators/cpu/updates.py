"""The functions of `functions/updates.py` for Numba: atomic on arrays that several threads write."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from kernels.graph import Array


@intrinsic
def _swap_if(typing_context, array, place, expected, value):
    """Replace an entry if it has the bits of `expected`; whether it had. The new value has the array's type."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        address = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        integer = ir.IntType(kind.dtype.bitwidth)
        address = builder.bitcast(address, integer.as_pointer())
        old, new = (builder.bitcast(each, integer) for each in arguments[2:])
        return builder.extract_value(builder.cmpxchg(address, old, new, "monotonic", "monotonic"), 1)

    return types.boolean(array, types.uint64, array.dtype, array.dtype), generate


@njit(nogil=True)
def atomic_min(array: Array, place: Any, value: Any) -> bool:
    """Lower an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new < array[place]:
        if _swap_if(array, place, array[place], new):
            return True
    return False


@njit(nogil=True)
def atomic_max(array: Array, place: Any, value: Any) -> bool:
    """Raise an entry; whether that changed it."""
    new = array.dtype.type(value)
    while new > array[place]:
        if _swap_if(array, place, array[place], new):
            return True
    return False


@njit(nogil=True)
def atomic_or(array: Array, place: Any, value: Any) -> bool:
    """Set bits; whether that changed the entry."""
    while True:
        old = array[place]
        new = array.dtype.type(old | value)
        if new == old:
            return False
        if _swap_if(array, place, old, new):
            return True


@njit(nogil=True)
def atomic_add(array: Array, place: Any, value: Any) -> Any:
    """Add; what was there before."""
    while True:
        old = array[place]
        if _swap_if(array, place, old, array.dtype.type(old + value)):
            return np.int64(old)
