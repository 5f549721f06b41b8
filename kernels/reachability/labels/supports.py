"""Supports: well-connected nodes, spread over the levels; every node knows which of them it reaches and which reach it."""

from typing import Any

import numpy as np

from kernels.answers import Condensation
from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.graph import NO_ROW, Array
from kernels.reachability.constants import NUM_SUPPORTS


def choose_supports(condensation: Condensation, level: Array) -> Array:
    """Choose the supports, as kernels/reachability/__init__.py defines them: index width [64]."""
    num_levels = int(level.max()) + 1 if len(level) else 0
    offsets = condensation.parents.offsets, condensation.children.offsets
    best, _ = best_of_bands(*offsets, level, num_levels, condensation.names.dtype)
    return best


def best_of_bands(into: Array, out: Array, level: Array, num_levels: int, index: np.dtype[Any]) -> tuple[Array, Array]:
    """Choose the supports from some nodes.

    Args:
        into, out (int64 [C + 1]): Offsets of the nodes' rows of parents and of children.
        level: int32 [C].
        num_levels: Of all nodes.
        index: Of the answer.

    Returns:
        supports: [64].
        scores (int64 [64]): The scores by which they were chosen; 0 if there is no support.
    """
    supports, scores = np.full(NUM_SUPPORTS, NO_ROW, index), np.zeros(NUM_SUPPORTS, np.int64)
    bands, share = bands_of(num_levels)
    used = slice(bands * share)
    _choose(
        frozen(into), frozen(out), level, num_levels, supports[used].reshape(bands, share), scores[used].reshape(bands, share)
    )
    return supports, scores


def bands_of(num_levels: int) -> tuple[int, int]:
    """Number of bands, and of supports in each."""
    bands = max(1, min(NUM_SUPPORTS, num_levels))
    return bands, NUM_SUPPORTS // bands


def spread_bits(condensation: Condensation, order: Array, supports: Array) -> tuple[Array, Array]:
    """Return the bits of the supports that each node reaches, and of those that reach it: uint64 [C] each."""
    reaches = np.zeros(len(order), np.uint64)
    used = supports[supports != NO_ROW]
    reaches[used] = np.uint64(1) << np.flatnonzero(supports != NO_ROW).astype(np.uint64)
    reached = reaches.copy()
    gather_bits(frozen(condensation.children.offsets), frozen(condensation.children.indices), order[::-1].copy(), reaches)
    gather_bits(frozen(condensation.parents.offsets), frozen(condensation.parents.indices), order, reached)
    return reaches, reached


@njit(cache=True, nogil=True)
def _choose(into: Array, out: Array, level: Array, num_levels: int, best: Array, scores: Array) -> None:
    """Keep the best nodes of each band sorted in `best` [bands, share]; nodes ascend, so ties keep the smaller node first."""
    bands, last = len(best), best.shape[1] - 1
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
def gather_bits(offsets: Array, indices: Array, order: Array, bits: Array) -> None:
    """Give each node the bits of its row; every node of a row comes before its tail in `order`."""
    for node in order:
        word = bits[node]
        for arc in range(offsets[node], offsets[node + 1]):
            word |= bits[indices[arc]]
        bits[node] = word
