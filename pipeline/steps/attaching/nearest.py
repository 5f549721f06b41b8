"""The nearest point of many lines on the sphere: a tree of boxes over their segments (Kamel and Faloutsos, VLDB 1993).

A segment is the shorter arc of the great circle through its ends. Segments are sorted along a space-filling curve (Morton, 1966);
a box holds `_FAN` segments or boxes that follow each other. A search visits boxes from the nearest on, and none that is farther
away than the best segment. Boxes are in three dimensions, so poles and the meridian are places like others.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_items, ranges
from kernels.graph import Array
from pipeline.steps.places.sphere import RADIUS

_FAN = 8
_BITS = 21  # of an axis in the curve
_MICRO = 1e6  # micrometres: distances that are equal to one are equal
_STACK = 256  # boxes that wait: fewer than _FAN for each level


@dataclass(frozen=True)
class NearestSegments:
    """For each place the nearest segment, and the point of it.

    Attributes:
        segment (int64 [n]): The point at which it begins; -1 if none is within the limit.
        along (float64 [n]): Which part of the segment's length is in front of the nearest point.
        metres (float64 [n]): To it, on the sphere, to a micrometre; infinity if there is none.
    """

    segment: Array
    along: Array
    metres: Array


class SegmentTree:
    """The segments of lines, among whose points the nearest to any place is found."""

    def __init__(self, vectors: Array, begins: Array) -> None:
        """Build the tree.

        Args:
            vectors (float64 [P, 3]): The points of all lines on the unit sphere.
            begins (int64 [S]): The points at which segments begin, ascending; each ends at the next point.
        """
        self._vectors = vectors
        middles = (vectors[begins] + vectors[begins + 1]) / 2
        self._begins = begins[np.argsort(_along_curve(middles), kind="stable")]
        levels = [_boxes_of_segments(vectors, self._begins)] if len(begins) else []
        while levels and len(levels[-1]) > 1:
            levels.append(_boxes_of_boxes(levels[-1]))
        self._starts = np.cumsum([0, *map(len, levels)])
        self._boxes = np.concatenate([*levels, np.empty((0, 6))])

    def of(self, places: Array, limit: float) -> NearestSegments:
        """The nearest points to places, unit vectors float64 [n, 3], within a limit in metres.

        Of equally near segments the one that begins first is the nearest.
        """
        number = len(places)
        nearest = NearestSegments(np.full(number, -1), np.zeros(number), np.full(number, np.inf))
        reach = 2 * math.sin(min(limit / RADIUS, math.pi) / 2) * RADIUS * _MICRO + 1  # the chord
        order = np.argsort(_along_curve(places), kind="stable")  # so that searches that follow each other visit the same boxes
        tree = self._vectors, self._begins, self._boxes, self._starts

        def search(part: tuple[int, int]) -> None:
            _search(places, order, reach, *tree, nearest.segment, nearest.along, nearest.metres, *part)

        if len(self._begins):
            over_items(ranges(number, 64 * number), search)
        nearest.metres[:] = np.round(2 * RADIUS * np.arcsin(np.minimum(nearest.metres / 2, 1)), 6)
        none = (nearest.segment < 0) | (nearest.metres > limit)
        nearest.segment[none], nearest.metres[none] = -1, np.inf
        return nearest


def _along_curve(vectors: Array) -> Array:
    """The places of unit vectors on the curve, uint64 [n]."""
    axes = np.clip((vectors + 1) * 2.0 ** (_BITS - 1), 0, 2**_BITS - 1).astype(np.uint64)
    curve = np.zeros(len(vectors), np.uint64)
    for axis in range(3):
        spread = axes[:, axis]
        for shift, mask in (
            (32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3),
            (2, 0x1249249249249249),
        ):  # fmt: skip
            spread = (spread | (spread << np.uint64(shift))) & np.uint64(mask)
        curve |= spread << np.uint64(axis)
    return curve


def _boxes_of_segments(vectors: Array, begins: Array) -> Array:
    """Boxes of `_FAN` segments each, float64 [n, 6]: the least and the largest of each axis."""
    one, other = vectors[begins], vectors[begins + 1]
    height = ((one - other) ** 2).sum(axis=1, keepdims=True) / 8 * 1.01 + 1e-15  # of the arc above its chord
    low, high = np.minimum(one, other) - height, np.maximum(one, other) + height
    return _joined(low, high)


def _boxes_of_boxes(boxes: Array) -> Array:
    return _joined(boxes[:, :3], boxes[:, 3:])


def _joined(low: Array, high: Array) -> Array:
    starts = np.arange(0, len(low), _FAN)
    return np.concatenate([np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)], axis=1)


@njit(cache=True, nogil=True)
def _to_box(boxes: Array, box: int, x: float, y: float, z: float) -> Any:
    """The square of the distance from a point to a box."""
    across = max(boxes[box, 0] - x, 0.0, x - boxes[box, 3])
    along = max(boxes[box, 1] - y, 0.0, y - boxes[box, 4])
    above = max(boxes[box, 2] - z, 0.0, z - boxes[box, 5])
    return across * across + along * along + above * above


@njit(cache=True, nogil=True)
def _to_segment(vectors: Array, begin: int, x: float, y: float, z: float) -> Any:
    """The square of the chord from a place to the nearest point of a segment, and the part of the chord in front of it.

    The place is projected on the plane of both ends a and b: it is u a + v b. Both are computed from differences, in which
    nothing cancels: v grows as e d - d^2 e^2 / 4 with d = b - a and e = p - a.
    """
    ax, ay, az = vectors[begin, 0], vectors[begin, 1], vectors[begin, 2]
    bx, by, bz = vectors[begin + 1, 0], vectors[begin + 1, 1], vectors[begin + 1, 2]
    dx, dy, dz = bx - ax, by - ay, bz - az
    ex, ey, ez = x - ax, y - ay, z - az
    fx, fy, fz = x - bx, y - by, z - bz
    dd, ee, ff = dx * dx + dy * dy + dz * dz, ex * ex + ey * ey + ez * ez, fx * fx + fy * fy + fz * fz
    behind = (ex * dx + ey * dy + ez * dz) - dd * ee / 4
    before = -(fx * dx + fy * dy + fz * dz) - dd * ff / 4
    if dd == 0.0 or behind <= 0.0 or before <= 0.0:
        return (ee, 0.0) if dd == 0.0 or ee <= ff else (ff, 1.0)
    share = behind / (behind + before)
    qx, qy, qz = ax + share * dx, ay + share * dy, az + share * dz
    length = math.sqrt(qx * qx + qy * qy + qz * qz)
    gx, gy, gz = x - qx / length, y - qy / length, z - qz / length
    return gx * gx + gy * gy + gz * gz, share


@njit(cache=True, nogil=True)
def _part_of_arc(vectors: Array, begin: int, share: float) -> Any:
    """The part of an arc that is in front of the point which divides the chord."""
    if share <= 0.0 or share >= 1.0:
        return share
    dd, cc, qq = 0.0, 0.0, 0.0
    for axis in range(3):
        d = vectors[begin + 1, axis] - vectors[begin, axis]
        q = vectors[begin, axis] + share * d
        dd += d * d
        qq += q * q
    length = math.sqrt(qq)
    for axis in range(3):
        a = vectors[begin, axis]
        c = (a + share * (vectors[begin + 1, axis] - a)) / length - a
        cc += c * c
    return math.asin(min(1.0, math.sqrt(cc) / 2)) / math.asin(min(1.0, math.sqrt(dd) / 2))


@njit(cache=True, nogil=True)
def _search(
    places: Array, order: Array, reach: float, vectors: Array, begins: Array, boxes: Array, starts: Array,
    segment: Array, along: Array, chord: Array, first: int, last: int,
) -> None:  # fmt: skip
    waiting, level_of, apart = np.empty(_STACK, np.int64), np.empty(_STACK, np.int64), np.empty(_STACK)
    unit = RADIUS * _MICRO
    for number in range(first, last):
        place = order[number]
        x, y, z = places[place, 0], places[place, 1], places[place, 2]
        best, best_begin, best_share, least = np.rint(reach), -1, 0.0, 0.0
        bound = (best + 1) / unit
        bound *= bound
        top = 1
        waiting[0], level_of[0], apart[0] = 0, len(starts) - 2, 0.0
        while top:
            top -= 1
            if apart[top] > bound:
                continue
            box, level = waiting[top], level_of[top]
            if level == 0:
                for one in range(box * _FAN, min(box * _FAN + _FAN, len(begins))):
                    begin = begins[one]
                    square, share = _to_segment(vectors, begin, x, y, z)
                    near = np.rint(math.sqrt(square) * unit)
                    if near < best or (near == best and (best_begin < 0 or begin < best_begin)):
                        best, best_begin, best_share, least = near, begin, share, square
                        bound = (best + 1) / unit
                        bound *= bound
                continue
            below = starts[level] - starts[level - 1]
            bottom = top
            for one in range(box * _FAN, min(box * _FAN + _FAN, below)):
                square = _to_box(boxes, starts[level - 1] + one, x, y, z)
                if square > bound:
                    continue
                at = top
                while at > bottom and apart[at - 1] < square:  # the nearest is visited first
                    waiting[at], level_of[at], apart[at] = waiting[at - 1], level_of[at - 1], apart[at - 1]
                    at -= 1
                waiting[at], level_of[at], apart[at] = one, level - 1, square
                top += 1
        if best_begin >= 0:
            segment[place], chord[place] = best_begin, math.sqrt(least)
            along[place] = _part_of_arc(vectors, best_begin, best_share)
