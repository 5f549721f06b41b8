"""Triangles of places, and the areas that some of them are.

The places are the corners of a Delaunay triangulation of the plane in which longitude is scaled by the cosine of the middle
latitude. Triangles with a side of more than LONGEST times the median side lead over water or beyond the network's edge. `globe`
has the triangles of networks around a pole or on both sides of the 180th meridian.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import pack

import numpy as np

from kernels.graph import Array
from pipeline.steps.products.isochrones import globe

LONGEST = 20.0
_MULTIPOLYGON, _POLYGON, _LITTLE_ENDIAN = 6, 3, 1


@dataclass(frozen=True)
class Triangles:
    """Triangles of places; the corners of each are in counter-clockwise order, and corner i is opposite to neighbour i."""

    places: Array  # float64 [P, 2]: longitude and latitude of the corners
    corners: Array  # int32 [T, 3]
    neighbours: Array  # int32 [T, 3]; -1 beyond the edge
    used: Array  # bool [T]
    # int32 [T, 3]: the corners of the triangle that each is a part of, among the N places that were triangulated.
    wholes: Array

    def area(self, within: Array) -> bytes | None:
        """The triangles whose places are all `within`, bool [N], as a MultiPolygon in WKB; None if there are none."""
        kept = self.used & within[self.wholes].all(axis=1)
        open_sides = kept[:, np.newaxis] & ~(kept[self.neighbours] & (self.neighbours >= 0))
        waiting = dict.fromkeys(zip(*(axis.tolist() for axis in np.nonzero(open_sides)), strict=True))
        if not waiting:
            return None
        polygons: dict[int, list[list[int]]] = {}
        component = self._components(kept)
        while waiting:
            triangle, _ = start = next(iter(waiting))
            for ring in _simple(self._ring(start, kept, waiting)):
                polygons.setdefault(component[triangle], []).append(ring)
        return _multipolygon([[self.places[ring] for ring in rings] for rings in polygons.values()])

    def _components(self, kept: Array) -> list[int]:
        """The number of the connected group of each kept triangle."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        triangle, side = np.nonzero(kept[:, np.newaxis] & (self.neighbours >= 0) & kept[self.neighbours])
        shape, ones = (len(kept), len(kept)), np.ones(len(triangle), np.bool_)
        groups: list[int] = connected_components(coo_array((ones, (triangle, self.neighbours[triangle, side])), shape))[
            1
        ].tolist()
        return groups

    def _ring(self, start: tuple[int, int], kept: Array, waiting: dict[tuple[int, int], None]) -> list[int]:
        """The corners along the boundary from an open side, with the area on the left, until it is there again."""
        ring, (triangle, side) = [], start
        while (triangle, side) in waiting:
            del waiting[triangle, side]
            ring.append(int(self.corners[triangle, (side + 1) % 3]))
            end = self.corners[triangle, (side + 2) % 3]
            side = (side + 1) % 3  # the side of this triangle that begins at `end`
            while (beside := self.neighbours[triangle, side]) >= 0 and kept[beside]:
                triangle = int(beside)
                side = (int(np.flatnonzero(self.corners[triangle] == end)[0]) + 2) % 3
        return ring


def triangulate(places: Array) -> Triangles:
    """Triangles of different places, longitude and latitude float64 [P, 2]; none where all are on a line."""
    from scipy.spatial import Delaunay, QhullError

    if globe.is_round(places):
        mesh = globe.triangulate(places)
        return Triangles(mesh.places, mesh.corners, mesh.neighbours, _are_short(mesh.sides), mesh.wholes)
    middle = (places[:, 1].min() + places[:, 1].max()) / 2 if len(places) else 0.0
    plane = places * [np.cos(np.radians(middle)), 1.0]
    try:
        triangulation = Delaunay(plane)
        corners, neighbours = triangulation.simplices, triangulation.neighbors
    except (QhullError, ValueError):
        corners = neighbours = np.empty((0, 3), np.int32)
    sides = np.linalg.norm(plane[corners] - plane[np.roll(corners, 1, axis=1)], axis=2)
    return Triangles(places, corners, neighbours, _are_short(sides), corners)


def _are_short(sides: Array) -> Array:
    """Whether each triangle has short sides only, bool [T], by the lengths of all sides [T, 3]."""
    longest = LONGEST * np.median(sides) if len(sides) else 0.0
    short: Array = sides.max(axis=1, initial=0) <= longest
    return short


def _simple(ring: list[int]) -> Iterator[list[int]]:
    """The rings without a repeated corner that a ring consists of which touches itself."""
    path, position_of = list[int](), dict[int, int]()
    for corner in ring:
        if corner in position_of:
            begin = position_of[corner]
            yield path[begin:]
            for gone in path[begin:]:
                del position_of[gone]
            del path[begin:]
        position_of[corner] = len(path)
        path.append(corner)
    yield path


def _multipolygon(polygons: Sequence[Sequence[Array]]) -> bytes:
    """Encode polygons, each the rings of one area, float64 [n, 2]: the outer ring, which turns left, is written first."""
    parts = [pack("<BII", _LITTLE_ENDIAN, _MULTIPOLYGON, len(polygons))]
    for rings in polygons:
        parts.append(pack("<BII", _LITTLE_ENDIAN, _POLYGON, len(rings)))
        for ring in sorted(rings, key=_area, reverse=True):
            closed = np.concatenate([ring, ring[:1]])
            parts += [pack("<I", len(closed)), closed.astype("<f8").tobytes()]
    return b"".join(parts)


def _area(ring: Array) -> float:
    """Twice the area that a ring encloses; negative if it turns right."""
    x, y = (ring - ring[0]).T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
