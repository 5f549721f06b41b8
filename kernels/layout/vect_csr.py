"""VectCSR: the rows of a graph, and its short rows a second time in the layout of a warp.

Rows of fewer than 32 arcs are the lanes of segments of 32 consecutive rows. Arc k of lane i is at `segment + 32 k + i`, so that a
warp reads arc k of 32 rows as one line. Lanes are padded to the segment's largest degree with the row itself and weight 0.
A row of 32 arcs or more among them (in the other direction, or in the source's order) has an empty lane.

References: Afanasyev: VectCSR, in the Vector Graph Library (2020). The lanes are SELL-C-sigma with C = 32: Kreutzer, Hager,
Wellein, Fehske, Bishop (2014).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernels.arrays import frozen, is_cupy
from kernels.cpu.compiled import njit
from kernels.cpu.parallel import over_rows
from kernels.graph import OFFSET, Array, Csr
from kernels.layout.constants import LANES, WARP_DEGREE

BLOCK_DEGREE = 1024  # rows of this degree or more take a grid or a block each


@dataclass(frozen=True)
class VectCsr:
    """One direction of a shard."""

    csr: Csr  # arcs of the rows `first_row`, `first_row + 1`, ...; its offsets start at 0, its indices are rows of the graph
    first_row: int  # row of the graph that is row 0 of `csr`
    # int64 [S + 1]: segment s is at `segments[s]:segments[s + 1]`. Its lanes are rows `first_lane + 32 s + i` of `csr`.
    segments: Array
    # index width [L]: rows of the graph; a lane is padded with its own row, lanes beyond the last row with the last row.
    segment_indices: Array
    segment_weights: Array | None  # the weights' type [L], or None: 0 in the padding

    @cached_property
    def degrees(self) -> Array:
        """Arcs of each row, int64. Entry k of a lane is padding if `k >= degree`; self-loops may be arcs."""
        return np.diff(self.csr.offsets)

    @property
    def first_lane(self) -> int:
        """The first row with a lane: all rows before it have 32 arcs or more."""
        return leading_wide(self.degrees)

    @property
    def groups(self) -> tuple[int, int, int]:
        """Numbers of rows of 1024 arcs or more, of 32 to 1023, and of fewer than 32."""
        block, wide = (int((self.degrees >= degree).sum()) for degree in (BLOCK_DEGREE, WARP_DEGREE))
        return block, wide - block, len(self.degrees) - wide

    @property
    def lane_arcs(self) -> int:
        """Number of arcs in the vector extension; its other entries are padding."""
        return int(self.degrees[self.degrees < WARP_DEGREE].sum())

    def validate(self, num_vertices: int) -> None:
        """Raise ValueError with the first broken rule: the rows, and every entry of the vector extension."""
        num_rows = len(self.csr.offsets) - 1
        _require(0 <= self.first_row <= num_vertices - num_rows, f"rows from {self.first_row} leave 0..{num_vertices - 1}")
        self.csr.validate(num_vertices, num_rows)
        expected = _segments(self.degrees, self.first_lane)
        _require(self.segments.dtype == OFFSET, f"segments are {self.segments.dtype}, not {OFFSET}")
        _require(np.array_equal(self.segments, expected), "segments are not 32 times the largest degrees of their lanes")
        _require(self.segment_indices.dtype == self.csr.indices.dtype, f"segment indices are {self.segment_indices.dtype}")
        _require(len(self.segment_indices) == int(expected[-1]), f"{len(self.segment_indices)} segment indices")
        _require((self.segment_weights is None) == (self.csr.weights is None), "only the rows or only the segments have weights")
        if self.segment_weights is not None and self.csr.weights is not None:
            _require(self.segment_weights.dtype == self.csr.weights.dtype, f"segment weights are {self.segment_weights.dtype}")
            _require(len(self.segment_weights) == int(expected[-1]), f"{len(self.segment_weights)} segment weights")
        wrong = _first_wrong_entry(*_rows(self), *_lanes(self), self.first_lane, self.first_row)
        _require(wrong < 0, f"segment entry {wrong} is neither its row's arc nor padding")


def extend(csr: Csr, first_row: int) -> VectCsr:
    """Add the vector extension to rows; `csr` holds those of a graph from `first_row` on."""
    degrees = np.diff(csr.offsets)
    first_lane = leading_wide(degrees)
    segments = _segments(degrees, first_lane)
    slots = int(segments[-1])
    indices = np.empty(slots, csr.indices.dtype, like=csr.indices)
    weights = None if csr.weights is None else np.zeros(slots, csr.weights.dtype, like=csr.weights)
    extended = VectCsr(csr, first_row, segments, indices, weights)
    if is_cupy(csr):
        from kernels.layout import cuda

        cuda.fill_lanes(csr, segments, indices, weights, first_lane, first_row)
        return extended
    lanes = Csr(segments, indices, weights)
    over_rows(lanes, lambda begin, end: _fill(*_rows(extended), segments, indices, weights, first_lane, first_row, begin, end))
    return extended


def leading_wide(degrees: Array) -> int:
    """Number of rows before the first of fewer than 32 arcs."""
    # int32, because CUB pads pairs of an integer and a byte, which initcheck reports.
    narrow = (degrees < WARP_DEGREE).astype(np.int32)
    first = int(narrow.argmax()) if len(narrow) else 0  # `any` would compile a kernel for seconds on its first call
    return first if int(narrow[first : first + 1].sum()) else len(degrees)


def _segments(degrees: Array, first_lane: int) -> Array:
    widths = np.where(degrees < WARP_DEGREE, degrees, 0)[first_lane:]
    num_segments = -(-len(widths) // LANES)
    lanes = np.zeros((num_segments, LANES), OFFSET, like=widths)
    lanes.reshape(-1)[: len(widths)] = widths
    segments = np.zeros(num_segments + 1, OFFSET, like=widths)
    np.cumsum(LANES * lanes.max(axis=1), out=segments[1:])
    return segments


def _rows(vect: VectCsr) -> tuple[Array, Array, Array | None]:
    csr = vect.csr
    return frozen(csr.offsets), frozen(csr.indices), None if csr.weights is None else frozen(csr.weights)


def _lanes(vect: VectCsr) -> tuple[Array, Array, Array | None]:
    weights = vect.segment_weights
    return frozen(vect.segments), frozen(vect.segment_indices), None if weights is None else frozen(weights)


@njit(cache=True, nogil=True)
def _fill(
    offsets: Array, indices: Array, weights: Array | None, segments: Array, lane_indices: Array, lane_weights: Array,
    first_lane: int, first_row: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Fill the segments `begin..end-1`, lane by lane; the weights are zero before."""
    num_rows = len(offsets) - 1
    for segment in range(begin, end):
        for lane in range(LANES):
            row = first_lane + LANES * segment + lane
            arc, degree = 0, 0
            if row < num_rows and offsets[row + 1] - offsets[row] < WARP_DEGREE:
                arc, degree = offsets[row], offsets[row + 1] - offsets[row]
            padding = first_row + min(row, num_rows - 1)
            for slot in range(segments[segment] + lane, segments[segment + 1], LANES):
                if degree > 0:
                    lane_indices[slot] = indices[arc]
                    if weights is not None:
                        lane_weights[slot] = weights[arc]
                    arc += 1
                    degree -= 1
                else:
                    lane_indices[slot] = padding


@njit(cache=True, nogil=True)
def _first_wrong_entry(
    offsets: Array, indices: Array, weights: Array | None, segments: Array, lane_indices: Array, lane_weights: Array,
    first_lane: int, first_row: int,
) -> int:  # fmt: skip
    """The first entry that is neither arc k < degree < 32 of its lane's row nor padding (the row itself, weight 0); or -1."""
    last = len(offsets) - 2
    for segment in range(len(segments) - 1):
        for slot in range(segments[segment], segments[segment + 1]):
            k, lane = divmod(slot - segments[segment], LANES)
            row = first_lane + LANES * segment + lane
            degree = offsets[row + 1] - offsets[row] if row <= last else 0
            if k < degree < WARP_DEGREE:
                right = lane_indices[slot] == indices[offsets[row] + k]
                if weights is not None:
                    right &= lane_weights[slot] == weights[offsets[row] + k]
            else:
                right = lane_indices[slot] == first_row + min(row, last)
                if weights is not None:
                    right &= lane_weights[slot] == 0
            if not right:
                return slot
    return -1


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)
