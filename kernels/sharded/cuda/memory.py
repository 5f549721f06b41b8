"""Where the arcs of a shard on a GPU lie: in its memory, or in the host's, which it reads at the speed of the bus."""

from __future__ import annotations

import cupy
import numpy as np

from kernels.backend import is_cupy_array
from kernels.graph import Array
from kernels.sharded.shard import Place


def put(array: Array, place: Place) -> Array:
    """Copy a NumPy or CuPy array to a CuPy array; for "host", one in pinned memory, which kernels reach without a copy."""
    if place == "device":
        return array.copy() if is_cupy_array(array) else cupy.asarray(array)
    memory = cupy.cuda.PinnedMemory(max(array.nbytes, 1))  # not from CuPy's pool, which rounds up to a power of two
    pinned = np.frombuffer(memory, array.dtype, len(array))
    if is_cupy_array(array):
        array.get(out=pinned)
    else:
        np.copyto(pinned, array)
    owner = cupy.cuda.UnownedMemory(memory.ptr, max(array.nbytes, 1), memory, cupy.cuda.Device().id)
    return cupy.ndarray(array.shape, array.dtype, cupy.cuda.MemoryPointer(owner, 0))
