"""Seeded keys that order the random dimensions: splitmix64, which depends on nothing but its arguments.

Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators. OOPSLA 2014.
"""

import numpy as np

from kernels.cpu.compiled import njit


def salt_of(seed: int, dimension: int) -> np.uint64:
    """The part that all keys of a dimension share: mix(mix(seed) ^ dimension)."""
    return np.uint64(mix(mix(np.uint64(seed)) ^ np.uint64(dimension)))


@njit(cache=True, nogil=True, inline="always")
def mix(x: np.uint64) -> np.uint64:
    """Permute the 64-bit integers."""
    x = np.uint64(x) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(x ^ (x >> np.uint64(31)))


@njit(cache=True, nogil=True, inline="always")
def key(salt: np.uint64, a: int, b: int) -> np.uint64:
    """The key of (i, a, b) in kernels/reachability/__init__.py, from the salt of dimension i."""
    mixed: np.uint64 = mix(mix(salt ^ np.uint64(a)) ^ np.uint64(b))
    return mixed
