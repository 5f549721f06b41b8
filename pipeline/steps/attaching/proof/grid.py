"""No street is nearer to a place than the one that it is on: a grid of cubes in three dimensions, and every place is looked at.

A segment is in each cube that a box around a piece of it touches; pieces are as long as a cube at most. All segments in the cubes
that a ball around a place touches are compared, a ball that is as large as the distance of the place from its foot.
"""

import math
from typing import Any

import numpy as np

from kernels.components.union_find import flatten, unite
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from pipeline.config.model import Snap
from pipeline.steps.attaching.proof.reading import Attached, Original, require
from pipeline.tables.points import on_sphere

_RADIUS = 6_371_008.8
_TOLERANCE = 1e-3  # metres
_SMALLEST = 2.0**-20  # of the edge of a cube: six metres
_AXIS = 2**21 + 2  # cubes along an axis, and one more on each side


def require_no_nearer(before: Original, after: Attached, snap: Snap) -> None:
    """Raise ProofFailed unless each place is within the limit, and on a permitted street than which none is nearer."""
    feet = after.feet
    metres = feet["metres"].to_numpy()
    require((metres <= snap.limit).all(), "a place is beyond the limit")
    allowed = _allowed(before, snap)
    require(allowed[feet["street"].to_numpy()].all(), "a place is on a street that it may not be on")
    begins = np.flatnonzero(np.repeat(allowed, np.diff(before.first)))
    begins = begins[~np.isin(begins, before.first[1:] - 1, assume_unique=True)]
    vectors = on_sphere(*(before.points / 1e7).T)
    places = on_sphere(feet["lon"].to_numpy(), feet["lat"].to_numpy())
    if not len(places):
        return
    lengths = np.linalg.norm(vectors[begins] - vectors[begins + 1], axis=1)
    cube = max(_SMALLEST, float(np.median(lengths)), float(np.median(metres)) / _RADIUS)
    cubes, segments, starts = _grid(vectors, begins, cube)
    table = _hashed(cubes)
    nearer = np.zeros(len(places), np.bool_)

    def look(part: tuple[int, int]) -> None:
        _look(places, metres, vectors, segments, starts, cubes, table, cube, nearer, *part)

    over_items(ranges(len(places), 64 * len(places)), look)
    require(not nearer.any(), f"a street is nearer to the place of row {int(nearer.argmax())} than the one that it is on")


def _allowed(before: Original, snap: Snap) -> Array:
    """The streets that are open and, if the limits of places ask for it, in the weak component with most vertices."""
    is_open = np.asarray((before.weights >= 0).any(axis=1))
    if snap.to == "any" or not is_open.any():
        return is_open
    src, dst = (before.street_src[is_open], before.street_dst[is_open]) if before.roads else before.edges[:2]
    ids = np.unique(np.concatenate([src, dst]))
    parent = np.arange(len(ids))
    _unite_all(parent, np.searchsorted(ids, src), np.searchsorted(ids, dst))
    flatten(parent)
    sizes = np.bincount(parent, minlength=len(ids))
    of_street = parent[np.minimum(np.searchsorted(ids, before.street_src), len(ids) - 1)]
    allowed: Array = is_open & (of_street == sizes.argmax())
    return allowed


@njit(cache=True, nogil=True)
def _unite_all(parent: Array, src: Array, dst: Array) -> None:
    for edge in range(len(src)):
        unite(parent, src[edge], dst[edge])


def _grid(vectors: Array, begins: Array, cube: float) -> tuple[Array, Array, Array]:
    """The cubes that segments touch, int64 [m] ascending; the segments by cubes; and where those of each cube begin [m + 1]."""
    count = _touch(vectors, begins, cube, np.empty(0, np.int64), np.empty(0, np.int64))
    keys, of = np.empty(count, np.int64), np.empty(count, np.int64)
    _touch(vectors, begins, cube, keys, of)
    order = np.argsort(keys, kind="stable")
    cubes, starts = np.unique(keys[order], return_index=True)
    return cubes, of[order], np.append(starts, count)


