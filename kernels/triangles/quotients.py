"""Quotients of integers, rounded once: the same bits everywhere."""

import numpy as np

from kernels.answers import Clustering
from kernels.gpu.loader import to_host
from kernels.graph import Array

_EXACT = 1 << 53  # every integer up to here is a double


def clustering_of(numerator: Array, neighbours: Array) -> Clustering:
    """The answer of `lcc` from the arcs between the neighbours of each row and their number, both int64 [n]."""
    denominator = neighbours * (neighbours - 1)
    return Clustering(numerator, denominator, rounded_quotients(numerator, denominator))


def rounded_quotients(numerator: Array, denominator: Array) -> Array:
    """`numerator` over `denominator`, int64 [n] and none negative, as the nearest float64; 0 where the denominator is 0.

    The quotient of two doubles is rounded once. Where an integer is no double, Python's quotient of integers is.
    """
    quotients: Array = numerator / np.maximum(denominator, 1)
    quotients[denominator == 0] = 0
    for row in to_host(np.flatnonzero(np.maximum(numerator, denominator) > _EXACT)).tolist():
        quotients[row] = int(numerator[row]) / int(denominator[row]) if denominator[row] else 0.0
    return quotients
