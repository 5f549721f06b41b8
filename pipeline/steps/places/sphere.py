"""The nearest of many points on the sphere."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from kernels.cpu.parallel import cores
from kernels.graph import Array

RADIUS = 6_371_008.8  # metres: the mean radius of the earth
_DECIMALS = 6  # of metres: distances that are equal to a micrometre are equal
_ROUNDING = 4e-15  # of the cosine of an angle: within it several points may seem to be the nearest
_FEW = 32  # places for which all points are compared: an index of a large graph would take longer to build
_AT_ONCE = 2**18  # places whose candidates are in memory


class NearestPoints:
    """Points on the unit sphere, among which the nearest to any place is found.

    For many places an index is built: a k-d tree of the three coordinates. A shorter chord is a shorter way on the sphere, so its
    answers are exact there, also at poles and across the meridian; no projection is needed.
    """

    def __init__(self, vectors: Array) -> None:
        """`vectors`, float64 [m, 3], are the points, of which equally near ones are chosen in this order."""
        self._vectors = vectors

    def __len__(self) -> int:
        return len(self._vectors)

    def of(self, places: Array) -> tuple[Array, Array]:
        """For each place, unit vectors float64 [n, 3], the number of the nearest point, int64 [n], and metres, float64 [n].

        Distances that are equal to a micrometre are equal; then the first point is the nearest. Infinity if there is no point.
        """
        if not len(self._vectors):
            return np.zeros(len(places), np.int64), np.full(len(places), np.inf)
        find = self._by_comparing if len(places) <= _FEW else self._by_index
        parts = [find(places[first : first + _AT_ONCE]) for first in range(0, len(places), _AT_ONCE)]
        empty = np.empty(0, np.int64), np.empty(0)
        numbers, metres = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
        return numbers, metres

    def _by_comparing(self, places: Array) -> tuple[Array, Array]:
        return self._best(self._within_rounding(places), places)

    def _within_rounding(self, places: Array) -> Iterator[Array]:
        for place in places:
            cosines = self._vectors @ place
            yield np.flatnonzero(cosines >= cosines.max() - _ROUNDING)

    @cached_property
    def _index(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self._vectors)

    def _by_index(self, places: Array) -> tuple[Array, Array]:
        ranks = [1, 2][: len(self._vectors)]
        near = self._index.query(places, k=ranks, workers=cores())[1]
        metres = metres_between(self._vectors[near], places[:, np.newaxis])
        rows, best = np.arange(len(places)), metres.argmin(axis=1)
        numbers, least = near[rows, best].astype(np.int64), metres[rows, best]
        several = np.flatnonzero((metres == least[:, np.newaxis]).sum(axis=1) > 1)
        if len(several):  # perhaps more than two
            reach = 2 * np.sin((least[several] + 10.0**-_DECIMALS) / (2 * RADIUS))
            candidates = self._index.query_ball_point(places[several], reach, workers=cores())
            numbers[several], least[several] = self._best(candidates, places[several])
        return numbers, least

    def _best(self, candidates: Any, places: Array) -> tuple[Array, Array]:
        """The nearest of the candidates of each place, numbers of points of which each place has some."""
        lists = [np.asarray(one, np.int64) for one in candidates]
        of = np.repeat(np.arange(len(lists)), [len(one) for one in lists])
        numbers = np.concatenate([np.empty(0, np.int64), *lists])
        metres = metres_between(self._vectors[numbers], places[of])
        order = np.lexsort((numbers, metres, of))
        first = order[np.flatnonzero(np.diff(of[order], prepend=-1))]
        return numbers[first], metres[first]


def metres_between(one: Array, other: Array) -> Array:
    """Metres on the sphere between unit vectors [..., 3], to a micrometre."""
    chords = np.linalg.norm(one - other, axis=-1)
    metres: Array = np.round(2 * RADIUS * np.arcsin(np.minimum(chords / 2, 1)), _DECIMALS)
    return metres
