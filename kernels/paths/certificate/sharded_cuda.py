"""The passes of the certificate of paths over a rank's arcs, on CuPy arrays (sharded.cu)."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.certificate.launches import first_noted, launch, work_of
from kernels.distributed.shard import Shard
from kernels.gpu.loader import pointer
from kernels.graph import Array
from kernels.paths.certificate.distances import types_of

_SOURCE = "paths/certificate/sharded.cu"


def relax(shard: Shard, weights: Array | None, known: Array, positions: Array, nearest: Array) -> bool:
    """See `sharded_cpu.relax`."""
    into, control = shard.local_into, cupy.zeros(2, np.uint64)
    arguments = (into.offsets, into.indices, pointer(weights), positions, np.int64(len(nearest)), known, nearest, control)
    launch(_SOURCE, "relax", work_of(into), arguments, **types_of(shard.ghosts.dtype, weights))
    return bool(control[0])


def first_loose(shard: Shard, weights: Array | None, known: Array) -> int:
    """See `sharded_cpu.first_loose`."""
    out, control = shard.local_out, cupy.zeros(2, np.uint64)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    launch(_SOURCE, "find_loose", work_of(out), (out.offsets, out.indices, pointer(weights), *sizes, known, control),
           **types_of(shard.ghosts.dtype, weights))  # fmt: skip
    return first_noted(control[1], out)
