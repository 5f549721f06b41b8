"""Rows by their degrees: those of a direction, derived from the graph once, and those of a sparse frontier."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import pointer
from kernels.graph import OFFSET, Array, Csr, Graph
from kernels.library.operators.constants import BLOCK_DEGREE, HUB_DEGREE, WARP_DEGREE
from kernels.library.operators.gpu.bits import over
from kernels.library.operators.gpu.constants import GROUPS, LANES


@dataclass(frozen=True)
class DegreeGroups:
    """Rows by degree: hubs, rows of a block, of a warp, and short rows."""

    listed: Array  # index width: the rows, group by group
    bounds: Any  # int64 [8]: where each group begins in `listed`, and its length; or null: not yet divided


@dataclass(frozen=True)
class Division:
    """The rows of a direction: groups without the short rows, and the number of hubs."""

    groups: DegreeGroups
    hubs: int


def divided(graph: Graph, csr: Csr, key: Any) -> Division:
    """The rows of a direction, or of a part of it that `key` names."""
    return graph.derived.get((divided, key), lambda: _divided(csr))


def lanes_of(graph: Graph, csr: Csr, key: Any) -> tuple[Any, ...]:
    """The short rows in the vector extension, as kernels take them: segments, indices, weights, the first lane.

    Rows of fewer than 32 arcs are the lanes of segments of 32 consecutive rows. Arc k of lane i is at `segment + 32 k + i`, so
    that a warp reads arc k of 32 rows as one line. Lanes are padded to the segment's largest degree with the row itself and
    weight 0. A row of 32 arcs or more among them (in the other direction, or in the source's order) has an empty lane.

    References: Afanasyev: VectCSR, in the Vector Graph Library (2020). The lanes are SELL-C-sigma with C = 32: Kreutzer, Hager,
    Wellein, Fehske, Bishop (2014).

    Returns:
        int64 [S + 1]: segment s is at `segments[s]:segments[s + 1]`, and its lanes are rows `first lane + 32 s + i`; the indices
        (index width) and weights of all lanes; the first row of fewer than 32 arcs. Where there are no weights, another array.
    """

    def make() -> tuple[Any, ...]:
        segments, indices, weights, first = _lanes(csr)
        return segments, indices, graph.rows_by_id if weights is None else weights, np.int64(first)

    return graph.derived.get((lanes_of, key), make)


def _lanes(csr: Csr) -> tuple[Array, Array, Array | None, int]:
    degrees = cupy.diff(csr.offsets)
    # int32, because CUB pads pairs of an integer and a byte, which initcheck reports.
    short = (degrees < WARP_DEGREE).astype(np.int32)
    first = int(short.argmax()) if len(short) else 0  # `any` would compile a kernel for seconds on its first call
    first = first if int(short[first : first + 1].sum()) else len(short)
    num_segments = -(-(len(degrees) - first) // LANES)
    widths = cupy.zeros((num_segments, LANES), OFFSET)
    widths.reshape(-1)[: len(degrees) - first] = (degrees * short)[first:]
    segments = cupy.zeros(num_segments + 1, OFFSET)
    cupy.cumsum(LANES * widths.max(axis=1), out=segments[1:])
    indices = cupy.empty(int(segments[-1]), csr.indices.dtype)
    weights = None if csr.weights is None else cupy.zeros(len(indices), csr.weights.dtype)
    of_weight = np.int32(0 if csr.weights is None else csr.weights.itemsize)
    rows = (csr.offsets, np.int64(len(degrees)), csr.indices, pointer(csr.weights), of_weight)
    lanes = (segments, np.int64(num_segments), np.int64(first), indices, pointer(weights))
    over(LANES * num_segments, "fill_lanes", *rows, *lanes, row=csr.indices.dtype)
    return segments, indices, weights, first


def _divided(csr: Csr) -> Division:
    degrees = cupy.diff(csr.offsets)
    limits = ((HUB_DEGREE, None), (BLOCK_DEGREE, HUB_DEGREE), (WARP_DEGREE, BLOCK_DEGREE))
    parts = [cupy.flatnonzero((degrees >= low) & (degrees < high) if high else degrees >= low) for low, high in limits]
    sizes = [len(part) for part in parts] + [0]
    bounds = np.array([*np.cumsum([0, *sizes[:3]]).tolist(), *sizes], np.int64)
    listed = cupy.concatenate([*parts, cupy.zeros(1, parts[0].dtype)]).astype(csr.indices.dtype)
    return Division(DegreeGroups(listed, cupy.asarray(bounds)), sizes[0])


def groups_of(csr: Csr, rows: Array) -> DegreeGroups:
    """The rows of a list by degree, on the GPU alone: the number of rows of each group is not read back."""
    listed, bounds = cupy.empty(GROUPS * max(len(rows), 1), rows.dtype), cupy.zeros(2 * GROUPS, cupy.int64)
    over(max(len(rows), 1), "divide", rows, cupy.int64(len(rows)), csr.offsets, listed, bounds, row=rows.dtype)
    return DegreeGroups(listed, bounds)
