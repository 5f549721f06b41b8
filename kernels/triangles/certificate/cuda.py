"""The second count on the GPU (recount.cu)."""

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.graph import Array
from kernels.triangles.certificate.neighbourhoods import KnownLists, Neighbourhoods
from kernels.triangles.constants import EDGE_THREADS


def add(earlier: Neighbourhoods, later: Neighbourhoods, lists: KnownLists, sums: Array) -> tuple[int, int]:
    """As `recount.add_triangles`."""
    totals = cupy.zeros(2, np.uint64)
    arguments = *earlier, np.int64(len(sums)), *later, *lists, sums.view(np.uint64), totals
    launch("triangles/certificate/recount.cu", "add", EDGE_THREADS, 32 * len(earlier.rows), *arguments, ROW=later.rows.dtype)
    triangles, total = totals.tolist()
    return triangles, total
