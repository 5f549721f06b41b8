"""Shortest paths with multi-level buckets (Denardo, Fox: Shortest-Route Methods 1, Operations Research 27, 1979).

Distances are cut into slots of a fixed width. Level 0 has a bucket for each of the next 64 slots, level 1 for each of the
next 64 groups of 64 slots, and so on: a wheel of wheels that takes any weights. The nearest bucket of level 0 is scanned,
again while it fills; if level 0 is empty, the nearest bucket above is spread over the levels below. A slot is wider than the
shortest arcs, so a row may be scanned more than once (as in the delta-stepping of Meyer and Sanders, 2003), but addition is
monotone, and the smallest sum is found in whatever order: the distances are the same to the bit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernels.answers import Paths
from kernels.backend import frozen
from kernels.graph import NO_ROW, UNREACHED, Array, Graph, distance_dtype
from kernels.predecessors import complete_predecessors

_BITS = 6
_WHEEL = 1 << _BITS
_LEVELS = 11  # 11 times 6 bits hold every 63-bit slot


def search(graph: Graph, source: int) -> Paths:
    """Answer `kernels.sssp.sssp` on NumPy arrays."""
    out = graph.out
    kind = distance_dtype(out.weights)
    # Unsigned, a sum of two int64 cannot wrap, and one that exceeds int64 is not nearer than 2^63.
    sums, far = (np.uint64, np.uint64(2**63)) if kind == np.int64 else (np.float64, np.inf)
    lengths = np.full(graph.num_vertices, far, sums)
    _shorten(frozen(out.offsets), frozen(out.indices), frozen(out.weights), source, lengths, 1 / _slot_width(out.weights))
    unreached = lengths == far
    distance = lengths.view(kind)
    distance[unreached] = UNREACHED
    predecessor = np.full(graph.num_vertices, NO_ROW, graph.rows_by_id.dtype)
    complete_predecessors(graph, source, distance, predecessor, hops=False)
    return Paths(source, distance, predecessor)


def _slot_width(weights: Array) -> float:
    return max(float(weights.sum(dtype=np.float64)) / max(len(weights), 1) / 4, 1.0)


@njit(cache=True, nogil=True)
def _shorten(offsets, indices, weights, source, distance, slots_per_length):  # type: ignore[no-untyped-def]
    """Lower `distance` to the smallest sums from `source`. A bucket is a list of entries (row, length), linked by `after`."""
    length_of = distance.dtype.type
    buckets = np.full(_WHEEL * _LEVELS, -1, np.int64)
    rows, lengths, after = np.empty(1024, indices.dtype), np.empty(1024, distance.dtype), np.empty(1024, np.int64)
    rows[0], lengths[0], after[0] = source, 0, -1
    distance[source] = 0
    used, free = 1, -1
    buckets[0] = 0
    now = 0  # the slot that is scanned
    bucket = 0
    while bucket < len(buckets):
        entry = buckets[bucket]
        buckets[bucket] = -1
        level, place = divmod(bucket, _WHEEL)
        if entry < 0:
            bucket += 1
            continue
        now = ((now >> (_BITS * (level + 1)) << _BITS) | place) << (_BITS * level)
        bucket = bucket if level == 0 else 0
        while entry >= 0:
            row, length, following = rows[entry], lengths[entry], after[entry]
            if level > 0 and length == distance[row]:
                target = _bucket(length, slots_per_length, now)
                after[entry], buckets[target] = buckets[target], entry
            else:
                after[entry], free = free, entry
            if level == 0 and length == distance[row]:
                for arc in range(offsets[row], offsets[row + 1]):
                    far = indices[arc]
                    total = length + length_of(weights[arc])
                    if total < distance[far]:
                        distance[far] = total
                        if free >= 0:
                            new, free = free, after[free]
                        else:
                            if used == len(rows):
                                rows, lengths, after = _twice(rows), _twice(lengths), _twice(after)
                            new, used = used, used + 1
                        target = _bucket(total, slots_per_length, now)
                        rows[new], lengths[new], after[new] = far, total, buckets[target]
                        buckets[target] = new
            entry = following


@njit(cache=True, nogil=True)
def _bucket(length, slots_per_length, now):  # type: ignore[no-untyped-def]
    """Bucket of `length`: its level is the highest digit in which its slot differs from `now`, its place that digit."""
    slot = np.int64(np.float64(length) * slots_per_length)
    apart, bucket = slot ^ now, 0
    while apart >= _WHEEL:
        apart >>= _BITS
        slot >>= _BITS
        bucket += _WHEEL
    return bucket + (slot & (_WHEEL - 1))


@njit(cache=True, nogil=True)
def _twice(array):  # type: ignore[no-untyped-def]
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer
