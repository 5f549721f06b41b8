"""Streets are divided at the feet of places: into parts whose lengths, and weights in both directions, sum to its own.

A foot is at an integer number of millimetres along the line. The weight in front of it is the street's weight times this number
over the street's length, rounded half to even; the weights of parts are differences of these. At an end of a street the foot is
the crossing.
"""

from dataclasses import dataclass

import numpy as np

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.steps.attaching.lines import StreetLines
from pipeline.steps.attaching.nearest import NearestSegments
from pipeline.tables.streets import UNITS

_EXACT = 2**62


@dataclass(frozen=True)
class Feet:
    """Where places are on streets.

    Attributes:
        street (int64 [n]): The street of each place.
        offset (int64 [n]): Millimetres along it.
        vertex (int64 [n]): The vertex there: an end of the street, or -1 - the number of a stop.
        metres (float64 [n]): From each place to its foot.
        stop_street, stop_offset (int64 [k]): The stops: the different feet within streets, ascending.
        stop_points (int32 [k, 2]): Their longitudes and latitudes in the seventh decimal of a degree.
    """

    street: Array
    offset: Array
    vertex: Array
    metres: Array
    stop_street: Array
    stop_offset: Array
    stop_points: Array


def feet_of(lines: StreetLines, nearest: NearestSegments) -> Feet:
    """The feet of places, all of which have a nearest segment."""
    begin = nearest.segment
    street = np.searchsorted(lines.first, begin, side="right") - 1
    start, end = lines.positions[begin], lines.positions[begin + 1]
    offset = start + np.rint((end - start) * nearest.along).astype(np.int64)
    length = lines.lengths[street]
    vertex = np.where(offset == 0, lines.src[street], lines.dst[street])
    inner = np.flatnonzero((offset > 0) & (offset < length))
    order = inner[np.lexsort((begin[inner], offset[inner], street[inner]))]
    differs = np.ones(len(order), np.bool_)
    differs[1:] = (np.diff(street[order]) != 0) | (np.diff(offset[order]) != 0)
    vertex[order] = -np.cumsum(differs.astype(np.int64))
    stops = order[differs]
    points = _points_at(lines, begin[stops], offset[stops])
    return Feet(street, offset, vertex, nearest.metres, street[stops], offset[stops], points)


def _points_at(lines: StreetLines, begin: Array, offset: Array) -> Array:
    """The points at millimetres along streets, within the segments that begin at these points, int32 [k, 2]."""
    start, end = lines.positions[begin], lines.positions[begin + 1]
    share = (offset - start) / np.maximum(end - start, 1)
    one, other = lines.vectors[begin], lines.vectors[begin + 1]
    angle = 2 * np.arcsin(np.minimum(np.linalg.norm(other - one, axis=1) / 2, 1))
    long = angle > 1e-5  # on a shorter arc the chord is divided alike
    sine = np.where(long, np.sin(angle), 1.0)
    of_one = np.where(long, np.sin((1 - share) * angle) / sine, 1 - share)
    of_other = np.where(long, np.sin(share * angle) / sine, share)
    x, y, z = (of_one[:, np.newaxis] * one + of_other[:, np.newaxis] * other).T
    degrees = np.degrees(np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=1))
    units: Array = np.rint(degrees * UNITS).astype(np.int32)
    return units


def shares(weight: Array, offset: Array, length: Array) -> Array:
    """The weights in front of feet, int64 [n]: weight * offset / length, rounded half to even; -1 where the weight is."""
    long = weight > _EXACT // np.maximum(length, 1)
    product = np.where((weight < 0) | long, 0, weight) * offset
    share, rest = np.divmod(product, length)
    share += (2 * rest > length) | ((2 * rest == length) & (share % 2 == 1))
    for row in np.flatnonzero(long).tolist():
        whole, left = divmod(int(weight[row]) * int(offset[row]), int(length[row]))
        share[row] = whole + (2 * left > length[row] or (2 * left == length[row] and whole % 2))
    shared: Array = np.where(weight < 0, -1, share)
    return shared


@dataclass(frozen=True)
class Parts:
    """All streets, those with stops in parts, in the order of the streets and along each.

    Attributes:
        street (int64 [D]): Of which street each is a part.
        src, dst, length (int64 [D]): As in `StreetLines`; millimetres.
        weights (int64 [D, 2]): In both directions; -1 where it is closed.
        first (int64 [D + 1]), points (int32 [Q, 2]): Its line.
        divided (bool [D]): Whether it is not the whole street.
    """

    street: Array
    src: Array
    dst: Array
    length: Array
    weights: Array
    first: Array
    points: Array
    divided: Array


def divided(lines: StreetLines, feet: Feet, vertices: Array) -> Parts:
    """Divide streets at their stops, which are the given vertices, external ids int64 [k]."""
    stops = np.bincount(feet.stop_street, minlength=len(lines.src)).astype(np.int64)
    street = np.repeat(np.arange(len(lines.src)), stops + 1)
    ends = np.cumsum(stops + 1) - 1  # the last part of each street
    src, dst, length = lines.src[street], lines.dst[street], lines.lengths[street]
    after = np.arange(len(feet.stop_street)) + feet.stop_street + 1  # the part behind each stop
    src[after], dst[after - 1] = vertices, vertices
    offsets = np.zeros(len(street) + 1, np.int64)  # where each part begins
    offsets[after] = feet.stop_offset
    until = offsets[1:].copy()
    until[ends] = lines.lengths
    weights = np.empty((len(street), 2), np.int64)
    whole = np.maximum(length, 1)
    for direction in (0, 1):
        total = lines.weights[street, direction]
        weights[:, direction] = shares(total, until, whole) - shares(total, offsets[:-1], whole)
        alone = stops[street] == 0
        weights[alone, direction] = total[alone]
        weights[total < 0, direction] = -1
    first = np.zeros(len(street) + 1, np.int64)
    _draw(lines.first, lines.positions, lines.points, until, street, feet.stop_points, first, _NONE)
    points = np.empty((first[-1], 2), np.int32)
    _draw(lines.first, lines.positions, lines.points, until, street, feet.stop_points, first, points)
    return Parts(street, src, dst, until - offsets[:-1], weights, first, points, stops[street] > 0)


_NONE = np.empty((0, 2), np.int32)


@njit(cache=True, nogil=True)
def _draw(
    street_first: Array, positions: Array, line: Array, until: Array, street: Array, stop_points: Array,
    first: Array, points: Array,
) -> None:  # fmt: skip
    """Count the points of all parts into `first`; with an array for them, write them.

    A stop stands for the points of the street beside it that have its coordinates, except the street's ends.
    """
    filled, stop, at = 0, 0, 0
    for part in range(len(street)):
        one = street[part]
        start, last = street_first[one], street_first[one + 1] - 1
        if part == 0 or street[part - 1] != one:
            at = start
        else:
            if len(points):
                points[filled] = stop_points[stop - 1]
            filled += 1
        end = last + 1
        if part + 1 < len(street) and street[part + 1] == one:
            x, y = stop_points[stop]
            end = at
            while positions[end] <= until[part]:
                end += 1
            behind = end
            while end > at and end - 1 > start and line[end - 1, 0] == x and line[end - 1, 1] == y:
                end -= 1
            while behind < last and line[behind, 0] == x and line[behind, 1] == y:
                behind += 1
        if len(points):
            points[filled : filled + end - at] = line[at:end]
        filled += end - at
        if part + 1 < len(street) and street[part + 1] == one:
            if len(points):
                points[filled] = stop_points[stop]
            filled += 1
            stop += 1
            at = behind
        first[part + 1] = filled
