"""Search for many values in a sorted array: a table indexed by the high bits narrows the range, then bisection.

`np.searchsorted` of values in random order misses the caches at each step, which takes a second for 4 million values among 1
million. Here each value misses them three times.

Source: Bentley, Programming Pearls (2nd edition, 2000), column 9: a table in front of a binary search.
"""

import numpy as np

from kernels.arrays import frozen, is_cupy_array
from kernels.cpu.compiled import njit
from kernels.graph import Array


def places_upto(ascending: Array, values: Array) -> Array:
    """How many of `ascending` are not greater than each value: `np.searchsorted(ascending, values, "right")`, but faster.

    Args:
        ascending (integer [K]): Of the values' type.
        values (integer [E]): On a GPU if `ascending` is, where bisection is fast enough.

    Returns:
        [E]: Of the same type. Meanwhile there are up to 12 bytes for each of `ascending`.
    """
    if is_cupy_array(ascending):
        return np.searchsorted(ascending, values, side="right").astype(values.dtype)
    if not len(ascending):
        return np.zeros_like(values)
    low, high = int(ascending[0]), int(ascending[-1])
    shift = max((high - low).bit_length() - len(ascending).bit_length() + 1, 0)  # one or two values in a bucket
    firsts = low + (np.arange(1, ((high - low) >> shift) + 1, dtype=np.int64) << shift)
    ends = np.append(np.searchsorted(ascending, firsts.astype(values.dtype)), len(ascending)).astype(values.dtype)
    places: Array = np.empty_like(values)
    _search(frozen(ascending), ends, low, shift, frozen(values), places)
    return places


@njit(cache=True, nogil=True)
def _search(ascending: Array, ends: Array, low: int, shift: int, values: Array, places: Array) -> None:
    """`ends[b]` is the number of `ascending` in the buckets up to b."""
    for number in range(len(values)):
        value = values[number]
        bucket = (value - low) >> shift
        if bucket < 0:
            places[number] = 0
        elif bucket >= len(ends):
            places[number] = len(ascending)
        else:
            first, end = ends[bucket - 1] if bucket else 0, ends[bucket]
            while first < end:
                middle = (first + end) >> 1
                if ascending[middle] <= value:
                    first = middle + 1
                else:
                    end = middle
            places[number] = first
