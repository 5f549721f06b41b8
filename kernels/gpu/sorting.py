"""Sorting by several keys on the GPU."""

import cupy

from kernels.graph import Array


def sorted_by(*keys: Array) -> Array:
    """The permutation that sorts by the last key, ties by the key before it, and so on; stable, as CuPy's argsort is."""
    order: Array = cupy.argsort(keys[0])
    for key in keys[1:]:
        order = order[cupy.argsort(key[order])]
    return order
