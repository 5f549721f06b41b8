"""Triangles of places around a pole or on both sides of the 180th meridian, cut there as RFC 7946 wants areas to be."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernels.graph import Array
from pipeline.tables.points import cut_of, gap_across, on_sphere

_POLAR = 80.0  # degrees: places all around a pole, some of them beyond this latitude, have no plane of longitude and latitude
_LEAST = 1e-9  # of the height in the stereographic projection: the opposite point of the globe would be infinitely far away


class Mesh(NamedTuple):
    """Triangles none of which crosses the meridian; those that did are in parts.

    Attributes:
        places: float64 [P, 2]: longitude and latitude of their corners.
        corners: int32 [T, 3], counter-clockwise.
        neighbours: int32 [T, 3]: corner i is opposite to neighbour i; -1 beyond the edge, and across the meridian.
        wholes: int32 [T, 3]: the corners of the triangle that each is a part of, among the places that were given.
        sides: float64 [T, 3]: the lengths of that triangle's sides, in radii of the earth.
    """

    places: Array
    corners: Array
    neighbours: Array
    wholes: Array
    sides: Array


class _Point(NamedTuple):
    """A place on the plane of longitude, which goes on beyond the meridian: `turn` counts how often it was crossed."""

    turn: int
    longitude: float
    latitude: float


def is_round(places: Array) -> bool:
    """Whether places, longitude and latitude float64 [P, 2], are at or around a pole, or on both sides of the meridian."""
    if not len(places):
        return False
    longitudes, most = places[:, 0], np.abs(places[:, 1]).max()
    around = most > _POLAR and gap_across(np.unique(longitudes)) < 180
    return bool(most == 90 or around or cut_of(longitudes) != -180)


def canonical(places: Array) -> Array:
    """The same places, each with one pair of coordinates: longitude 180 instead of -180, and 0 at the poles."""
    canonical_places = places.copy()
    canonical_places[canonical_places[:, 0] == -180, 0] = 180.0
    canonical_places[np.abs(canonical_places[:, 1]) == 90, 0] = 0.0
    return canonical_places


def triangulate(places: Array) -> Mesh:
    """The Delaunay triangles on the sphere of different places, as `canonical` gives them; none where all are on a circle.

    The stereographic projection from the opposite point of their middle keeps circles, and so the triangles.
    """
    from scipy.spatial import Delaunay, QhullError

    vectors = on_sphere(*places.T)
    try:
        wholes = Delaunay(_projected(vectors)).simplices
    except (QhullError, ValueError):
        wholes = np.empty((0, 3), np.int32)
    sides = np.linalg.norm(vectors[wholes] - vectors[np.roll(wholes, 1, axis=1)], axis=2)
    parts, of = list[Array](), list[int]()
    longitudes = places[wholes, 0]
    plain = longitudes.max(axis=1, initial=-180) - longitudes.min(axis=1, initial=180) < 180
    plain &= (np.abs(places[wholes]) != (180.0, 90.0)).all(axis=(1, 2))
    for whole in np.flatnonzero(~plain).tolist():
        for part in _parts([(float(x), float(y)) for x, y in places[wholes[whole]]]):
            parts.append(part)
            of.append(whole)
    numbers = np.concatenate([np.flatnonzero(plain), np.array(of, np.int64)])
    triangles = np.concatenate([places[wholes[plain]], np.array(parts).reshape(-1, 3, 2)])
    ahead, behind = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    upright = ahead[:, 0] * behind[:, 1] > ahead[:, 1] * behind[:, 0]
    triangles, numbers = triangles[upright], numbers[upright]
    vertices, corners = np.unique(triangles.reshape(-1, 2), axis=0, return_inverse=True)
    corners = corners.reshape(-1, 3).astype(np.int32)
    return Mesh(vertices, corners, _neighbours(corners, len(vertices)), wholes[numbers], sides[numbers])


def _projected(vectors: Array) -> Array:
    """Unit vectors [P, 3] on the plane [P, 2] that touches the globe in their middle, seen from outside."""
    total = vectors.sum(axis=0)
    middle = total / (np.linalg.norm(total) or 1.0) if len(vectors) else np.array([1.0, 0.0, 0.0])
    east = np.cross([0.0, 0.0, 1.0], middle)
    east = east / np.linalg.norm(east) if np.linalg.norm(east) > _LEAST else np.array([0.0, 1.0, 0.0])
    north = np.cross(middle, east)
    height = np.maximum(1.0 + vectors @ middle, _LEAST)
    return np.stack([vectors @ east / height, vectors @ north / height], axis=1)


def _parts(corners: list[tuple[float, float]]) -> Iterator[Array]:
    """The parts of one triangle on the plane, triangles [3, 2] that do not cross the meridian; the pole becomes a side."""
    pole = next((at for at, corner in enumerate(corners) if abs(corner[1]) == 90), None)
    if pole is not None:
        first, last = _unrolled(corners[pole + 1 :] + corners[:pole])
        yield from _cut(_to_pole(first, last, corners[pole][1]))
        return
    *chain, again = _unrolled([*corners, corners[0]])
    if again.turn == chain[0].turn:
        yield from _cut(chain)
        return
    for first, last in pairwise([*chain, again]):  # the triangle contains the pole, on the left of its sides
        yield from _cut(_to_pole(first, last, 90.0 if again.turn > chain[0].turn else -90.0))


def _to_pole(first: _Point, last: _Point, latitude: float) -> list[_Point]:
    """What is between a side and a pole."""
    return [first, last, last._replace(latitude=latitude), first._replace(latitude=latitude)]


def _unrolled(places: list[tuple[float, float]]) -> list[_Point]:
    """A line from place to place on the plane, each by the shorter way around the globe."""
    points = [_Point(0, *places[0])]
    for longitude, latitude in places[1:]:
        step = longitude - points[-1].longitude
        points.append(_Point(points[-1].turn + (step < -180) - (step > 180), longitude, latitude))
    return points


def _cut(points: list[_Point]) -> Iterator[Array]:
    """Triangles [3, 2] of the parts into which the meridian cuts a convex shape."""
    for turn in sorted({point.turn for point in points}):
        ring = list[tuple[float, float]]()
        for point, following in zip(points, [*points[1:], points[0]], strict=True):
            if point.turn == turn:
                ring.append(point[1:])
            if point.turn != following.turn and turn in (point.turn, following.turn):
                west, east = sorted((point, following))
                ring.append((180.0 if turn == west.turn else -180.0, _latitude_between(west, east)))
        ring = [corner for corner, before in zip(ring, [ring[-1], *ring], strict=False) if corner != before]
        yield from (np.array([ring[0], *side]) for side in pairwise(ring[1:]))


def _latitude_between(west: _Point, east: _Point) -> float:
    """Where a line crosses the meridian: the same for both triangles beside it."""
    share = (180.0 - west.longitude) / (east.longitude + 360.0 - west.longitude)
    return west.latitude + share * (east.latitude - west.latitude)


def _neighbours(corners: Array, count: int) -> Array:
    """The triangle on the other side of each side, int32 [T, 3], by the places at its ends; -1 where there is none."""
    begins, ends = (np.roll(corners, -shift, axis=1).astype(np.int64).ravel() for shift in (1, 2))
    sides, turned = begins * count + ends, ends * count + begins
    order = np.argsort(sides)
    at = np.minimum(np.searchsorted(sides[order], turned), max(len(sides) - 1, 0))
    of_turned = order[at] if len(sides) else at
    return np.where(sides[of_turned] == turned, of_turned // 3, -1).astype(np.int32).reshape(-1, 3)
