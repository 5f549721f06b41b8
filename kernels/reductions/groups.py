"""Distances by groups of vertices: how many there are, the least one, and sums from which means follow. On the CPU.

Sums are of two floats each, the second one of what the first cannot hold (Dekker, A floating-point technique for extending the
available precision, 1971; Hida, Li and Bailey, Quad-double arithmetic, 2000). They are added in one order, so that all machines
and any division of the sources into tasks have the same bits.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from kernels.arrays import frozen
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import UNREACHED, Array

_SPLIT = 2.0**27 + 1
_TOTAL, _WEIGHTED, _WEIGHT = 0, 2, 4  # where the sums of distances, of weighted ones, and of weights begin


@dataclass(frozen=True)
class GroupSums:
    """What is known of the distances of each group."""

    counts: Array  # int64 [..., G, 2]: pairs, and those of them without a distance
    least: Array  # int64 or float64 [..., G]: the least distance; UNREACHED where there is none
    sums: Array  # float64 [..., G, 6]: of distances, of distances times weights, and of weights, two floats each

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: Any) -> Self:
        """Of no pairs; `dtype` is that of distances, int64 or float64."""
        return cls(np.zeros((*shape, 2), np.int64), np.full(shape, UNREACHED, dtype), np.zeros((*shape, 6)))

    @property
    def reached(self) -> Array:
        """Pairs with a distance, int64 [..., G]."""
        reached: Array = self.counts[..., 0] - self.counts[..., 1]
        return reached

    @property
    def means(self) -> Array:
        """The mean distance, float64 [..., G]; NaN where there is none."""
        return _divided(self.sums[..., _TOTAL], self.reached)

    @property
    def weighted_means(self) -> Array:
        """The weighted mean, float64 [..., G]; NaN where no pair with a distance has a weight."""
        return _divided(self.sums[..., _WEIGHTED], self.sums[..., _WEIGHT])

    def add(self, distances: Array, groups: Array, weights: Array) -> None:
        """Add distances [n] to their groups, int64 [n], with weights, float64 [n]."""
        limit = distances.max(initial=0)
        _add(*map(frozen, (distances, groups, weights)), limit, self.counts, self.least, self.sums)

    def merge(self, rows: "GroupSums", groups: Array, weights: Array) -> None:
        """Add what is known of k rows, [k, G], to [..., G] by their groups, int64 [k], times their weights, float64 [k]."""
        _merge(rows.counts, rows.least, rows.sums, frozen(groups), frozen(weights), self.counts, self.least, self.sums)


def by_groups(distances: Array, groups: Array, weights: Array, number: int, limit: Any) -> GroupSums:
    """What is known of each of k trees by groups of their vertices.

    Args:
        distances (int32, int64 or float64 [k, n]): NumPy's; negative where a tree does not reach a vertex.
        groups (int64 [n]), weights (float64 [n]): Of the vertices; there are `number` groups.
        limit: A larger distance counts as none.
    """
    wide = np.float64 if distances.dtype.kind == "f" else np.int64
    made = GroupSums.empty((len(distances), number), wide)
    arrays = frozen(np.ascontiguousarray(distances)), frozen(groups), frozen(weights)
    work = partial(_by_rows, *arrays, wide(limit), made.counts, made.least, made.sums)
    over_items(ranges(len(distances), distances.size), lambda trees: work(*trees))
    return made


def _divided(sums: Array, by: Array) -> Array:
    quotients: Array = np.divide(sums, by, out=np.full(sums.shape, np.nan), where=by > 0)
    return quotients


@njit(cache=True, nogil=True)
def _plus(sums: Array, place: int, high: float, low: float) -> None:
    """Add a sum of two floats to the one that begins at a place."""
    total = sums[place] + high
    part = total - sums[place]
    rest = (sums[place] - (total - part)) + (high - part) + (sums[place + 1] + low)
    sums[place] = total + rest
    sums[place + 1] = rest - (sums[place] - total)


@njit(cache=True, nogil=True)
def _error_of_product(left: float, right: float, product: float) -> Any:
    """What a product was rounded by."""
    scaled, other = left * _SPLIT, right * _SPLIT
    high, above = scaled - (scaled - left), other - (other - right)
    low, below = left - high, right - above
    return ((high * above - product) + high * below + low * above) + low * below


@njit(cache=True, nogil=True)
def _add(distances: Array, groups: Array, weights: Array, limit: float, counts: Array, least: Array, sums: Array) -> None:
    for place in range(len(distances)):
        group, distance = groups[place], distances[place]
        counts[group, 0] += 1
        if distance < 0 or distance > limit:
            counts[group, 1] += 1
            continue
        if least[group] < 0 or distance < least[group]:
            least[group] = distance
        length, weight = float(distance), weights[place]
        _plus(sums[group], _TOTAL, length, 0.0)
        product = length * weight
        _plus(sums[group], _WEIGHTED, product, _error_of_product(length, weight, product))
        _plus(sums[group], _WEIGHT, weight, 0.0)


@njit(cache=True, nogil=True)
def _by_rows(
    distances: Array, groups: Array, weights: Array, limit: float, counts: Array, least: Array, sums: Array, begin: int, end: int
) -> None:
    for tree in range(begin, end):
        _add(distances[tree], groups, weights, limit, counts[tree], least[tree], sums[tree])


@njit(cache=True, nogil=True)
def _merge(
    counts: Array, least: Array, sums: Array, groups: Array, weights: Array, into: Array, into_least: Array, into_sums: Array
) -> None:
    for row in range(len(counts)):
        group, weight = groups[row], weights[row]
        for other in range(counts.shape[1]):
            into[group, other] += counts[row, other]
            distance = least[row, other]
            if distance >= 0 and (into_least[group, other] < 0 or distance < into_least[group, other]):
                into_least[group, other] = distance
            _plus(into_sums[group, other], _TOTAL, sums[row, other, _TOTAL], sums[row, other, _TOTAL + 1])
            for place in (_WEIGHTED, _WEIGHT):
                high, low = sums[row, other, place], sums[row, other, place + 1]
                product = high * weight
                _plus(into_sums[group, other], place, product, _error_of_product(high, weight, product) + low * weight)
