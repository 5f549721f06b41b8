"""A stable radix sort of arrays that fit into the cache of one core, for compiled loops."""

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array

_DIGIT = 11  # bits: as many lists as a core can write to at a time


@njit(cache=True, nogil=True)
def sort_by_digits(keys: Array, values: Array, low: int, high: int) -> None:
    """Sort keys, unsigned and below 2^high, by their bits from `low` on, and with them values [n], or none if [0]; in place."""
    digits = max(1, -(-(high - low) // _DIGIT))
    width = -(-(high - low) // digits)
    mask = keys.dtype.type((1 << width) - 1)
    places = np.zeros((digits, 1 << width), np.int64)
    for key in keys:
        for digit in range(digits):
            places[digit, (key >> keys.dtype.type(low + digit * width)) & mask] += 1
    old_keys, new_keys, old_values, new_values = keys, np.empty_like(keys), values, np.empty_like(values)
    for digit in range(digits):
        free, shift, place = places[digit], keys.dtype.type(low + digit * width), 0
        if len(keys) == 0 or free[(old_keys[0] >> shift) & mask] == len(keys):
            continue  # all digits are equal
        for value in range(len(free)):
            free[value], place = place, place + free[value]
        for item in range(len(keys)):
            value = (old_keys[item] >> shift) & mask
            new_keys[free[value]] = old_keys[item]
            if len(values):
                new_values[free[value]] = old_values[item]
            free[value] += 1
        old_keys, new_keys, old_values, new_values = new_keys, old_keys, new_values, old_values
    keys[:], values[:] = old_keys, old_values
