"""Centroids of shapes, in the plane of their coordinates: of areas, or else of lines, or else of points, as GEOS has them.

Of a shape with parts of several kinds those of the highest dimension count; areas and lines without extent count as lines and as
points.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kernels.graph import Array

KINDS = (
    "geometry", "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"
)  # fmt: skip
WAY_OUT = 'write a point of it, or set shapes = "centroid" below [places]'
SRID, FLAGS = 0x20000000, 0xE0000000  # EWKB: four bytes follow the type; Z, M and SRID
_SIMPLE = {"MultiPoint": "Point", "MultiLineString": "LineString", "MultiPolygon": "Polygon"}  # what collections have
_Z, _M = 0x80000000, 0x40000000
FAR = 1e9  # degrees or metres: no coordinate is as large
_HALF_TURN = 180.0
_LEVELS = 16  # of collections in collections, at most
Shape = dict[str, Any]  # as a geometry of GeoJSON: `type`, and `coordinates` or `geometries`


def centroid(shape: Shape, degrees: bool) -> tuple[float, float]:
    """The centroid of a shape; NaN for an empty one.

    Args:
        degrees: The coordinates are longitudes and latitudes, so that a shape at the 180th meridian has two parts.

    Raises:
        ValueError: It is no shape, or one of degrees that spans half a turn or more.
    """
    simple = [*_simple_shapes(shape)]
    lines = [line for _, of_shape in simple for line in of_shape]
    if not lines:
        return np.nan, np.nan
    corners = np.concatenate(lines)
    if degrees and np.ptp(corners[:, 0]) >= _HALF_TURN:
        raise ValueError("spans 180 degrees of longitude or more, where its centroid is not defined; write a point of it")
    origin = corners[0]  # near it products of coordinates are small, and so are their errors
    areas = [_area(line - origin, at == 0) for kind, rings in simple if kind == "Polygon" for at, line in enumerate(rings)]
    lengths = [_length(line - origin) for kind, of_shape in simple if kind != "Point" for line in of_shape]
    points = [(1.0, line[0] - origin) for line in lines]
    for weighted in (areas, lengths, points):
        if (total := sum(weight for weight, _ in weighted)) > 0:
            x, y = origin + np.sum([moment for _, moment in weighted], axis=0) / total
            return float(x), float(y)
    raise AssertionError("a shape has points")


def _area(ring: Array, outer: bool) -> tuple[float, Array]:
    """The area within a ring, and its centroid times the area; negative within a hole."""
    after = np.roll(ring, -1, axis=0)
    cross = ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1]
    area = cross.sum() / 2
    sign = (1.0 if area >= 0 else -1.0) * (1.0 if outer else -1.0)
    return sign * float(area), sign * ((ring + after) * cross[:, np.newaxis]).sum(axis=0) / 6


def _length(line: Array) -> tuple[float, Array]:
    """The length of a line, and its centroid times the length."""
    lengths = np.linalg.norm(np.diff(line, axis=0), axis=1)
    return float(lengths.sum()), ((line[1:] + line[:-1]) / 2 * lengths[:, np.newaxis]).sum(axis=0)


def _simple_shapes(shape: Any, level: int = 0) -> Iterator[tuple[str, list[Array]]]:
    """The points, lines and polygons of a shape that are not empty: their kinds, and their rings or lines, float64 [n, 2]."""
    kind = str(shape.get("type") if isinstance(shape, dict) else shape)
    if kind == "GeometryCollection" and level < _LEVELS:
        for part in _listed(shape.get("geometries")):
            yield from _simple_shapes(part, level + 1)
    elif kind in _SIMPLE:
        for part in _listed(shape.get("coordinates")):
            yield from _simple_shapes({"type": _SIMPLE[kind], "coordinates": part}, level)
    elif kind in _SIMPLE.values():
        given = _listed(shape.get("coordinates"))
        lines = given if kind == "Polygon" else [given] if kind == "LineString" else [[given]] if given else []
        yield kind, [_positions(line) for line in lines if line]
    else:
        raise ValueError(f"is a {kind[:40]}, which is no shape")


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"coordinates {str(value)[:40]} are not a list")
    return value


def _positions(line: Any) -> Array:
    """The places of a line, float64 [n, 2], without heights. Raises ValueError."""
    places = [[*_listed(place)[:2]] for place in _listed(line)]
    if not all(len(place) == 2 and all(type(axis) in (int, float) and abs(axis) < FAR for axis in place) for place in places):
        raise ValueError(f"coordinates {str(line)[:40]} are not [X, Y]")
    return np.array(places, np.float64)


def shape_of(wkb: bytes) -> Shape:
    """The shape of well-known binary. Raises ValueError."""
    try:
        shape, end = _read(wkb, 0, 0)
    except (struct.error, IndexError):
        raise ValueError("is not WKB") from None
    if end != len(wkb):
        raise ValueError("is not WKB")
    return shape


def _read(wkb: bytes, at: int, level: int) -> tuple[Shape, int]:
    order = "<" if wkb[at] == 1 else ">"
    (kind,) = struct.unpack_from(f"{order}I", wkb, at + 1)
    at += 9 if kind & SRID else 5
    number = kind & ~FLAGS
    axes = 2 + bool(kind & _Z) + bool(kind & _M) + (0, 1, 1, 2)[min(number // 1000, 3)]
    name = KINDS[number % 1000] if number % 1000 < len(KINDS) and level < _LEVELS else f"of type {kind}"
    if name == "Point":
        place = struct.unpack_from(f"{order}{axes}d", wkb, at)
        return {"type": name, "coordinates": [] if np.isnan(place[:2]).all() else [*place]}, at + 8 * axes

    def several(at: int, nested: int) -> tuple[list[Any], int]:
        (count,) = struct.unpack_from(f"{order}I", wkb, at)
        if not nested:
            flat = struct.unpack_from(f"{order}{axes * count}d", wkb, at + 4)
            return [flat[first : first + axes] for first in range(0, len(flat), axes)], at + 4 + 8 * axes * count
        at, read = at + 4, list[Any]()
        for _ in range(count):
            one, at = several(at, nested - 1)
            read.append(one)
        return read, at

    if name in ("LineString", "Polygon"):
        coordinates, at = several(at, 1 if name == "Polygon" else 0)
        return {"type": name, "coordinates": coordinates}, at
    if name not in _SIMPLE and name != "GeometryCollection":
        raise ValueError(f"is {name}, which is no shape")
    (count,) = struct.unpack_from(f"{order}I", wkb, at)
    at, parts = at + 4, list[Shape]()
    for _ in range(count):
        part, at = _read(wkb, at, level + 1)
        parts.append(part)
    return {"type": "GeometryCollection", "geometries": parts}, at
