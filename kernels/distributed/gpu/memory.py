"""Where the arcs of a shard on a GPU lie: in its memory, or in the host's, which it reads at the speed of the bus."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from threading import local
from typing import Any

import cupy
import cupyx
import numpy as np

from kernels.arrays import is_cupy_array
from kernels.cpu.parallel import cores
from kernels.distributed.shard import Place
from kernels.graph import Array

_PIECE = 1 << 24  # bytes that a thread stages at a time
_STAGED = 1 << 26  # bytes from which on threads stage arrays together


class Staging(local):
    """A thread's own pinned memory, through which arrays go to a GPU: one copy from other memory after the other is slow.

    Any number of threads may use it at the same time, and none holds more than it stages at a time.
    """

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._pinned = cupyx.empty_pinned((_PIECE,), np.uint8)
        with device:
            self._stream = cupy.cuda.Stream()  # waits for the null stream, on which the arrays are allocated

    def copy(self, array: Array, target: Array) -> None:
        """Copy a NumPy array into a CuPy array of its length, whose type may be narrower; return when it is there."""
        step = _PIECE // target.itemsize
        for begin in range(0, len(array), step):
            piece = array[begin : begin + step]
            pinned = self._pinned[: len(piece) * target.itemsize].view(target.dtype)
            np.copyto(pinned, piece, casting="same_kind")
            with self._device:
                target[begin : begin + len(piece)].set(pinned, self._stream)
                self._stream.synchronize()


def put(arrays: Sequence[Array], place: Place) -> Array:
    """Copy NumPy or CuPy arrays of one type, one after the other, to one CuPy array; for "host", one in pinned memory.

    Kernels reach pinned memory without a copy.
    """
    first, ends = arrays[0], [*accumulate(map(len, arrays), initial=0)]
    if place == "device":
        if is_cupy_array(first):
            return first.copy() if len(arrays) == 1 else cupy.concatenate(arrays)
        return _staged(arrays, ends)
    copy, pinned = _pinned(ends[-1], first.dtype)
    for array, (begin, end) in zip(arrays, pairwise(ends), strict=True):
        if is_cupy_array(array):
            array.get(out=pinned[begin:end])
        else:
            np.copyto(pinned[begin:end], array)
    return copy


def zeros(length: int, dtype: Any, place: Place) -> Array:
    """A CuPy array of zeros at this place."""
    if place == "device":
        return cupy.zeros(length, dtype)
    array, pinned = _pinned(length, np.dtype(dtype))
    pinned[:] = 0
    return array


def place_of(array: Array) -> Place:
    """Where a CuPy array lies."""
    kind = cupy.cuda.runtime.pointerGetAttributes(array.data.ptr).type if len(array) else None
    return "host" if kind == cupy.cuda.runtime.memoryTypeHost else "device"


def _pinned(length: int, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Pinned memory as an array of CuPy and as one of NumPy; it lives as long as the first."""
    size = max(length * dtype.itemsize, 1)
    memory = cupy.cuda.PinnedMemory(size)  # not from CuPy's pool, which rounds up to a power of two
    owner = cupy.cuda.UnownedMemory(memory.ptr, size, memory, cupy.cuda.Device().id)
    array = cupy.ndarray((length,), dtype, cupy.cuda.MemoryPointer(owner, 0))
    return array, np.frombuffer(cupy.cuda.PinnedMemoryPointer(memory, 0), dtype, length)


def _staged(arrays: Sequence[Array], ends: Sequence[int]) -> Array:
    """Copy arrays of this machine's memory, which may be maps of files, to the current GPU by several threads.

    They come to lie between `ends`.
    """
    dtype = arrays[0].dtype
    if ends[-1] * dtype.itemsize < _STAGED:
        return cupy.asarray(arrays[0] if len(arrays) == 1 else np.concatenate(arrays))
    target, staging = cupy.empty(ends[-1], dtype), Staging(cupy.cuda.Device())
    step = _PIECE // dtype.itemsize

    def copy(piece: tuple[Array, int, int]) -> None:
        array, first, begin = piece
        values = array[begin : begin + step]
        staging.copy(values, target[first + begin : first + begin + len(values)])

    pieces = [(array, first, begin) for array, first in zip(arrays, ends, strict=False) for begin in range(0, len(array), step)]
    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(copy, pieces))
    return target
