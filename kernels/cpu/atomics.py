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
        return builder.extract_value(builder.cmpxchg(place, old, new, "acq_rel", "acquire"), 1)

    return types.boolean(array, types.intp, array.dtype, array.dtype), generate


def _changed(operation: str) -> Any:
    """The intrinsic of an operation of LLVM's `atomicrmw`, which returns the old value."""

    def change(context: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            view = context.make_array(kind)(context, builder, arguments[0])
            place = cgutils.get_item_pointer(context, builder, kind, view, [arguments[1]], wraparound=False)
            return builder.atomic_rmw(operation, place, arguments[2], "acq_rel")

        return array.dtype(array, types.intp, array.dtype), generate

    return intrinsic(change)


lower = _changed("min")  # lower(array, index, value): set `array[index]`, signed, to the smaller of itself and `value`
add = _changed("add")  # add(array, index, value): add `value` to `array[index]`
exclusive_or = _changed("xor")  # exclusive_or(array, index, value): flip the bits of `value` in `array[index]`
