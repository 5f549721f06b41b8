"""The proof of where points are: in the cell or polygon that they were given, by code of its own.

A point is in a cell if it is left of each of its sides, on the sphere; in a polygon if a line from it to the east crosses an odd
number of sides.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.errors import ProofFailed
from pipeline.tables.points import on_sphere

RULE = (
    "each vertex is in its cell, of the stated resolution, to a hundredth of its sides, or a third where these bulge; or in its "
    "polygon and in none of a smaller id, to 1e-9 degrees"
)
_CORNERS, _CONVEX = 11, 6  # of a cell, at most, and the first one again; of those that are convex
_OF_SIDE, _OF_CONCAVE = 0.01, 1 / 3  # of a cell's longest side: those on edges of H3's icosahedron bulge by a quarter of it
_NEAR = 1e-9  # degrees
_AT_ONCE = 2**16  # points


def require_in_cells(degrees: Array, resolution: int, cells: pa.Array) -> None:
    """Raise ProofFailed unless points, float64 [n, 2], are in the cells that H3's names [n] say; NaN in none."""
    import h3

    placed = ~np.isnan(degrees).any(axis=1)
    _require(cells, np.array_equal(cells.is_valid().to_numpy(zero_copy_only=False), placed))
    encoded = cells.filter(pa.array(placed)).dictionary_encode()
    corners, share = np.empty((len(encoded.dictionary), _CORNERS, 2)), np.full((len(encoded.dictionary), 1), _OF_SIDE)
    for row, name in enumerate(encoded.dictionary.to_pylist()):
        _require(cells, h3.get_resolution(name) == resolution)
        ring = [(lon, lat) for lat, lon in h3.cell_to_boundary(name)]
        corners[row, : len(ring)], corners[row, len(ring) :] = ring, ring[0]
        share[row] = _OF_SIDE if len(ring) <= _CONVEX else _OF_CONCAVE
    ends = on_sphere(corners[..., 0].ravel(), corners[..., 1].ravel()).reshape(*corners.shape[:2], 3)
    sides = np.diff(ends, axis=1)
    lengths = np.linalg.norm(sides, axis=2)
    slack = -share * lengths * lengths.max(axis=1, keepdims=True, initial=0)
    normals = np.cross(ends[:, :-1], sides)  # to the left of each side; 0 of those without length
    of, places = encoded.indices.to_numpy(), on_sphere(*degrees[placed].T)
    for first in range(0, len(of), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        apart = np.einsum("nck,nk->nc", normals[of[some]], places[some])
        _require(cells, (apart >= slack[of[some]]).all())


def require_in_polygons(degrees: Array, ids: pa.Array, areas: Array, zones: pa.Array) -> None:
    """Raise ProofFailed unless points are in the polygons of `zones`, [n], of those with `ids` and `areas` [G], ascending."""
    placed = np.flatnonzero(~np.isnan(degrees).any(axis=1))
    order = placed[np.argsort(degrees[placed, 1], kind="stable")]
    x, y = (np.ascontiguousarray(axis) for axis in degrees[order].T)
    due, beside = np.full(len(order), len(ids)), list[tuple[Array, int]]()  # without those near whose sides a point is
    for number in range(len(areas) - 1, -1, -1):
        sides = _sides_of(areas[number])
        south, north = sides[:, 1::2].min() - _NEAR, sides[:, 1::2].max() + _NEAR
        first, last = np.searchsorted(y, (south, north), side="left")
        odd, near = np.zeros((2, last - first), np.bool_)
        _cross(x[first:last], y[first:last], sides, odd, near)
        due[first:last][odd & ~near] = number
        beside.append((first + np.flatnonzero(near), number))
    stated = pc.index_in(zones.take(pa.array(order)), ids).fill_null(len(ids)).to_numpy()
    right = stated == due
    for points, number in beside:
        right[points] |= (stated[points] == number) & (number < due[points])
    elsewhere = np.setdiff1d(np.arange(len(zones)), placed)
    _require(zones, right.all() and zones.take(pa.array(elsewhere)).null_count == len(elsewhere))


def _sides_of(area: object) -> Array:
    """The sides of all rings of an area: two points each, the southern one first, float64 [n, 4]."""
    import shapely

    rings = shapely.get_rings(shapely.get_parts(area))
    points, ring = shapely.get_coordinates(rings, return_index=True)
    sides = np.concatenate([points[:-1], points[1:]], axis=1)[ring[:-1] == ring[1:]]
    upwards: Array = np.where(sides[:, 1:2] <= sides[:, 3:], sides, sides[:, [2, 3, 0, 1]])
    return upwards


@njit(cache=True, nogil=True)
def _cross(x: Array, y: Array, sides: Array, odd: Array, near: Array) -> None:
    """Turn `odd` around for each side that lies east of a point, whose `y` ascend, and mark points near a side."""
    for side in range(len(sides)):
        x0, y0, x1, y1 = sides[side]
        west, east, limit = min(x0, x1) - _NEAR, max(x0, x1) + _NEAR, _NEAR * ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        for at in range(np.searchsorted(y, y0 - _NEAR), len(y)):
            if y[at] > y1 + _NEAR:
                break
            apart = (x1 - x0) * (y[at] - y0) - (y1 - y0) * (x[at] - x0)
            if y0 <= y[at] < y1 and apart > 0:
                odd[at] = not odd[at]
            if abs(apart) <= limit and west <= x[at] <= east:
                near[at] = True


def _require(zones: Sequence[object], holds: object) -> None:
    if not holds:
        raise ProofFailed(f"zones: one of {len(zones):,} vertices is not in the area that it was given")
