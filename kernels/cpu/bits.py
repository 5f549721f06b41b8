"""Counts of bits for compiled loops. Importing this module imports Numba."""

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def count_bits(context: Any, word: Any) -> Any:
    """The number of ones in an integer, as int64: the processor's instruction, of several words at a time in a loop."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, builder.ctpop(arguments[0]), signature.args[0], types.int64)

    return types.int64(word), generate
