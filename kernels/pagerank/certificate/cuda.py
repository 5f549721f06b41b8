"""Sums of in-arcs' shares on the GPU (arriving.cu)."""

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.graph import Array, Csr

_THREADS = 256
_BLOCKS_PER_PROCESSOR = 8


def gather(into: Csr, shares: Array) -> Array:
    """See `kernels.pagerank.certificate.arriving`."""
    sums: Array = cupy.empty(len(shares), np.float64)
    blocks = _BLOCKS_PER_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
    arguments = into.offsets, into.indices, np.int64(len(shares)), cupy.ascontiguousarray(shares), sums
    launch("pagerank/certificate/arriving.cu", "gather", _THREADS, None, *arguments, blocks=blocks, plain=True,
           ROW=into.indices.dtype)  # fmt: skip
    return sums
