"""The factor by which a vertex counts at a distance, on the CPU; decay.cu has the same on a GPU.

It is computed by additions, multiplications and divisions only, in one order and each rounded, because the exponential functions
of two processors differ in their last bits. Series are those of e^r for |r| <= log(2) / 2, and of
log(m) = 2 artanh((m - 1) / (m + 1)) for m from sqrt(1/2) to sqrt(2) (Muller, Elementary Functions, 2016, chapter 11). The
relative error of e^x is at most 1e-15 times 1 + |x|.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from kernels.reductions.decay.constants import CUMULATIVE, EXPONENTIAL, EXPONENTS, LEAST_EXPONENT, LOGARITHMS

_PER_LOG2 = 1.4426950408889634  # 1 / log(2)
# log(2) in two parts: multiples of the first one are exact. From FDLIBM (Sun Microsystems), e_exp.c.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROOT_HALF = 0.7071067811865476
_LARGEST_EXPONENT = 1023

# Of e^r, then of artanh(s) / s in powers of s^2, each from its highest power: `factor` has the other constants.
SERIES = np.array(
    [1.0 / math.factorial(n) for n in reversed(range(EXPONENTS))] + [1.0 / (2 * n + 1) for n in reversed(range(LOGARITHMS))]
)


@dataclass(frozen=True)
class Decay:
    """The factor of distance t: 1 (CUMULATIVE), exp(-rate t) (EXPONENTIAL), or max(t, least)^-rate (GRAVITY)."""

    kind: int = CUMULATIVE
    rate: float = 0.0  # at least 0
    least: float = 0.0  # of GRAVITY: above 0

    @property
    def parameters(self) -> Array:
        """What the loops are given, float64: rate, least, then the series."""
        return np.concatenate([[self.rate, self.least], SERIES])

    @property
    def largest(self) -> float:
        """The largest factor, that of distance 0; infinity if it is too large for a float."""
        return float(factor(0.0, self.kind, self.parameters))


@njit(cache=True, nogil=True)
def factor(distance: float, kind: int, parameters: Array) -> Any:
    """The factor of a distance, as decay.cu computes it; `parameters` are those of `Decay`."""
    if kind == CUMULATIVE:
        return 1.0
    if kind == EXPONENTIAL:
        return _exponential(-(parameters[0] * distance), parameters)
    return _exponential(-(parameters[0] * _logarithm(max(distance, parameters[1]), parameters)), parameters)


@njit(cache=True, nogil=True)
def _exponential(value: float, parameters: Array) -> Any:
    """e^value: 2^n e^r, where r is at most log(2) / 2."""
    power = np.rint(value * _PER_LOG2)
    if power < LEAST_EXPONENT:
        return 0.0
    if power > _LARGEST_EXPONENT:
        return np.inf
    rest = (value - power * _LOG2_HIGH) - power * _LOG2_LOW
    total = parameters[2]
    for term in range(3, 2 + EXPONENTS):
        total = total * rest + parameters[term]
    return total * math.ldexp(1.0, int(power))


@njit(cache=True, nogil=True)
def _logarithm(value: float, parameters: Array) -> Any:
    """The natural logarithm of a positive float that is not subnormal."""
    mantissa, power = math.frexp(value)
    if mantissa < _ROOT_HALF:
        mantissa, power = 2 * mantissa, power - 1
    share = (mantissa - 1.0) / (mantissa + 1.0)
    square, total = share * share, parameters[2 + EXPONENTS]
    for term in range(3 + EXPONENTS, len(parameters)):
        total = total * square + parameters[term]
    return power * _LOG2_HIGH + ((2.0 * share) * total + power * _LOG2_LOW)
