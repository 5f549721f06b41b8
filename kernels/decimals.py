"""Weights with few decimals as integers, so that their sums are exact, and as fast as those of integers.

Weights that are all multiples of 10^-k count as integers in that unit: 12.3 is 123 tenths. A float64 stands for the shortest
decimal that reads as it. Up to MOST units, a float64 is that of one decimal only, and a sum of units divided by 10^k, which IEEE
754 rounds once, is the float64 of the exact sum. Multiplying, rounding and dividing give the same bits on CPUs and GPUs.
"""

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import elementwise, over_items
from kernels.graph import UNREACHED, Array, Csr

MOST = 2**51  # units up to which `float64 * 10^k`, rounded to an integer, is the decimal's
PLACES = 15  # decimals that are tried: 10^k is a float64 up to 22, but MOST leaves fewer
_SAMPLE, _BLOCK, _BLOCK_ON_GPU = 1024, 1 << 16, 1 << 24  # weights that are looked at together


def places_of(weights: Array) -> int | None:
    """The least k for which all weights, float64 [A], none negative, are multiples of 10^-k; None if there is none."""
    if not len(weights):
        return 0
    least = _places(weights[:: -(-len(weights) // _SAMPLE)], 0)  # which refuses nearly all others at once
    if least is None:
        return None
    on_cores = not is_cupy_array(weights)
    block = _BLOCK if on_cores else _BLOCK_ON_GPU
    begins = range(0, len(weights), block)
    of_blocks = over_items(begins, lambda begin: _places(weights[begin : begin + block], least), parallel=on_cores)
    return None if None in of_blocks else max(places for places in of_blocks if places is not None)


def _places(weights: Array, least: int) -> int | None:
    """As `places_of`, from `least` on."""
    largest = float(weights.max())
    for places in range(least, PLACES + 1):
        scale = 10.0**places
        if not largest * scale <= MOST:
            return None
        weights = weights[np.rint(weights * scale) / scale != weights]
        if not len(weights):
            return places
    return None


def counted(csr: Csr, places: int, largest: int) -> Csr:
    """The arcs with their weights in units: int32, or int64 where `largest`, that of the whole graph, does not fit.

    Raises ValueError unless each weight is a multiple of a unit, and at most `largest`.
    """
    assert csr.weights is not None
    kind = np.int32 if largest <= np.iinfo(np.int32).max else np.int64
    return Csr(csr.offsets, csr.indices, units_of(csr.weights, places, kind, largest))


def units_of(values: Array, places: int, kind: Any = np.int64, largest: int = MOST) -> Array:
    """Weights or distances, float64 [n], in units; UNREACHED stays.

    Raises ValueError, which says the first value that is no multiple of a unit, or larger than `largest`.
    """
    scale = 10.0**places

    def of_part(part: Array) -> Array:
        with np.errstate(over="ignore"):  # infinity is beyond `largest`
            units = np.rint(part * scale)
        fits = (units / scale == part) & (units >= 0) & (units <= largest) | (part == UNREACHED)
        if not fits.all():
            raise ValueError(f"{float(part[~fits][0])} is not a multiple of 10^-{places} in 0..{largest / scale}")
        units[part == UNREACHED] = UNREACHED
        return units.astype(kind)

    return elementwise(of_part, values, dtype=kind)


def in_decimals(units: Array, places: int) -> Array:
    """The float64 of weights or distances in units, each rounded once, of any shape; UNREACHED stays."""
    scale = 10.0**places

    def of_part(part: Array) -> Array:
        values: Array = part / scale
        values[part < 0] = UNREACHED
        return values

    return elementwise(of_part, units.reshape(-1), dtype=np.float64).reshape(units.shape)
