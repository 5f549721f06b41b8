"""The arcs to ghosts, in the order of the ghosts, on the GPU (by_ghost.cu): listed by own row, then sorted by ghost."""

from functools import partial

import cupy
import numpy as np

from kernels.gpu.loader import launch
from kernels.gpu.radix_sort import KEY, sort
from kernels.graph import OFFSET, Array, Csr

_SOURCE, _THREADS = "distributed/gpu/by_ghost.cu", 256


def by_ghost(back: Csr, own_by_id: Array) -> tuple[Array, Array, Array]:
    """Answer `kernels.distributed.local_graph._by_ghost` on CuPy arrays.

    The peak is 32 bytes per arc to a ghost.
    """
    offsets, neighbours, row = back.offsets, back.indices, back.indices.dtype
    num_own, num_ghosts = len(own_by_id), len(offsets) - 1 - len(own_by_id)
    arc_bits, ghost_bits = len(neighbours).bit_length(), num_ghosts.bit_length()
    run = partial(launch, ROW=row)
    given = offsets, neighbours, own_by_id, np.int64(num_own)
    counts = cupy.empty(num_own, OFFSET)
    run(_SOURCE, "count_arcs", _THREADS, 32 * num_own, *given, counts)
    stops = cupy.cumsum(counts)
    keys = cupy.empty(int(stops[-1]) if num_own else 0, KEY)
    run(_SOURCE, "list_arcs", _THREADS, 32 * num_own, *given, stops - counts, np.int32(arc_bits), keys)
    keys, _ = sort(keys, None, arc_bits, arc_bits + ghost_bits)
    first_keys = cupy.arange(num_ghosts + 1, dtype=KEY) << KEY.type(arc_bits)
    num_arcs = cupy.diff(cupy.searchsorted(keys, first_keys)).astype(OFFSET)
    arcs, rows = cupy.empty(len(keys), OFFSET), cupy.empty(len(keys), row)
    listed = offsets, np.int64(num_own), keys, np.int64(len(keys)), np.int32(arc_bits)
    run(_SOURCE, "find_rows", _THREADS, len(keys), *listed, arcs, rows)
    return num_arcs, arcs, rows
