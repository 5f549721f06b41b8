"""Counts of bits for compiled loops. Importing this module imports Numba."""

from typing import Any

from numba import types
from numba.extending import intrinsic


def _count(context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.cast(builder, builder.ctpop(arguments[0]), signature.args[0], types.int64)

    return types.int64(word), generate


# count_bits(word): how many ones an integer has, as int64, by an instruction of the processor
count_bits = intrinsic(_count)
