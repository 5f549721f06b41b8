"""Arcs by their other ends, by counting."""

import numpy as np

from kernels.cpu.compiled import UNCOUNTED, njit
from kernels.graph import Array


def transpose(side: tuple[Array, ...], offsets: Array) -> tuple[Array, ...]:
    """The arcs of a `CoreArcs` by their heads, of which each has those from `offsets` on; there the tails ascend."""
    made = tuple(np.empty_like(array) for array in side[1:])
    _transpose(*side, offsets[:-1].copy(), *made)
    return offsets, *made


@njit(cache=True, **UNCOUNTED)
def _transpose(
    offsets: Array, heads: Array, weights: Array, via: Array, free: Array, tails: Array, new_weights: Array, new_via: Array
) -> None:  # fmt: skip
    for tail in range(len(free)):
        for arc in range(offsets[tail], offsets[tail + 1]):
            place = free[heads[arc]]
            free[heads[arc]] += 1
            tails[place], new_weights[place], new_via[place] = tail, weights[arc], via[arc]
