"""The haversine formula, by which proofs measure what was found by vectors."""

import numpy as np

from kernels.graph import Array
from pipeline.steps.places.sphere import RADIUS


def haversine(one: Array, other: Array) -> Array:
    """Metres on the sphere between places, degrees float64 [n, 2] each, float64 [n]."""
    (west, south), (east, north) = np.radians(one).T, np.radians(other).T
    squares = np.sin((north - south) / 2) ** 2 + np.cos(south) * np.cos(north) * np.sin((east - west) / 2) ** 2
    metres: Array = 2 * RADIUS * np.arcsin(np.sqrt(np.minimum(squares, 1)))
    return metres
