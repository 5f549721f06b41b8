"""The lines of segments, and places along them, which Overture states as shares of their length on the ellipsoid WGS 84."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernels.cpu.compiled import njit
from kernels.graph import Array
from pipeline.errors import BadInput
from pipeline.ingest.roads.lengths import UNITS

_HEAD = 9  # bytes of WKB before the coordinates: the order of bytes, the type, the number of points
_LINE = 2  # its type
SAME = 1e-8  # shares of a length: places that are as near to each other are the same
NEAR = 0.05  # metres: a place that is as near to a point of the line is this point


@dataclass(frozen=True)
class Lines:
    """Lines of segments.

    Attributes:
        begins, ends (int64 [n]): Where the points of each are.
        metres (float64 [P]): From the begin of its line to each point.
        units (int32 [P, 2]): Its coordinates, in the seventh decimal of a degree.
    """

    begins: Array
    ends: Array
    metres: Array
    units: Array

    @property
    def lengths(self) -> Array:
        """Metres, float64 [n]."""
        lengths: Array = self.metres[self.ends - 1]
        return lengths

    def places(self, line: Array, at: Array) -> tuple[Array, Array, Array]:
        """The places at shares of lines' lengths, float64 [m], of lines int64 [m].

        Returns their coordinates, int32 [m, 2], and the points before and behind them, int64 [m] each.
        """
        units, before, behind = np.empty((len(at), 2), np.int32), np.empty(len(at), np.int64), np.empty(len(at), np.int64)
        _place(line, at, self.begins, self.ends, self.metres, self.units, units, before, behind)
        return units, before, behind


def lines_of(file: str, column: pa.ChunkedArray, rows: Array) -> tuple[Array, Array]:
    """Where the points of each line end, int64 [n], and their longitudes and latitudes in degrees, float64 [P, 2].

    `rows`, int64 [n], are their numbers in the file. Raises BadInput for a value that is no line of degrees.
    """
    chunks = [chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk for chunk in column.chunks]
    values = pa.concat_arrays([chunk.cast(pa.large_binary()) for chunk in chunks]) if chunks else pa.array([], pa.large_binary())
    sizes = pc.binary_length(values).fill_null(0).to_numpy()
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    content = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    long = sizes >= _HEAD
    head = np.zeros((len(sizes), _HEAD), np.uint8)
    head[long] = content[offsets[:-1][long, None] + np.arange(_HEAD)]
    kind, count = np.ascontiguousarray(head[:, 1:5]).view("<u4")[:, 0], np.ascontiguousarray(head[:, 5:9]).view("<u4")[:, 0]
    right = long & (head[:, 0] == 1) & (kind == _LINE) & (count >= 2) & (sizes == _HEAD + 16 * count.astype(np.int64))
    if not right.all():
        row = rows[np.argmin(right)]
        raise BadInput(file, f"row {row}: geometry is not a line of two points or more in WKB, as Overture writes it")
    kept = np.ones(int(offsets[-1] - offsets[0]), np.bool_)
    kept[((offsets[:-1] - offsets[0])[:, None] + np.arange(_HEAD)).ravel()] = False
    points = content[offsets[0] : offsets[-1]][kept].view("<f8").reshape(-1, 2)
    ends = np.cumsum(count, dtype=np.int64)
    wrong = ~((np.abs(points[:, 0]) <= 180) & (np.abs(points[:, 1]) <= 90))
    if wrong.any():
        at = int(np.argmax(wrong))
        row = rows[np.searchsorted(ends, at, side="right")]
        raise BadInput(file, f"row {row}: geometry has the point {points[at].tolist()}, which is no longitude and latitude")
    return ends, points


def along(ends: Array, points: Array) -> Array:
    """Metres from the begin of its line to each point, on the ellipsoid, float64 [P]."""
    from pyproj import Geod

    steps = np.zeros(len(points))
    if len(points) > 1:
        steps[1:] = Geod(ellps="WGS84").inv(points[:-1, 0], points[:-1, 1], points[1:, 0], points[1:, 1])[2]
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else np.empty(0, np.int64)
    steps[begins] = 0
    total = np.cumsum(steps)
    metres: Array = total - np.repeat(total[begins], np.diff(ends, prepend=0))
    return metres


@njit(cache=True, nogil=True)
def _place(
    line: Array, at: Array, begins: Array, ends: Array, metres: Array, points: Array, units: Array, before: Array, behind: Array
) -> None:
    """Write the coordinates of places, and the points before and behind them; one that is near a point is this point."""
    for place in range(len(at)):
        begin, end = begins[line[place]], ends[line[place]]
        wanted = at[place] * metres[end - 1]
        after = min(begin + np.searchsorted(metres[begin:end], wanted), end - 1)
        nearest = after
        if after > begin and metres[after] - wanted > wanted - metres[after - 1]:
            nearest = after - 1
        if abs(metres[nearest] - wanted) <= NEAR:
            units[place] = points[nearest]
            before[place], behind[place] = nearest - 1, nearest + 1
            continue
        share = (wanted - metres[after - 1]) / (metres[after] - metres[after - 1])
        for axis in range(2):
            begun = np.int64(points[after - 1, axis])
            units[place, axis] = np.rint(begun + share * (points[after, axis] - begun))
        before[place], behind[place] = after - 1, after


def to_units(points: Array) -> Array:
    """Degrees in the seventh decimal, int32."""
    units: Array = np.rint(points * UNITS).astype(np.int32)
    return units
