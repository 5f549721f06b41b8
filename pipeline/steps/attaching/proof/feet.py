"""Vertices at feet are on the lines of streets at their offsets: each is found again by the lengths of segments."""

import numpy as np

from kernels.graph import Array
from pipeline.steps.attaching.proof.reading import Attached, Original, require
from pipeline.steps.places.haversine import haversine
from pipeline.tables.points import on_sphere
from pipeline.tables.streets import way_of

_HALF = 0.5001  # millimetres
_NOISE = 1e-5  # metres of computing
_ROUNDED = 0.02  # metres that seven decimals of a degree, and of an offset, are from the exact foot
_MILLI = 1000.0
_RADIUS = 6_371_008.8


def require_feet(before: Original, after: Attached, places: Array) -> None:
    """Raise ProofFailed unless feet are those of the places, degrees float64 [n, 2], and where they are said to be."""
    _require_coordinates(before, after)
    feet = after.feet
    given = np.stack([feet["lon"].to_numpy(), feet["lat"].to_numpy()], axis=1)
    require(np.array_equal(given, places), "the places are not those that were given")
    street, offset, vertex, length = (feet[name].to_numpy() for name in ("street", "offset", "vertex", "length"))
    ends = [after.former(end[street]) for end in (before.street_src, before.street_dst)]
    for name, due in zip(("src", "dst"), ends, strict=True):
        require(np.array_equal(feet[name].to_numpy(), due), f"a foot has another {name}")
    at_end = ~after.is_new
    right = ((offset == 0) & (vertex == ends[0])) | ((offset == length) & (vertex == ends[1]))
    require(right[at_end].all(), "a foot at a crossing has another vertex")
    require(((offset > 0) & (offset < length))[~at_end].all(), "a foot is not on its street")
    if before.roads:
        for name in (way_of(before.table.column_names), "name"):
            same = feet[name].combine_chunks().equals(before.table[name].take(feet["street"]).combine_chunks())
            require(same, f"a foot has another {name}")
        require(np.array_equal(length, before.table["length"].to_numpy()[street]), "a foot has the length of another street")
    else:
        lines = before.points.reshape(-1, 4)[street] / 1e7
        exact = haversine(lines[:, :2], lines[:, 2:]) * _MILLI
        require((np.abs(length - exact) <= _HALF + 1e-8 * exact).all(), "a foot has the length of another street")
    at = np.searchsorted(_sorted_vertices(after), vertex)
    degrees = np.stack([after.coordinates[axis].to_numpy() for axis in "xy"], axis=1)[_order(after)][at]
    points, ahead, inside = _points_at(before, street, offset)
    drift = _HALF * np.diff(before.first)[street] / _MILLI + _NOISE  # of sums of rounded lengths
    apart = np.linalg.norm(on_sphere(*degrees.T) - points, axis=1) * _RADIUS
    require((apart <= _ROUNDED + drift).all(), "a vertex at a foot is not on the line of its street")
    askew = np.abs(((on_sphere(*places.T) - points) * ahead).sum(axis=1)) * _RADIUS
    require((askew <= drift)[inside].all(), "the way from a place to its foot does not meet the street at a right angle")
    metres = haversine(places, degrees)
    require((np.abs(metres - feet["metres"].to_numpy()) <= _ROUNDED + 1e-8 * metres).all(), "a place is not as far as stated")


def _order(after: Attached) -> Array:
    order: Array = np.argsort(after.coordinates["vertex"].to_numpy())
    return order


def _sorted_vertices(after: Attached) -> Array:
    vertices: Array = np.sort(after.coordinates["vertex"].to_numpy())
    return vertices


def _require_coordinates(before: Original, after: Attached) -> None:
    """Raise ProofFailed unless the coordinates are those of the source, and behind them those of feet."""
    old, new = before.coordinates, after.coordinates
    count = len(old)
    require(np.array_equal(new["vertex"].to_numpy()[:count], after.former(old["vertex"].to_numpy())), "a vertex is missing")
    for axis in "xy":
        require(np.array_equal(new[axis].to_numpy()[:count], old[axis].to_numpy()), "a vertex has other coordinates")
    require(np.array_equal(np.sort(new["vertex"].to_numpy()[count:]), np.sort(after.stop_vertex)), "a foot has no coordinates")


def _points_at(before: Original, street: Array, offset: Array) -> tuple[Array, Array, Array]:
    """The points at offsets along streets, millimetres, by steps on circles from the starts of segments.

    Returns:
        The points and the directions ahead, unit vectors [n, 3]; and which points are not near an end of a segment, bool [n].
    """
    degrees = before.points / 1e7
    vectors = on_sphere(*degrees.T)
    steps = np.zeros(len(degrees))
    steps[1:] = haversine(degrees[:-1], degrees[1:]) * _MILLI
    steps[before.first[:-1]] = 0
    along = np.cumsum(steps)  # over all streets
    start = along[before.first[:-1]][street]
    point = np.searchsorted(along, start + offset, side="right") - 1
    point = np.clip(point, before.first[street], before.first[street + 1] - 2)
    one, other = vectors[point], vectors[point + 1]
    cosine = (one * other).sum(axis=1, keepdims=True)
    across = other - cosine * one
    size = np.linalg.norm(across, axis=1, keepdims=True)
    across = np.where(size > 0, across / np.where(size > 0, size, 1), 0.0)
    most = np.arctan2(size[:, 0], cosine[:, 0])
    angle = np.clip((start + offset - along[point]) / _MILLI / _RADIUS, 0, most)[:, np.newaxis]
    points, ahead = np.cos(angle) * one + np.sin(angle) * across, np.cos(angle) * across - np.sin(angle) * one
    margin = (_ROUNDED + np.diff(before.first)[street] / _MILLI) / _RADIUS
    return points, ahead, (angle[:, 0] > margin) & (angle[:, 0] < most - margin)
