"""The passes over a rank's arcs on CuPy arrays (paths/certificate/sharded.cu)."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.distributed.shard import Shard
from kernels.gpu.loader import launch, pointer
from kernels.graph import Array, Csr, distance_dtype

_THREADS = 512  # as in the sources


def relax(shard: Shard, weights: Array | None, known: Array, ranks: Array, nearest: Array) -> bool:
    """As `cpu.relax`."""
    into, control = shard.local_into, cupy.zeros(2, np.uint64)
    arguments = (into.offsets, into.indices, pointer(weights), ranks, np.int64(len(nearest)), known, nearest, control)
    _launch("paths/certificate/sharded.cu", "relax", _work(into), arguments, **_types(shard, weights))
    return bool(control[0])


def first_loose(shard: Shard, weights: Array | None, known: Array) -> int:
    """As `cpu.first_loose`."""
    out, control = shard.local_out, cupy.zeros(2, np.uint64)
    sizes = np.int64(len(shard.ids)), np.int64(len(out.indices))
    arguments = (out.offsets, out.indices, pointer(weights), *sizes, known, control)
    _launch("paths/certificate/sharded.cu", "find_loose", _work(out), arguments, **_types(shard, weights))
    return _first(control[1], out)


def _first(control: Array, csr: Csr) -> int:
    """The place that a kernel counted back from the number of arcs; -1 where it noted none."""
    back = int(control)
    return len(csr.indices) - back if back else -1


def _work(csr: Csr) -> int:
    return len(csr.offsets) + len(csr.indices)


def _types(shard: Shard, weights: Array | None) -> dict[str, np.dtype[Any]]:
    weight = np.dtype(np.int32) if weights is None else weights.dtype
    return {"ROW": shard.ghosts.dtype, "WEIGHT": weight, "SUM": distance_dtype(weights)}


def _launch(source: str, name: str, work: int, arguments: tuple[Any, ...], **types: np.dtype[Any]) -> None:
    launch(source, name, _THREADS, work, *arguments, **types)
