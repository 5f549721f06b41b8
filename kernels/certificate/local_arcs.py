"""A rank's own arcs: the passes over them, compiled for its arrays, and what the reasons need of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.shard import Shard
from kernels.graph import Array


def passes(shard: Shard) -> Any:
    """The passes over arcs that are compiled for the shard's arrays."""
    if is_cupy_array(shard.ghosts):
        from kernels.certificate import local_arcs_cuda as cuda

        return cuda
    from kernels.certificate import local_arcs_cpu as cpu

    return cpu


def evidence(shard: Shard, weights: Array | None, arc: int) -> tuple[Array, Array, Array]:
    """The rows of an own out-arc's ends and its weight, in arrays of one; of none for -1."""
    arcs = np.array([arc] if arc >= 0 else [], np.int64, like=shard.out.offsets)
    src = np.searchsorted(shard.out.offsets, arcs, side="right") - 1 + shard.rows.start
    dst = shard.local_rows[shard.local_out.indices[arcs]]
    return src, dst, (arcs if weights is None else weights[arcs])
