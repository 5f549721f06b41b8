"""Lines between two places in degrees, as WKB; one across the 180th meridian is cut there (RFC 7946, section 3.1.9)."""

import struct
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa

from kernels.graph import Array

_PART = [("order", "u1"), ("type", "<u4"), ("points", "<u4"), ("ends", "<f8", (4,))]  # little-endian, a LineString
_LINE = np.dtype(_PART)
_HEAD = np.dtype(_PART[:3])
_CUT = np.dtype([("order", "u1"), ("type", "<u4"), ("number", "<u4"), ("parts", _PART, (2,))])  # a MultiLineString
_HALF = 180.0


def lines(ends: Array, known: Array) -> pa.Array:
    """Lines as WKB: LineStrings, and MultiLineStrings of two parts where the shorter way crosses the 180th meridian.

    An end on that meridian is on the side of the other end, so that no line has a part without length.

    Args:
        ends: float64 [n, 4]: longitude and latitude of both ends.
        known: bool [n]: Whether a line has both; null otherwise.
    """
    import pyarrow.compute as pc

    ends = ends.copy()
    for end, other in ((0, 2), (2, 0)):
        across = (np.abs(ends[:, end]) == _HALF) & (np.abs(ends[:, end] - ends[:, other]) > _HALF)
        ends[across, end] *= -1
    whole, cut = _as_binary(_straight(ends), known), known & _crosses(ends)
    return pc.replace_with_mask(whole, pa.array(cut), _as_binary(_cut(ends[cut]))) if cut.any() else whole


def ends_of(geometries: pa.Array) -> tuple[Array, Array]:
    """The ends of lines, float64 [n, 4], and whether they are known; NaN for one that `lines` would encode in another way."""
    import pyarrow.compute as pc

    known = geometries.is_valid().to_numpy(zero_copy_only=False)
    ends, lengths = np.full((len(geometries), 4), np.nan), pc.fill_null(pc.binary_length(geometries), 0).to_numpy()
    for kind, encode in ((_LINE, _straight), (_CUT, _cut)):
        rows = np.flatnonzero(lengths == kind.itemsize)
        read = np.frombuffer(geometries.take(pa.array(rows)).buffers()[2] or b"", kind, len(rows))  # which `take` has made
        parts = read["ends"][:, None] if kind is _LINE else read["parts"]["ends"]
        own = np.concatenate([parts[:, 0, :2], parts[:, -1, 2:]], axis=1)
        same = (_bytes(encode(own)) == _bytes(read)).all(axis=1) & (_crosses(own) == (kind is _CUT))
        ends[rows[same]] = own[same]
    return ends, known


def _crosses(ends: Array) -> Array:
    crosses: Array = np.abs(ends[:, 0] - ends[:, 2]) > _HALF
    return crosses


def _straight(ends: Array) -> Array:
    encoded = np.empty(len(ends), _LINE)
    encoded["order"], encoded["type"], encoded["points"], encoded["ends"] = 1, 2, 2, ends
    return encoded


def _cut(ends: Array) -> Array:
    x, y, to_x, to_y = ends.T
    side = np.where(x > 0, _HALF, -_HALF)  # where they leave
    at = y + (to_y - y) * (side - x) / (to_x + 2 * side - x)
    encoded = np.empty(len(ends), _CUT)
    encoded["order"], encoded["type"], encoded["number"] = 1, 5, 2
    parts = encoded["parts"]
    parts["order"], parts["type"], parts["points"] = 1, 2, 2
    parts["ends"] = np.stack([np.stack([x, y, side, at], 1), np.stack([-side, at, to_x, to_y], 1)], 1)
    return encoded


def _as_binary(encoded: Array, known: Array | None = None) -> pa.Array:
    offsets = np.arange(len(encoded) + 1, dtype=np.int32) * encoded.itemsize
    valid = None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(encoded), [valid, pa.py_buffer(offsets), pa.py_buffer(encoded)])


def _bytes(encoded: Array) -> Array:
    return np.ascontiguousarray(encoded).view(np.uint8).reshape(len(encoded), encoded.dtype.itemsize)


def polylines(points: Array, counts: Array) -> pa.Array:
    """Lines over several points as WKB; one that crosses the 180th meridian is cut there, into the parts of a MultiLineString.

    Args:
        points: float64 [sum of counts, 2]: longitudes and latitudes, those of each line together.
        counts: int64 [n]: How many points each line has, at least two.
    """
    import pyarrow.compute as pc

    firsts = np.cumsum(counts) - counts
    lengths = _HEAD.itemsize + 16 * counts
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    content = np.empty(offsets[-1], np.uint8)
    heads = np.empty(len(counts), _HEAD)
    heads["order"], heads["type"], heads["points"] = 1, 2, counts
    at_head = offsets[:-1, None] + np.arange(_HEAD.itemsize)
    content[at_head] = heads.view(np.uint8).reshape(len(counts), _HEAD.itemsize)
    is_point = np.ones(len(content), np.bool_)
    is_point[at_head] = False
    content[is_point] = np.ascontiguousarray(points, "<f8").view(np.uint8).ravel()
    encoded = pa.Array.from_buffers(
        pa.binary(), len(counts), [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content)]
    )
    crosses = np.zeros(len(points), np.bool_)
    crosses[1:] = np.abs(np.diff(points[:, 0])) > _HALF
    crosses[firsts] = False
    if not crosses.any():
        return encoded
    cut = np.unique(np.searchsorted(firsts, np.flatnonzero(crosses), side="right") - 1)
    parts = [_cut_polyline(points[firsts[line] : firsts[line] + counts[line]].tolist()) for line in cut.tolist()]
    mask = np.zeros(len(counts), np.bool_)
    mask[cut] = True
    return pc.replace_with_mask(encoded, pa.array(mask), pa.array(parts, pa.binary()))


def _cut_polyline(points: list[list[float]]) -> bytes:
    """A line that crosses the 180th meridian; an end on it is on the side of its neighbour, so that no part lacks a length."""
    parts, part = list[list[tuple[float, float]]](), [(points[0][0], points[0][1])]
    for (x, y), (to_x, to_y) in pairwise(points):
        if abs(x - to_x) > _HALF:
            side = _HALF if x > 0 else -_HALF
            at = y if abs(x) == _HALF else y + (to_y - y) * (side - x) / (to_x + 2 * side - x)
            if part[-1] != (side, at):
                part.append((side, at))
            parts, part = [*parts, part], [(-side, at)]
        if part[-1] != (to_x, to_y):
            part.append((to_x, to_y))
    lines_of_parts = [one for one in (*parts, part) if len(one) > 1]
    encoded = [struct.pack(f"<BII{2 * len(one)}d", 1, 2, len(one), *chain.from_iterable(one)) for one in lines_of_parts]
    return encoded[0] if len(encoded) == 1 else struct.pack("<BII", 1, 5, len(encoded)) + b"".join(encoded)
