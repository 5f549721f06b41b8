"""Sums of in-arcs' shares on the GPU (arriving.cu)."""

from typing import Any

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.graph import Array, Csr
from kernels.pagerank.certificate.constants import GATHERING

_BLOCKS_PER_PROCESSOR = 8


def gather(into: Csr, shares: Array) -> Array:
    """See `kernels.pagerank.certificate.views.arriving`."""
    sums: Array = cupy.empty(len(shares), np.float64)
    _launch("gather", into, np.int64(len(shares)), cupy.ascontiguousarray(shares), sums)
    return sums


def gather_columns(into: Csr, shares: Array) -> Array:
    """As `gather`, of shares [n, K]; K is at most GATHERING."""
    sums: Array = cupy.empty(shares.shape, np.float64)
    rows, columns = shares.shape
    _launch("gather_columns", into, np.int64(rows), np.int64(columns), cupy.ascontiguousarray(shares), sums)
    return sums


def _launch(kernel: str, into: Csr, *arguments: Any) -> None:
    blocks = _BLOCKS_PER_PROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]
    arguments = into.offsets, into.indices, *arguments
    launch("pagerank/certificate/arriving.cu", kernel, GATHERING, None, *arguments, blocks=blocks, plain=True,
           ROW=into.indices.dtype)  # fmt: skip
