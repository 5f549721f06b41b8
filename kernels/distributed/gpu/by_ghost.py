"""The arcs to ghosts in the order of these, on the GPU (by_ghost.cu): listed by own row, then sorted by ghost."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import OFFSET, Array, Csr

_THREADS = 256


def by_ghost(back: Csr, own_by_id: Array) -> tuple[Array, Array, Array]:
    """Answer `kernels.distributed.local_graph._by_ghost` on CuPy arrays.

    Notes
    -----
    32 bytes an arc to a ghost, at the peak.
    """
    offsets, ends, row = back.offsets, back.indices, back.indices.dtype
    num_own, num_ghosts = len(own_by_id), len(offsets) - 1 - len(own_by_id)
    arc_bits, ghost_bits = len(ends).bit_length(), num_ghosts.bit_length()

    def run(name: str, threads: int, *arguments: Any) -> None:
        launch("distributed/gpu/by_ghost.cu", name, _THREADS, threads, *arguments, ROW=row)

    counts = cupy.empty(num_own, OFFSET)
    run("count_arcs", 32 * num_own, offsets, ends, own_by_id, np.int64(num_own), counts)
    stops = cupy.cumsum(counts)
    keys = cupy.empty(int(stops[-1]) if num_own else 0, KEY)
    run("list_arcs", 32 * num_own, offsets, ends, own_by_id, np.int64(num_own), stops - counts, np.int32(arc_bits), keys)
    keys, _ = sort(keys, None, arc_bits, arc_bits + ghost_bits)
    first_keys = cupy.arange(num_ghosts + 1, dtype=KEY) << KEY.type(arc_bits)
    num_arcs = cupy.diff(cupy.searchsorted(keys, first_keys)).astype(OFFSET)
    arcs, rows = cupy.empty(len(keys), OFFSET), cupy.empty(len(keys), row)
    run("find_rows", len(keys), offsets, np.int64(num_own), keys, np.int64(len(keys)), np.int32(arc_bits), arcs, rows)
    return num_arcs, arcs, rows
