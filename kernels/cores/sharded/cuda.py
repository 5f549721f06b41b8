"""The local fixpoint of bounds on the GPU: one cooperative launch (bounds.cu)."""

import cupy
import numpy as np

from kernels.cores.constants import CONTROL_WORDS, THREADS
from kernels.gpu.loader import launch
from kernels.graph import OFFSET, Array, Csr


def settle(around: Csr, bounds: Array, rows: Array, num_own: int) -> None:
    """As `kernels.cores.cpu.settle`, on CuPy arrays."""
    row = bounds.dtype
    before, waiting = cupy.empty(num_own, row), cupy.zeros(num_own, np.uint32)
    listed, other = cupy.empty(num_own, row), cupy.empty(num_own, row)
    listed[: len(rows)] = rows
    state = bounds, before, waiting, listed, other, np.int64(len(rows)), cupy.zeros(CONTROL_WORDS, OFFSET)
    launch(
        "cores/sharded/bounds.cu",
        "lower_bounds",
        THREADS,
        None,
        around.offsets,
        around.indices,
        np.int64(num_own),
        *state,
        ROW=row,
    )
