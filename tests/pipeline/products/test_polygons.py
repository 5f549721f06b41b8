"""The areas of isochrones: read back, they cover exactly the triangles that are kept."""

from itertools import pairwise
from struct import unpack_from

import numpy as np
import pytest

from pipeline.steps.products.isochrones.triangles import triangulate


def rings_of(area: bytes) -> list[list[np.ndarray]]:
    """The rings of each polygon of a MultiPolygon in WKB."""
    place, polygons = 9, []
    assert unpack_from("<BI", area) == (1, 6)
    for _ in range(unpack_from("<I", area, 5)[0]):
        order, kind, count = unpack_from("<BII", area, place)
        assert (order, kind) == (1, 3)
        place, rings = place + 9, []
        for _ in range(count):
            (length,) = unpack_from("<I", area, place)
            rings.append(np.frombuffer(area, "<f8", 2 * length, place + 4).reshape(length, 2))
            place += 4 + 16 * length
        polygons.append(rings)
    assert place == len(area)
    return polygons


def turned(ring: np.ndarray) -> float:
    x, y = ring.T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum()) / 2


def inside(rings: list[np.ndarray], points: np.ndarray) -> np.ndarray:
    """Whether each point is inside, by the number of sides to its right."""
    found = np.zeros(len(points), int)
    for ring in rings:
        for (x, y), (x2, y2) in pairwise(ring):
            if y != y2:
                crossed = (np.minimum(y, y2) <= points[:, 1]) & (points[:, 1] < np.maximum(y, y2))
                found += crossed & (points[:, 0] < x + (points[:, 1] - y) / (y2 - y) * (x2 - x))
    return found % 2 == 1


@pytest.mark.parametrize(("seed", "share"), [(1, 0.95), (2, 0.8), (3, 0.6), (4, 0.4)])
def test_areas_are_those_of_the_triangles(seed, share):
    """Also with holes, and where parts touch in one corner."""
    random = np.random.default_rng(seed)
    triangles = triangulate(random.random((120, 2)))
    within = random.random(120) < share
    kept = triangles.used & within[triangles.corners].all(axis=1)
    polygons = rings_of(triangles.area(within))
    corners = triangles.places[triangles.corners]
    sides = corners[:, 1:] - corners[:, :1]
    sizes = (sides[:, 0, 0] * sides[:, 1, 1] - sides[:, 0, 1] * sides[:, 1, 0]) / 2
    assert (sizes > 0).all()
    rings = [ring for polygon in polygons for ring in polygon]
    assert sum(map(turned, rings)) == pytest.approx(sizes[kept].sum())
    np.testing.assert_array_equal(inside(rings, corners.mean(axis=1)), kept)
    for outer, *holes in polygons:
        assert turned(outer) > 0
        assert all(turned(hole) < 0 for hole in holes)
        for ring in (outer, *holes):
            assert (ring[0] == ring[-1]).all()
            assert len(np.unique(ring[:-1], axis=0)) == len(ring) - 1 >= 3


def test_long_triangles_are_left_out():
    places = np.concatenate([np.random.default_rng(1).random((60, 2)), [[200.0, 0.5]]])
    triangles = triangulate(places / 100)
    ((ring,),) = rings_of(triangles.area(np.ones(61, np.bool_)))
    assert ring[:, 0].max() < 0.02


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_places_on_a_line_have_no_area(count):
    triangles = triangulate(np.stack([np.arange(count), np.zeros(count)], axis=1).astype(np.float64))
    assert triangles.area(np.ones(count, np.bool_)) is None
