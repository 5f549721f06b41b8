"""The part of cupyx that this project uses, on the emulated GPU (tests/emulator)."""

import cupy
import numpy as np
from cupy._memory import PinnedMemory, pinned_memory_pointer


def scatter_min(a, slices, value):
    cupy.minimum.at(a, slices, value)


def empty_pinned(shape, dtype=float, order="C"):
    memory = PinnedMemory(max(1, int(np.prod(shape)) * np.dtype(dtype).itemsize))
    return np.frombuffer(pinned_memory_pointer(memory, 0), dtype, int(np.prod(shape))).reshape(shape)
