"""Lines between two places in degrees, as WKB; one across the 180th meridian is cut there (RFC 7946, section 3.1.9)."""

from struct import pack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.graph import Array

_LINE = np.dtype([("order", "u1"), ("type", "<u4"), ("points", "<u4"), ("ends", "<f8", (4,))])  # little-endian, a LineString
_HALF = 180.0


def lines(ends: Array, known: Array) -> pa.Array:
    """Lines as WKB: LineStrings, and MultiLineStrings of two parts where the shorter way crosses the 180th meridian.

    An end on that meridian is on the side of the other end, so that no line has a part without length.

    Args:
        ends: float64 [n, 4]: longitude and latitude of both ends.
        known: bool [n]: Whether a line has both; null otherwise.
    """
    ends, encoded = ends.copy(), np.empty(len(ends), _LINE)
    for end, other in ((0, 2), (2, 0)):
        across = (np.abs(ends[:, end]) == _HALF) & (np.abs(ends[:, end] - ends[:, other]) > _HALF)
        ends[across, end] *= -1
    encoded["order"], encoded["type"], encoded["points"], encoded["ends"] = 1, 2, 2, ends
    offsets = np.arange(len(ends) + 1, dtype=np.int32) * _LINE.itemsize
    valid = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    whole = pa.Array.from_buffers(pa.binary(), len(ends), [valid, pa.py_buffer(offsets), pa.py_buffer(encoded)])
    cut = known & (np.abs(ends[:, 0] - ends[:, 2]) > _HALF)
    if not cut.any():
        return whole
    return pc.replace_with_mask(whole, pa.array(cut), pa.array([_cut(*line) for line in ends[cut].tolist()], pa.binary()))


def _cut(x: float, y: float, to_x: float, to_y: float) -> bytes:
    side = _HALF if x > 0 else -_HALF  # where it leaves
    at = y + (to_y - y) * (side - x) / (to_x + 2 * side - x)
    parts = ((x, y, side, at), (-side, at, to_x, to_y))
    return pack("<BII", 1, 5, 2) + b"".join(pack("<BII4d", 1, 2, 2, *part) for part in parts)


def ends_of(geometries: pa.Array) -> tuple[Array, Array]:
    """The ends of lines, float64 [n, 4], and whether they are known; NaN for one that `lines` would encode in another way."""
    known = geometries.is_valid().to_numpy(zero_copy_only=False)
    ends = np.full((len(geometries), 4), np.nan)
    if not known.any():
        return ends, known
    lengths = pc.fill_null(pc.binary_length(geometries), 0).to_numpy()
    simple = lengths == _LINE.itemsize
    plain = geometries.filter(pa.array(simple))
    first = np.frombuffer(plain.buffers()[1], np.int32, 1, plain.offset * 4)[0]
    decoded = np.frombuffer(plain.buffers()[2], _LINE, len(plain), first) if len(plain) else np.empty(0, _LINE)
    right = (decoded["order"] == 1) & (decoded["type"] == 2) & (decoded["points"] == 2)
    right &= ~(np.abs(decoded["ends"][:, 0] - decoded["ends"][:, 2]) > _HALF)
    ends[simple] = np.where(right[:, None], decoded["ends"], np.nan)
    for row in np.flatnonzero(known & ~simple).tolist():
        line = geometries[row].as_py()
        stated = np.frombuffer(line[18:50], "<f8"), np.frombuffer(line[59:91], "<f8")
        if len(line) == 91 and line == _cut(*stated[0][:2].tolist(), *stated[1][2:].tolist()):
            ends[row] = *stated[0][:2], *stated[1][2:]
    return ends, known
