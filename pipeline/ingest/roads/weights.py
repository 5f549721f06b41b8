"""Weights of chains: their lengths, or the times that they take, exact quotients of integers that are rounded once."""

import numpy as np

from kernels.graph import Array

_PER_HOUR = 3_600_000  # milliseconds
_EXACT = 2**62 // _PER_HOUR  # millimetres up to which a product fits


def times(length: Array, speed: Array) -> Array:
    """Milliseconds in which lengths are travelled, rounded half to even, int64 [n].

    Args:
        length (int64 [n]): Millimetres.
        speed (int64 [n]): Millimetres an hour, at least 1.

    Raises:
        OverflowError: A time has more than 63 bits.
    """
    long = length > _EXACT
    whole, rest = np.divmod(np.where(long, 0, length) * _PER_HOUR, speed)
    whole += (2 * rest > speed) | ((2 * rest == speed) & (whole % 2 == 1))
    for place in np.flatnonzero(long).tolist():  # hundreds of times around the earth
        divisor = int(speed[place])
        quotient, left = divmod(int(length[place]) * _PER_HOUR, divisor)
        whole[place] = quotient + (2 * left > divisor or (2 * left == divisor and quotient % 2))
    return whole


def speeds_of_ferries(seconds: Array, total: Array, speed: Array) -> Array:
    """Speeds in millimetres an hour: of a ferry that states its `seconds`, so that it takes them for its `total` length.

    Args:
        seconds (int64 [n]): 0 where none are stated.
        total (int64 [n]): Millimetres of the whole way.
        speed (int64 [n]): By its class; 0 stays 0.
    """
    stated = np.where(total < 2**62 // 3600, total, 0) * 3600 // np.maximum(seconds, 1)
    return np.where((seconds > 0) & (speed > 0), np.maximum(stated, 1), speed)
