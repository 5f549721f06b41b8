"""What the in-arcs bring to each row, on the GPU (arriving.cu)."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.gpu.loader import load
from kernels.graph import Array, Csr

_THREADS = 256
_BLOCKS_A_PROCESSOR = 8


def arriving(into: Csr, shares: Array) -> Array:
    """Sum over each row's in-arcs of the share of its other end, float64 [V]."""
    sums = cupy.empty(len(shares), np.float64)
    kernel = load("pagerank/certificate/arriving.cu", cooperative=False, ROW=into.indices.dtype).get_function("gather")
    blocks = _BLOCKS_A_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
    kernel((blocks,), (_THREADS,), (into.offsets, into.indices, np.int64(len(shares)), cupy.ascontiguousarray(shares), sums))
    return sums
