"""Stable radix sort on the GPU, by no more bits than the keys have (radix_sort.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.constants import RADIX_DIGITS, RADIX_ITEMS, RADIX_THREADS, STATUS_FLAG_BITS
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array

KEY = np.dtype(np.uint64)
_SOURCE = "gpu/radix_sort.cu"
TILE = RADIX_ITEMS * RADIX_THREADS  # keys of a block
_PLACE_BYTES = 2  # of a key's index in its tile
_STATUS_WORDS = 1 << 20
_PART = (1 << 32 - STATUS_FLAG_BITS) // TILE * TILE - TILE  # keys of a launch, whose sums fit a status word


def sort(keys: Array, values: Array | None, first_bit: int, end_bit: int, part: int = _PART) -> tuple[Array, Array | None]:
    """Sort keys by their bits `first_bit..end_bit-1`, and values by their keys; equal keys keep their order.

    Args:
        keys (uint64 [N]): Overwritten, as are the values. Bits from `end_bit` on are ignored.
        values: [N] of 4 or 8 bytes each, or None.
        part: Keys of a launch, a multiple of 7168 below 2^30.

    Returns:
        keys, values: In these arrays or in new ones of their size.
    """
    length, passes = len(keys), -(-(end_bit - first_bit) // 8)
    if length < 2 or passes < 1:
        return keys, values
    bits = np.int32(first_bit), np.int32(end_bit)
    places = _first_places(keys, passes, *bits)
    firsts = range(0, length, part)
    after = cupy.empty((len(firsts), RADIX_DIGITS), np.int64)
    words = -(-min(part, length) // TILE) * RADIX_DIGITS + 1
    turns = passes * len(firsts)
    together = turns * words <= _STATUS_WORDS  # cleared once: a short sort waits for launches
    statuses = cupy.zeros((turns, words), np.uint32) if together else cupy.empty((1, words), np.uint32)
    spare, spare_values = cupy.empty_like(keys), None if values is None else cupy.empty_like(values)
    value_bytes = np.int32(0 if values is None else values.itemsize)
    shared = TILE * (KEY.itemsize + (0 if values is None else _PLACE_BYTES))
    for number in range(passes):
        here = places[number]
        for turn, (first, following) in enumerate(zip(firsts, after, strict=True)):
            end = min(first + part, length)
            status = statuses[number * len(firsts) + turn if together else 0]
            if not together:
                status.fill(0)
            arguments = (keys, pointer(values), value_bytes, np.int64(first), np.int64(end), *bits, np.int32(number))
            results = (here, following, status, status[-1:], spare, pointer(spare_values))
            tiles = -(-(end - first) // TILE)
            launch(_SOURCE, "sort_by_digit", RADIX_THREADS, None, *arguments, *results, blocks=tiles, shared=shared, plain=True)
            here = following
        keys, spare = spare, keys
        values, spare_values = spare_values, values
    return keys, values


def _first_places(keys: Array, passes: int, first_bit: np.int32, end_bit: np.int32) -> Any:
    """The place of the first key of each digit, int64 [passes, 256]."""
    counts = cupy.zeros((passes, RADIX_DIGITS), np.int64)
    blocks = min(-(-len(keys) // RADIX_THREADS), 4 * cupy.cuda.Device().attributes["MultiProcessorCount"])
    arguments = keys, np.int64(len(keys)), first_bit, end_bit, counts
    launch(_SOURCE, "count_digits", RADIX_THREADS, None, *arguments, blocks=blocks, plain=True)
    launch(_SOURCE, "sum_digits", RADIX_DIGITS, None, counts, blocks=passes, plain=True)
    return counts