@njit(cache=True, nogil=True)
def _touch(vectors: Array, begins: Array, cube: float, keys: Array, of: Array) -> int:
    filled = 0
    for segment in range(len(begins)):
        a, b = vectors[begins[segment]], vectors[begins[segment] + 1]
        chord = math.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2)
        pieces = math.ceil(chord / cube) + (chord == 0)
        above = chord * chord / 8 * 1.01 + 1e-14  # by so much an arc leaves its chord
        for piece in range(pieces):
            low, high = np.empty(3, np.int64), np.empty(3, np.int64)
            for axis in range(3):
                one = a[axis] + (b[axis] - a[axis]) * (piece / pieces)
                other = a[axis] + (b[axis] - a[axis]) * ((piece + 1) / pieces)
                low[axis] = math.floor((min(one, other) - above + 1) / cube) + 1
                high[axis] = math.floor((max(one, other) + above + 1) / cube) + 1
            for x in range(low[0], high[0] + 1):
                for y in range(low[1], high[1] + 1):
                    for z in range(low[2], high[2] + 1):
                        if len(keys):
                            keys[filled], of[filled] = (x * _AXIS + y) * _AXIS + z, begins[segment]
                        filled += 1
    return filled


def _hashed(cubes: Array) -> Array:
    """A table of hashes in which the number of each cube is, int64."""
    size = 1 << max(4, (4 * len(cubes)).bit_length())
    table = np.full(size, -1, np.int64)
    _fill(cubes, table)
    return table


@njit(cache=True, nogil=True)
def _slot(key: int, size: int) -> Any:
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & np.int64(size - 1)


@njit(cache=True, nogil=True)
def _fill(cubes: Array, table: Array) -> None:
    for number in range(len(cubes)):
        slot = _slot(cubes[number], len(table))
        while table[slot] >= 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = number


@njit(cache=True, nogil=True)
def _look(
    places: Array, metres: Array, vectors: Array, segments: Array, starts: Array, cubes: Array, table: Array, cube: float,
    nearer: Array, first: int, last: int,
) -> None:  # fmt: skip
    low, high = np.empty(3, np.int64), np.empty(3, np.int64)
    for place in range(first, last):
        p = places[place]
        reach = metres[place] / _RADIUS
        for axis in range(3):
            low[axis] = math.floor((p[axis] - reach + 1) / cube) + 1
            high[axis] = math.floor((p[axis] + reach + 1) / cube) + 1
        for x in range(low[0], high[0] + 1):
            for y in range(low[1], high[1] + 1):
                for z in range(low[2], high[2] + 1):
                    key = (x * _AXIS + y) * _AXIS + z
                    slot = _slot(key, len(table))
                    while table[slot] >= 0 and cubes[table[slot]] != key:
                        slot = (slot + 1) & (len(table) - 1)
                    if table[slot] < 0:
                        continue
                    for one in range(starts[table[slot]], starts[table[slot] + 1]):
                        if _metres(vectors, segments[one], p) < metres[place] - _TOLERANCE:
                            nearer[place] = True


@njit(cache=True, nogil=True)
def _metres(vectors: Array, begin: int, p: Array) -> Any:
    """Metres from a place to a segment: by the normal of its circle, or to the nearer end."""
    a, b = vectors[begin], vectors[begin + 1]
    nx, ny, nz = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    size = math.sqrt(nx * nx + ny * ny + nz * nz)
    if size > 0.0:
        behind = (ny * a[2] - nz * a[1]) * p[0] + (nz * a[0] - nx * a[2]) * p[1] + (nx * a[1] - ny * a[0]) * p[2]
        before = (ny * b[2] - nz * b[1]) * p[0] + (nz * b[0] - nx * b[2]) * p[1] + (nx * b[1] - ny * b[0]) * p[2]
        if behind > 0.0 and before < 0.0:
            return abs(math.asin(min(1.0, abs(nx * p[0] + ny * p[1] + nz * p[2]) / size))) * _RADIUS
    least = 4.0
    for end in (a, b):
        square = (end[0] - p[0]) ** 2 + (end[1] - p[1]) ** 2 + (end[2] - p[2]) ** 2
        least = min(least, square)
    return 2 * math.asin(min(1.0, math.sqrt(least) / 2)) * _RADIUS
