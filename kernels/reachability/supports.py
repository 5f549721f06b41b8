"""Supports: well-connected nodes, spread over the levels, of which every node knows whether it reaches them and they it."""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Condensation
from kernels.backend import frozen
from kernels.graph import NO_ROW, Array
from kernels.reachability import NUM_SUPPORTS


def choose(condensation: Condensation, level: Array) -> Array:
    """Choose the supports, as kernels/reachability/__init__.py defines them: index width [64]."""
    supports = np.full(NUM_SUPPORTS, NO_ROW, condensation.names.dtype)
    if len(level):
        num_levels = int(level.max()) + 1
        bands = min(NUM_SUPPORTS, num_levels)
        share = NUM_SUPPORTS // bands
        ends = frozen(condensation.parents.offsets), frozen(condensation.children.offsets)
        _choose(*ends, level, num_levels, supports[: bands * share].reshape(bands, share))
    return supports


def spread(condensation: Condensation, order: Array, supports: Array) -> tuple[Array, Array]:
    """Bits of the supports that each node reaches, and of those that reach it: two words of uint64 [C]."""
    reaches = np.zeros(len(order), np.uint64)
    used = supports[supports != NO_ROW]
    reaches[used] = np.uint64(1) << np.flatnonzero(supports != NO_ROW).astype(np.uint64)
    reached = reaches.copy()
    children = frozen(condensation.children.offsets), frozen(condensation.children.indices)
    _gather(*children, order[::-1].copy(), reaches)
    _gather(frozen(condensation.parents.offsets), frozen(condensation.parents.indices), order, reached)
    return reaches, reached


@njit(cache=True, nogil=True)
def _choose(into, out, level, num_levels, best):  # type: ignore[no-untyped-def]
    """Keep the best nodes of each band, `best` [bands, share], sorted; nodes come as they ascend, so ties stay in their order."""
    bands, last = len(best), best.shape[1] - 1
    scores = np.zeros(best.shape, np.int64)
    for node in range(len(level)):
        band = np.int64(level[node]) * bands // num_levels
        score = (into[node + 1] - into[node] + 1) * (out[node + 1] - out[node] + 1)
        place = last
        if score <= scores[band, last]:
            continue
        while place > 0 and scores[band, place - 1] < score:
            scores[band, place], best[band, place] = scores[band, place - 1], best[band, place - 1]
            place -= 1
        scores[band, place], best[band, place] = score, node


@njit(cache=True, nogil=True)
def _gather(offsets, indices, order, bits):  # type: ignore[no-untyped-def]
    """Give each node the bits of its row; every row's nodes stand before it in `order`."""
    for node in order:
        word = bits[node]
        for arc in range(offsets[node], offsets[node + 1]):
            word |= bits[indices[arc]]
        bits[node] = word
