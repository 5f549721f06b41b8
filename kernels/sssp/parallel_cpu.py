"""Shortest paths by whole frontiers, on all cores.

The near and far piles of Davidson, Baxter, Garland, Owens, Work-Efficient Parallel GPU Methods for Single-Source Shortest Paths,
IPDPS 2014: all rows nearer than a limit are scanned until none of them changes; then the limit rises, and rows of the far pile
become near. A thread lowers a distance by compare-and-swap. Distances are the smallest sums in every order (`kernels.sssp.cpu`).

A row enters the far pile once, when it is first reached: from then on its distance only falls, and it leaves the pile when the
limit passes it. `scanned` has the distance with which a row was scanned last, so that a second entry of a row costs little.
"""

from functools import partial
from typing import Any

import numpy as np

from kernels.arrays import frozen, unsigned
from kernels.cpu.atomics import compare_and_swap
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges, ranges_of_rows, worth_threads
from kernels.graph import OFFSET, Array, Csr

_SLOTS = 2  # by which the limit rises
_SMALL = 8  # frontiers in a row that are not worth threads, after which one core is faster


def shorten_in_parallel(out: Csr, width: float, rows: Array, distance: Array, unreached: Any) -> Array:
    """Lower `distance` as `kernels.sssp.cpu.shorten` does, as long as frontiers are large.

    Args:
        width: Of a slot of `shorten`.
        rows (index width [S]): Each once.
        distance: uint64 or float64 [V].
        unreached: The distance of a row that is not reached.

    Returns:
        The rows (index width [k], each once) that have to be scanned yet: smallest sums follow from their distances.
    """
    if not worth_threads(len(out.indices)):
        return rows
    assert out.weights is not None
    arcs = unsigned(out.offsets), unsigned(out.indices), frozen(out.weights)
    scanned, near, far, small = np.full_like(distance, unreached), rows, rows[:0], 0
    kind, whole = distance.dtype.type, distance.dtype.kind == "u"
    step = kind(max(_SLOTS * width, 1) if whole else _SLOTS * width)
    lowest, limit = unreached, distance[rows].max() + step
    while small < _SMALL and len(near) + len(far):
        if not len(near):
            limit = max(max(limit, lowest) + step, lowest + kind(1) if whole else np.nextafter(lowest, np.inf))
            parts = over_items(ranges(len(far)), partial(_divide, far, distance, scanned, limit, unreached))
            near, far, lowest = _joined(parts)
            continue
        ends = np.cumsum(out.offsets[near + 1] - out.offsets[near])
        small = 0 if len(near) > 1 and worth_threads(ends[-1]) else small + 1
        parts = over_items(
            ranges_of_rows(np.concatenate([np.zeros(1, OFFSET), ends])),
            partial(_relax, *arcs, distance, scanned, near, limit, unreached),
        )
        near, more, least = _joined(parts)
        far, lowest = np.concatenate([far, more]), min(lowest, least)
    pending = np.concatenate([near, far])
    return np.unique(pending[distance[pending] < scanned[pending]])


def _joined(parts: list[tuple[Array, Array, Any]]) -> tuple[Array, Array, Any]:
    near, far, lowest = zip(*parts, strict=True)
    return np.concatenate(near), np.concatenate(far), min(lowest)


@njit(cache=True, nogil=True)
def _relax(
    offsets: Array, indices: Array, weights: Array, distance: Array, scanned: Array, rows: Array, limit: Any, unreached: Any,
    part: tuple[int, int],
) -> tuple[Array, Array, Any]:  # fmt: skip
    """Relax arcs of some rows; return rows lowered below the limit, rows reached first beyond it, and their least distance."""
    most = 0
    for row in rows[part[0] : part[1]]:
        most += offsets[row + 1] - offsets[row]
    near, far = np.empty(most, rows.dtype), np.empty(most, rows.dtype)
    near_end, far_end, lowest = 0, 0, unreached
    for row in rows[part[0] : part[1]]:
        length = distance[row]
        if length == scanned[row]:
            continue
        scanned[row] = length
        for arc in range(offsets[row], offsets[row + 1]):
            head = indices[arc]
            total, held = length + distance.dtype.type(weights[arc]), distance[head]
            while total < held and not compare_and_swap(distance, head, held, total):
                held = distance[head]
            if total < held:
                if total < limit:
                    near[near_end] = head
                    near_end += 1
                elif held == unreached:
                    far[far_end] = head
                    far_end += 1
                    lowest = min(lowest, total)
    return near[:near_end].copy(), far[:far_end].copy(), lowest


@njit(cache=True, nogil=True)
def _divide(
    rows: Array, distance: Array, scanned: Array, limit: Any, unreached: Any, part: tuple[int, int]
) -> tuple[Array, Array, Any]:  # fmt: skip
    """Divide rows that were not scanned with their distance into near and far ones; return the least distance of these, too."""
    near, far = np.empty(part[1] - part[0], rows.dtype), np.empty(part[1] - part[0], rows.dtype)
    near_end, far_end, lowest = 0, 0, unreached
    for row in rows[part[0] : part[1]]:
        length = distance[row]
        if length < scanned[row]:
            if length < limit:
                near[near_end] = row
                near_end += 1
            else:
                far[far_end] = row
                far_end += 1
                lowest = min(lowest, length)
    return near[:near_end].copy(), far[:far_end].copy(), lowest
