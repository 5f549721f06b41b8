"""The nearest of points on the sphere: by the index and by comparing all, against the haversine formula in plain Python."""

import math

import numpy as np
import pytest

from pipeline.steps.places import sphere
from pipeline.steps.places.sphere import RADIUS, NearestPoints
from pipeline.tables.points import on_sphere


def haversine(one, other):
    (west, south), (east, north) = (map(math.radians, place) for place in (one, other))
    square = math.sin((north - south) / 2) ** 2 + math.cos(south) * math.cos(north) * math.sin((east - west) / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(square))


def found(points, places, index):
    """Numbers and metres by one of both ways."""
    at, near = (on_sphere(*np.array(one, np.float64).T) for one in (places, points))
    numbers, metres = (NearestPoints(near)._by_index if index else NearestPoints(near)._by_comparing)(at)
    return numbers.tolist(), metres.tolist()


@pytest.mark.parametrize("index", [True, False], ids=["index", "comparing"])
def test_the_nearest_by_brute_force(index):
    random = np.random.default_rng(11)
    points = np.stack([random.uniform(-180, 180, 300), np.degrees(np.arcsin(random.uniform(-1, 1, 300)))], axis=1).tolist()
    points += [[180.0, 10.0], [-180.0, -10.0], [0.0, 90.0], [40.0, -90.0]]
    places = np.stack([random.uniform(-180, 180, 200), np.degrees(np.arcsin(random.uniform(-1, 1, 200)))], axis=1).tolist()
    places += [[-179.99, 10.01], [179.9, -10.0], [-120.0, 89.9], [-120.0, -89.9]]
    numbers, metres = found(points, places, index)
    for place, number, apart in zip(places, numbers, metres, strict=True):
        distances = [haversine(place, point) for point in points]
        assert number == min(range(len(points)), key=distances.__getitem__)
        assert apart == pytest.approx(distances[number], rel=1e-9, abs=1e-5)


@pytest.mark.parametrize("index", [True, False], ids=["index", "comparing"])
def test_of_equally_near_points_the_first_is_taken(index):
    """At one place, on both sides, and more of them than an index returns at first."""
    ring = [[east, 0.0] for east in (2.0, -2.0)] + [[0.0, north] for north in (2.0, -2.0)]
    points = [[50.0, 50.0], *ring, [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    numbers, metres = found(points, [[0.0, 0.0], [1.0, 1.0], [-1.9, 0.0], [50.0, 49.0]], index)
    assert numbers == [5, 5, 2, 0]
    assert metres[1] == 0
    assert found(ring, [[0.0, 0.0]], index)[0] == [0]
    assert found(ring[::-1], [[0.0, 0.0]], index)[0] == [0]
    assert found([[3.0, 4.0]], [[0.0, 0.0]], index)[0] == [0]


def test_both_ways_agree_to_the_last_bit(monkeypatch):
    random = np.random.default_rng(5)
    points = on_sphere(*random.uniform(7, 7.1, (2, 400)).round(3))
    places = on_sphere(*random.uniform(7, 7.1, (2, 300)).round(3))
    index = NearestPoints(points).of(places)
    monkeypatch.setattr(sphere, "_FEW", 1000)
    compared = NearestPoints(points).of(places)
    assert np.array_equal(index[0], compared[0])
    assert np.array_equal(index[1], compared[1])
    monkeypatch.setattr(sphere, "_AT_ONCE", 7)
    assert np.array_equal(NearestPoints(points).of(places)[0], index[0])
    assert [one.tolist() for one in NearestPoints(points[:0]).of(places[:1])] == [[0], [math.inf]]
    assert [len(one) for one in NearestPoints(points).of(places[:0])] == [0, 0]
