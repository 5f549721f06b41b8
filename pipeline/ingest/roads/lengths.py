"""Lengths on the sphere by the haversine formula, in whole millimetres, the same on all machines.

A sine, a cosine and an arc sine of a library may differ in their last bit from one machine to another. These are polynomials
(fdlibm's, Sun Microsystems, 1993) of sums, products, quotients and square roots, each of which IEEE 754 rounds in one way.
"""

import math
from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array

RADIUS = 6_371_008_800.0  # millimetres: the mean radius of the earth
UNITS = 10_000_000  # in a degree
_QUARTER = 450_000_000  # 45 degrees
_RIGHT = 900_000_000
_PER_UNIT = math.pi / 180 / UNITS
_HALF = math.pi / 2


@njit(cache=True, nogil=True)
def _sine(x: float) -> Any:
    """The sine of at most 45 degrees."""
    z = x * x
    r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * (
        -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))  # fmt: skip
    return x + z * x * (-1.66666666666666324348e-01 + z * r)


@njit(cache=True, nogil=True)
def _cosine(x: float) -> Any:
    """The cosine of at most 45 degrees."""
    z = x * x
    r = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * (
        -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))))  # fmt: skip
    return 1.0 - (0.5 * z - z * r)


@njit(cache=True, nogil=True)
def _sine_of_half(units: int) -> Any:
    """The sine of half an angle of at most 360 degrees, given in units."""
    if units > 2 * _RIGHT:
        units = 4 * _RIGHT - units
    if units <= _RIGHT:
        return _sine(units * _PER_UNIT / 2)
    return _cosine((2 * _RIGHT - units) * _PER_UNIT / 2)


@njit(cache=True, nogil=True)
def _cosine_of(units: int) -> Any:
    """The cosine of a latitude, given in units."""
    units = abs(units)
    return _cosine(units * _PER_UNIT) if units <= _QUARTER else _sine((_RIGHT - units) * _PER_UNIT)


@njit(cache=True, nogil=True)
def _quotient(z: float) -> Any:
    """(asin(x) - x) / x for z = x * x of at most a quarter."""
    p = z * (1.66666666666666657415e-01 + z * (-3.25565818622400915405e-01 + z * (2.01212532134862925881e-01 + z * (
        -4.00555345006794114027e-02 + z * (7.91534994289814532176e-04 + z * 3.47933107596021167570e-05)))))  # fmt: skip
    q = 1.0 + z * (-2.40339491173441421878e00 + z * (2.02094576023350569471e00 + z * (
        -6.88283971605453293030e-01 + z * 7.70381505559019352791e-02)))  # fmt: skip
    return p / q


@njit(cache=True, nogil=True)
def millimetres(x: int, y: int, to_x: int, to_y: int) -> Any:
    """The length of the shortest line between two places, rounded half to even.

    Args:
        x, y, to_x, to_y: Longitude and latitude of both in the seventh decimal of a degree.
    """
    # To integers of 64 bits first: a difference of longitudes does not fit 32.
    across, along = abs(np.int64(to_x) - np.int64(x)), abs(np.int64(to_y) - np.int64(y))
    by_latitude, by_longitude = _sine_of_half(along), _sine_of_half(across)
    half_chord_2 = by_latitude * by_latitude + _cosine_of(y) * _cosine_of(to_y) * (by_longitude * by_longitude)
    if half_chord_2 <= 0.25:
        half_chord = math.sqrt(half_chord_2)
        angle = half_chord + half_chord * _quotient(half_chord_2)
    else:
        rest = max(0.0, (1.0 - math.sqrt(half_chord_2)) / 2)  # asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2))
        side = math.sqrt(rest)
        angle = _HALF - 2 * (side + side * _quotient(rest))
    return np.int64(np.rint(2 * RADIUS * angle))


@njit(cache=True, nogil=True)
def cosines(latitudes: Array) -> Array:
    """The cosines of latitudes, int64 [n] in the seventh decimal of a degree, float64 [n]."""
    cosine = np.empty(len(latitudes))
    for number, latitude in enumerate(latitudes):
        cosine[number] = _cosine_of(latitude)
    return cosine
