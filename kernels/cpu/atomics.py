"""Atomic operations for compiled loops of several threads. Importing this module imports Numba."""

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def compare_and_swap(context: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Set `array[index]` to `value` if it has the bits of `expected`; return whether it had."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        bits = ir.IntType(kind.dtype.bitwidth)
        place = builder.bitcast(place, bits.as_pointer())
        old, new = (builder.bitcast(each, bits) for each in arguments[2:])
        return builder.extract_value(builder.cmpxchg(place, old, new, "monotonic"), 1)

    return types.boolean(array, types.intp, array.dtype, array.dtype), generate


@intrinsic  # type: ignore[untyped-decorator]
def lower(context: Any, array: Any, index: Any, value: Any) -> Any:
    """Set `array[index]`, signed, to the smaller of itself and `value`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
        builder.atomic_rmw("min", place, arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate
