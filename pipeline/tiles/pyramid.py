"""Tiles of all zooms: which shapes are in each, cut and rounded to its units."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from kernels.graph import Array
from pipeline.tiles.layers import Layer, to_plane

EXTENT = 4096  # units of a tile each way
FINEST = 13  # zoom, at which a unit is 1.2 metres at the equator
_BUFFER = 64  # units around a tile in which shapes are drawn, too, so that wide lines do not end at its edge
_PIXEL = 16  # units: a tile is shown on 256 pixels
_MOST = 20_000  # shapes of a layer in a tile below the last zoom
_EVERYWHERE = 2.0  # tiles that all shapes take at the first zoom, at most, each way


class Pyramid:
    """The tiles of some layers.

    Attributes:
        bounds: West, south, east and north in degrees.
        zooms: From the first one to the last.
    """

    def __init__(self, layers: Sequence[Layer], finest: int) -> None:
        """`finest` is the last zoom."""
        bounds = np.array([layer.bounds for layer in layers])
        self.bounds = (*bounds[:, :2].min(axis=0).tolist(), *bounds[:, 2:].max(axis=0).tolist())
        corners = to_plane(np.array(self.bounds).reshape(2, 2))
        extent = float(np.abs(corners[1] - corners[0]).max())
        first = finest if extent == 0 else max(0, min(finest, math.floor(math.log2(_EVERYWHERE / 2 / extent))))
        self.zooms = range(first, finest + 1)
        self._layers = layers

    def tiles(self) -> Iterator[tuple[int, bytes]]:
        """The numbers of the tiles, ascending, and their content as Mapbox Vector Tiles, version 2."""
        import mapbox_vector_tile
        from pmtiles.tile import zxy_to_tileid

        for zoom in self.zooms:
            by_tile: dict[tuple[int, int], list[dict[str, Any]]] = {}
            for layer in self._layers:
                for tile, features in self._features(layer, zoom).items():
                    by_tile.setdefault(tile, []).append({"name": layer.name, "features": features})
            for number, tile in sorted((zxy_to_tileid(zoom, *tile), tile) for tile in by_tile):
                options = {
                    "y_coord_down": True,
                    "extents": EXTENT,
                    "on_invalid_geometry": mapbox_vector_tile.encoder.on_invalid_geometry_make_valid,
                }
                yield number, mapbox_vector_tile.encode(by_tile.pop(tile), default_options=options)

    def _features(self, layer: Layer, zoom: int) -> dict[tuple[int, int], list[dict[str, Any]]]:
        """The features of a layer in the tiles of a zoom, in the order of its rows."""
        import shapely

        scale, last = EXTENT * 2**zoom, zoom == self.zooms[-1]
        shapes = shapely.transform(layer.shapes, lambda places: places * scale)
        if not last:
            shapes = shapely.simplify(shapes, 1.0)
        sizes = _sizes(shapes)
        kept = np.flatnonzero(np.isnan(sizes) | (sizes >= _PIXEL) | last)
        by_tile: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for row, tiles in _tiles_near(shapes[kept], 2**zoom - 1):
            whole = shapes[kept[row]]
            for tile in tiles:
                shape = whole if len(tiles) == 1 else _cut(whole, *tile)
                if not shape.is_empty:
                    by_tile.setdefault(tile, []).append((int(kept[row]), shape))
        return {tile: self._written(layer, tile, _largest(rows, sizes, last)) for tile, rows in by_tile.items()}

    @staticmethod
    def _written(layer: Layer, tile: tuple[int, int], rows: list[tuple[int, Any]]) -> list[dict[str, Any]]:
        """Features in the units of a tile."""
        import shapely

        corner = np.multiply(tile, EXTENT)
        local = shapely.transform(np.array([shape for _, shape in rows], object), lambda places: np.rint(places - corner))
        return [{"geometry": shape, "properties": layer.properties(row)} for (row, _), shape in zip(rows, local, strict=True)]


def _tiles_near(shapes: Array, most: int) -> Iterator[tuple[int, Collection[tuple[int, int]]]]:
    """The numbers of shapes, each with the tiles that the boxes of its parts meet, from 0 to `most` each way.

    A shape on both sides of the 180th meridian has two parts, and is in no tile between them.
    """
    import shapely

    parts, of = shapely.get_parts(shapes, return_index=True)
    west, north, east, south = (shapely.bounds(parts) / EXTENT).T
    margin = _BUFFER / EXTENT
    firsts = [np.clip(np.floor(least - margin), 0, most).astype(np.int64).tolist() for least in (west, north)]
    lasts = [np.clip(np.floor(largest + margin), 0, most).astype(np.int64).tolist() for largest in (east, south)]
    for number, boxes in groupby(zip(of.tolist(), *firsts, *lasts, strict=True), itemgetter(0)):
        yield number, {
            (x, y): None
            for _, left, top, right, bottom in boxes for x in range(left, right + 1) for y in range(top, bottom + 1)
        }  # fmt: skip


def _sizes(shapes: Array) -> Array:
    """The lengths of lines, and the roots of areas, in units, float64 [n]; NaN of points."""
    import shapely

    dimensions = shapely.get_dimensions(shapes)
    sizes: Array = np.where(dimensions == 1, shapely.length(shapes), np.sqrt(shapely.area(shapes)))
    return np.where(dimensions == 0, np.nan, sizes)


def _cut(shape: Any, x: int, y: int) -> Any:
    """What of a shape is in a tile or near it."""
    import shapely

    west, north = EXTENT * x - _BUFFER, EXTENT * y - _BUFFER
    part = shapely.clip_by_rect(shape, west, north, west + EXTENT + 2 * _BUFFER, north + EXTENT + 2 * _BUFFER)
    if part.geom_type == "GeometryCollection":  # where a polygon touches the edge
        dimension = shapely.get_dimensions(shape)
        part = shapely.union_all([one for one in part.geoms if shapely.get_dimensions(one) == dimension])
    return part


def _largest(rows: list[tuple[int, Any]], sizes: Array, last: bool) -> list[tuple[int, Any]]:
    """The shapes of a tile, by row; of too many the largest, unless it is one of the last zoom."""
    if last or len(rows) <= _MOST:
        return rows
    return sorted(sorted(rows, key=lambda one: (-np.nan_to_num(sizes[one[0]]), one[0]))[:_MOST], key=lambda one: one[0])
