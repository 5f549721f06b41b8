"""Rows by their degrees: those of a direction, derived from the graph once, and those of a sparse frontier."""

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from kernels.graph import Array, Csr, Graph
from kernels.layout.vect_csr import extend
from kernels.library.operators.constants import BLOCK_DEGREE, HUB_DEGREE, WARP_DEGREE
from kernels.library.operators.gpu.bits import over
from kernels.library.operators.gpu.constants import GROUPS


@dataclass(frozen=True)
class Groups:
    """Rows by degree: hubs, rows of a block, of a warp, and short rows."""

    listed: Array  # index width: the rows, group by group
    bounds: Any  # int64 [8]: where each group begins in `listed`, and its length; or null: not yet divided


@dataclass(frozen=True)
class Division:
    """The rows of a direction: groups without the short rows, and the number of hubs."""

    groups: Groups
    hubs: int


def divided(graph: Graph, csr: Csr, key: Any) -> Division:
    """The rows of a direction, or of a part of it that `key` names."""
    return graph.derived.get((divided, key), lambda: _divided(csr))


def lanes_of(graph: Graph, csr: Csr, key: Any) -> tuple[Any, ...]:
    """The short rows in the vector extension, as kernels take them: segments, indices, weights, the first lane."""

    def make() -> tuple[Any, ...]:
        lanes = extend(csr, 0)
        weights = graph.rows_by_id if lanes.segment_weights is None else lanes.segment_weights
        return lanes.segments, lanes.segment_indices, weights, np.int64(lanes.first_lane)

    return graph.derived.get((lanes_of, key), make)


def _divided(csr: Csr) -> Division:
    degrees = cupy.diff(csr.offsets)
    limits = ((HUB_DEGREE, None), (BLOCK_DEGREE, HUB_DEGREE), (WARP_DEGREE, BLOCK_DEGREE))
    parts = [cupy.flatnonzero((degrees >= low) & (degrees < high) if high else degrees >= low) for low, high in limits]
    sizes = [len(part) for part in parts] + [0]
    bounds = np.array([*np.cumsum([0, *sizes[:3]]).tolist(), *sizes], np.int64)
    listed = cupy.concatenate([*parts, cupy.zeros(1, parts[0].dtype)]).astype(csr.indices.dtype)
    return Division(Groups(listed, cupy.asarray(bounds)), sizes[0])


def groups_of(csr: Csr, rows: Array) -> Groups:
    """The rows of a list by degree, on the GPU alone: the number of rows of each group is not read back."""
    listed, bounds = cupy.empty(GROUPS * max(len(rows), 1), rows.dtype), cupy.zeros(2 * GROUPS, cupy.int64)
    over(max(len(rows), 1), "divide", rows, cupy.int64(len(rows)), csr.offsets, listed, bounds, row=rows.dtype)
    return Groups(listed, bounds)
