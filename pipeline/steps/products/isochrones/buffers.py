"""Areas around edges, for isochrones without a triangle: of a single vertex, a straight road, or a few streets.

Places on the outline, at a distance from the edges, and on the edges themselves are triangulated, and the triangles whose middles
are within the distance of an edge are kept: `Triangles` makes polygons of them. Of a straight road this gives a strip with round
ends. Metres are those of the sphere at the middle latitude of the edges.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernels.graph import Array
from pipeline.steps.products.isochrones import globe
from pipeline.steps.products.isochrones.triangles import triangulate

_METRES_PER_DEGREE = 6_371_008.8 * np.pi / 180  # on the sphere of the mean radius
_CORNERS = 16  # of a circle
_STRAIGHT = 1e-3  # of the distance: edges that are nowhere farther from a line are on it
_MOST_PLACES = 20_000  # on the edges of one area
_NEAREST = 4  # places on edges, whose edges may be the nearest to the middle of a triangle
_DIGITS = 9  # of degrees, a tenth of a millimetre, so that the functions of all processors give the same coordinates


@dataclass(frozen=True)
class _Plane:
    """A plane of metres around places that are near each other."""

    longitude: float
    latitude: float
    east: float  # degrees of longitude per metre

    @classmethod
    def around(cls, places: Array) -> Self:
        middle = (places[:, 1].min() + places[:, 1].max()) / 2
        shrunk = max(float(np.cos(np.radians(middle))), 1e-6)
        return cls(float(places[0, 0]), float(middle), 1 / (_METRES_PER_DEGREE * shrunk))

    def of(self, places: Array) -> Array:
        """Degrees [..., 2] in metres."""
        east = (places[..., 0] - self.longitude + 180.0) % 360.0 - 180.0
        return np.stack([east / self.east, (places[..., 1] - self.latitude) * _METRES_PER_DEGREE], axis=-1)

    def degrees(self, points: Array) -> Array:
        """Metres [n, 2] in degrees, different ones."""
        longitude = (self.longitude + points[:, 0] * self.east + 180.0) % 360.0 - 180.0
        latitude = np.clip(self.latitude + points[:, 1] / _METRES_PER_DEGREE, -90.0, 90.0)
        places = np.round(np.stack([longitude, latitude], axis=1), _DIGITS)
        return np.unique(globe.canonical(places) if globe.is_round(places) else places, axis=0)


def buffered(edges: Array, metres: float) -> bytes | None:
    """What is within a number of metres of edges.

    Args:
        edges (float64 [n, 2, 2]): Longitudes and latitudes of both ends, which may be the same place; at least one.

    Returns:
        A MultiPolygon in WKB; None where so few metres are no area in degrees.
    """
    plane = _Plane.around(edges.reshape(-1, 2))
    lines = _merged(plane.of(edges), _STRAIGHT * metres)
    inner, line_of = _along(lines, metres)
    places = plane.degrees(np.concatenate([inner, _outline(lines, metres)]))
    if len(places) < 3:
        return None
    triangles = triangulate(places)
    middles = plane.of(places)[triangles.wholes].mean(axis=1)
    near = _distances(middles, lines, inner, line_of) <= metres
    return replace(triangles, used=near).area(np.ones(len(places), np.bool_))


def _merged(lines: Array, tolerance: float) -> Array:
    """Lines [n, 2, 2] on a plane; those that are on one line are joined where they touch."""
    points = lines.reshape(-1, 2)
    start = points[((points - points[0]) ** 2).sum(axis=1).argmax()]
    away = points - start
    farthest = away[(away**2).sum(axis=1).argmax()]
    length = float(np.hypot(*farthest))
    if length <= tolerance:
        return lines[:1]
    along = farthest / length
    if np.abs(away @ [-along[1], along[0]]).max() > tolerance:
        return lines
    reach = np.sort((away @ along).reshape(-1, 2), axis=1)
    reach = reach[reach[:, 0].argsort(kind="stable")]
    so_far = np.maximum.accumulate(reach[:, 1])
    begins = np.flatnonzero(np.append(True, reach[1:, 0] > so_far[:-1] + tolerance))
    ends = np.append(so_far[begins[1:] - 1], so_far[-1])
    merged: Array = start + np.stack([reach[begins, 0], ends], axis=1)[:, :, np.newaxis] * along
    return merged


def _along(lines: Array, metres: float) -> tuple[Array, Array]:
    """Points [m, 2] on lines, at most so many metres apart unless there would be too many, and the line of each."""
    lengths = np.hypot(*(lines[:, 1] - lines[:, 0]).T)
    steps = np.ceil(lengths / max(metres, lengths.sum() / _MOST_PLACES)).astype(np.int64) + 1
    line_of = np.repeat(np.arange(len(lines)), steps)
    number = np.arange(len(line_of)) - np.repeat(np.cumsum(steps) - steps, steps)
    share = (number / np.maximum(steps - 1, 1)[line_of])[:, np.newaxis]
    return lines[line_of, 0] * (1 - share) + lines[line_of, 1] * share, line_of


def _outline(lines: Array, metres: float) -> Array:
    """Points around the ends of lines and beside their points."""
    ahead = lines[:, 1] - lines[:, 0]
    turned = np.arctan2(ahead[:, 1], ahead[:, 0])
    angles = turned[:, np.newaxis] + 2 * np.pi * np.arange(_CORNERS) / _CORNERS
    circle = metres * np.stack([np.cos(angles), np.sin(angles)], axis=2)
    points, line_of = _along(lines, metres)
    aside = metres * np.stack([-np.sin(turned), np.cos(turned)], axis=1)[line_of]
    around = [(lines[:, end, np.newaxis] + circle).reshape(-1, 2) for end in (0, 1)]
    return np.concatenate([*around, points + aside, points - aside])


def _distances(middles: Array, lines: Array, points: Array, line_of: Array) -> Array:
    """The distance of each point [t, 2] to the nearest line, by the lines of the nearest points on them."""
    from scipy.spatial import cKDTree

    _, nearest = cKDTree(points).query(middles, np.arange(1, min(_NEAREST, len(points)) + 1))
    begins, ahead = lines[line_of[nearest], 0], (lines[:, 1] - lines[:, 0])[line_of[nearest]]
    away, squares = middles[:, np.newaxis] - begins, (ahead**2).sum(axis=2)
    share = np.divide((away * ahead).sum(axis=2), squares, out=np.zeros(squares.shape), where=squares > 0)
    rest = away - np.clip(share, 0.0, 1.0)[:, :, np.newaxis] * ahead
    distances: Array = np.sqrt((rest**2).sum(axis=2)).min(axis=1)
    return distances
