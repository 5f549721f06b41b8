"""Zones that are places on the globe: H3 cells, or the polygons of a file. Points are in them by their coordinates.

A point belongs to the cell that H3 gives it, or to the polygon that covers it, its boundary included; of several polygons to that
of the smallest id. Sides of polygons are straight in degrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array
from pipeline.config.products.zones import ZonesConfig, resolution_of
from pipeline.ingest.zones import read_zones
from pipeline.steps.products.zones.inside import require_in_cells, require_in_polygons
from pipeline.tables.points import on_sphere

_HALF_TURN = 180.0


@dataclass(frozen=True)
class Shapes:
    """Zones that a key `zone` names.

    Attributes:
        ids: Those of polygons, ascending: int64 or string [G]. Cells are named when points are in them.
        areas: Of polygons, GEOS's objects [G].
        resolution: Of cells; None for polygons.
    """

    resolution: int | None = None
    ids: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))
    areas: Array = field(default_factory=lambda: np.empty(0, object))

    @classmethod
    def of(cls, zone: str, config: ZonesConfig) -> Self:
        """The zones that a key names. Raises as `read_zones`."""
        if (resolution := resolution_of(zone)) is not None:
            return cls(resolution)
        read = read_zones(zone, config)
        ids = read.ids if pa.types.is_integer(read.ids.type) else read.ids.cast(pa.string())
        return cls(None, ids, read.shapes)

    @cached_property
    def digest(self) -> str:
        """Of what decides in which zone a point is."""
        import shapely

        hashed = sha256(repr((self.resolution, self.ids.to_pylist())).encode())
        for area in self.areas:
            hashed.update(shapely.to_wkb(area))
        return hashed.hexdigest()

    def zones_at(self, degrees: Array) -> tuple[pa.Array, int]:
        """The zones of points, float64 [n, 2], null where there is none; and how many of them are in several.

        Raises ProofFailed if a point is elsewhere.
        """
        if self.resolution is not None:
            cells = _cells(degrees, self.resolution)
            require_in_cells(degrees, self.resolution, cells)
            return cells, 0
        import shapely

        known = np.flatnonzero(~np.isnan(degrees).any(axis=1))
        points = shapely.points(degrees[known])
        tree = shapely.STRtree(points)  # of the points, because `query` prepares the polygons, which are larger
        zones, at = tree.query(self.areas, predicate="intersects")
        least = np.full(len(degrees), len(self.ids))
        np.minimum.at(least, known[at], zones)
        several = int((np.bincount(at, minlength=1) > 1).sum())
        names = self.ids.take(pa.array(least, mask=least == len(self.ids)))
        require_in_polygons(degrees, self.ids, self.areas, names)
        return names, several

    def outlines(self, names: pa.Array) -> pa.Array:
        """The areas of zones as WKB [n]; null for no zone, and for a cell around a pole, which no polygon of degrees is."""
        import shapely

        if self.resolution is not None:
            areas = [None if name is None else _outline(name) for name in names.to_pylist()]
        else:
            at = pc.index_in(names, self.ids).to_pylist()
            areas = [None if place is None else self.areas[place] for place in at]
        return pa.array([None if area is None else shapely.to_wkb(area, byte_order=1) for area in areas], pa.binary())

    def centres(self, names: pa.Array) -> Array:
        """Unit vectors of the centroids of zones, float64 [n, 3]; of cells their centres. NaN for no zone.

        Parts of an area that the 180th meridian separates are beside each other.
        """
        degrees = np.full((len(names), 2), np.nan)
        if self.resolution is not None:
            import h3

            for row, name in enumerate(names.to_pylist()):
                if name is not None:
                    degrees[row] = h3.cell_to_latlng(name)[::-1]
        else:
            import shapely

            at = pc.index_in(names, self.ids)
            stated = at.is_valid().to_numpy(zero_copy_only=False)
            centroids = shapely.centroid([*map(_in_one_piece, self.areas[at.drop_null().to_numpy()])])
            degrees[stated] = np.stack([shapely.get_x(centroids), shapely.get_y(centroids)], axis=-1)
        return on_sphere(*degrees.T)


def _cells(degrees: Array, resolution: int) -> pa.Array:
    """The cells of points, each as H3 writes it; null for NaN."""
    import h3.api.numpy_int as h3

    known = np.flatnonzero(~np.isnan(degrees).any(axis=1))
    places, number = np.unique(degrees[known], axis=0, return_inverse=True)
    cells = np.fromiter((h3.latlng_to_cell(y, x, resolution) for x, y in places.tolist()), np.uint64, len(places))
    distinct, of_place = np.unique(cells, return_inverse=True)
    texts = pa.array([f"{cell:x}" for cell in distinct.tolist()], pa.string())
    at = np.full(len(degrees), -1)
    at[known] = of_place.ravel()[number.ravel()]
    return texts.take(pa.array(at, mask=at < 0))


def _outline(cell: str) -> object:
    """A cell as a polygon, or two where the 180th meridian cuts it; None around a pole."""
    import h3
    import shapely

    corners = [(x, y) for y, x in h3.cell_to_boundary(cell)]
    if _width(corners) < _HALF_TURN:
        return shapely.Polygon(corners)
    east = [(x + 2 * _HALF_TURN if x < 0 else x, y) for x, y in corners]
    if _width(east) >= _HALF_TURN:
        return None
    whole, parts = shapely.Polygon(east), list[object]()
    for first, turn in ((-_HALF_TURN, 0.0), (_HALF_TURN, -2 * _HALF_TURN)):
        part = shapely.intersection(whole, shapely.box(first, -90, first + 2 * _HALF_TURN, 90))
        parts.append(shapely.transform(part, partial(np.add, (turn, 0.0))))
    return shapely.union_all(parts)


def _in_one_piece(area: object) -> object:
    """An area whose parts are whole turns away from where they were, each on the side of the globe around the largest one."""
    import shapely

    parts = shapely.get_parts(area)
    west, _, east, _ = shapely.bounds(parts).T
    middles = (west + east) / 2
    turns = 2 * _HALF_TURN * np.round((middles[shapely.area(parts).argmax()] - middles) / (2 * _HALF_TURN))
    if not turns.any():
        return area
    return shapely.multipolygons(
        [shapely.transform(part, partial(np.add, (turn, 0.0))) for part, turn in zip(parts, turns, strict=True)]
    )


def _width(corners: Sequence[tuple[float, float]]) -> float:
    longitudes = [x for x, _ in corners]
    return max(longitudes) - min(longitudes)
