"""Memory of the arcs of a shard on a GPU: the GPU's own, or pinned memory of the host, which kernels read over the bus."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from threading import local
from typing import Any

import cupy
import numpy as np

from kernels.arrays import ArcMemory, is_cupy_array
from kernels.cpu.parallel import over_items
from kernels.gpu.loader import to_host
from kernels.gpu.transfer import allocate_pinned, empty_pinned
from kernels.graph import Array, Csr, Graph

STAGED_BYTES = 1 << 22  # bytes that a thread stages at a time; pinning more takes longer than it saves
_STAGED = 1 << 26  # bytes from which on several threads stage arrays: each may have to wait for the GIL before each chunk


class Staging(local):
    """A thread's own pinned memory, through which arrays are copied to or from a GPU: copies of pageable memory are slow.

    Any number of threads may use one object at the same time; each holds one chunk.
    """

    def __init__(self, device: cupy.cuda.Device) -> None:
        self._device = device
        self._pinned = empty_pinned(STAGED_BYTES, np.uint8)
        with device:
            self._stream = cupy.cuda.Stream()  # waits for the null stream, on which the arrays are allocated

    def copy(self, array: Array, target: cupy.ndarray) -> None:
        """Copy a NumPy array into a CuPy array of its length, whose type may be narrower; return when the copy is done."""
        step = STAGED_BYTES // target.itemsize
        for begin in range(0, len(array), step):
            chunk = array[begin : begin + step]
            pinned = self._pinned[: len(chunk) * target.itemsize].view(target.dtype)
            np.copyto(pinned, chunk, casting="same_kind")
            with self._device:
                target[begin : begin + len(chunk)].set(pinned, self._stream)
                self._stream.synchronize()

    def fetch(self, array: cupy.ndarray) -> Array:
        """Copy at most `STAGED_BYTES` of a contiguous CuPy array to the pinned memory, which the next call overwrites."""
        pinned: Array = self._pinned[: array.nbytes].view(array.dtype)
        with self._device:
            array.get(self._stream, out=pinned)
            self._stream.synchronize()
        return pinned


def fetched_ahead(array: cupy.ndarray, size: int) -> Iterator[Array]:
    """Copy a contiguous CuPy array [n] to pinned memory, up to `size` bytes at a time, while the last ones are used.

    A part is valid until the next one is asked for. Raises MemoryError at once if memory cannot be pinned.
    """
    step = max(1, size // array.itemsize)
    with array.device:
        stream = cupy.cuda.Stream()  # waits for the null stream, on which the arrays are allocated
        buffers = [empty_pinned(min(step, len(array)), array.dtype) for _ in range(2)]

    return _fetched_ahead(array, step, stream, buffers)


def _fetched_ahead(array: cupy.ndarray, step: int, stream: cupy.cuda.Stream, buffers: Sequence[Array]) -> Iterator[Array]:
    def begin(at: int) -> Array:
        part = array[at : at + step]
        with array.device:
            fetched: Array = part.get(stream, out=buffers[at // step % 2][: len(part)], blocking=False)
        return fetched

    try:
        coming = begin(0)
        for at in range(step, len(array) + step, step):
            stream.synchronize()
            here = coming
            if at < len(array):
                coming = begin(at)
            yield here
    finally:
        stream.synchronize()  # before others get the pinned memory


def fetch_all(array: cupy.ndarray) -> Array:
    """Copy a CuPy array to a new NumPy array, on several threads if it is large."""
    if array.nbytes < _STAGED:
        fetched: Array = array.get()
        return fetched
    flat, staging, step = array.reshape(-1), Staging(array.device), STAGED_BYTES // array.itemsize
    there = np.empty(array.size, array.dtype)

    def copy(begin: int) -> None:
        there[begin : begin + step] = staging.fetch(flat[begin : begin + step])

    over_items(range(0, array.size, step), copy)
    return there.reshape(array.shape)


def put(arrays: Sequence[Any], memory: ArcMemory) -> cupy.ndarray:
    """Concatenate NumPy or CuPy arrays of one type in a new CuPy array in this memory."""
    first, ends = arrays[0], [*accumulate(map(len, arrays), initial=0)]
    if memory == "device":
        if is_cupy_array(first):
            return first.copy() if len(arrays) == 1 else cupy.concatenate(arrays)
        return _staged(arrays, ends)
    copy, pinned = pinned_array(ends[-1], first.dtype)
    for array, (begin, end) in zip(arrays, pairwise(ends), strict=True):
        if is_cupy_array(array):
            array.get(out=pinned[begin:end])
        else:
            np.copyto(pinned[begin:end], array)
    return copy


def with_arcs_in(memory: ArcMemory, graph: Graph) -> Graph:
    """A graph, of NumPy's arrays or CuPy's, on the current GPU: its arcs copied to this memory, all else to the GPU's own.

    What was derived from it is not kept.
    """

    def placed(csr: Csr) -> Csr:
        weights = None if csr.weights is None else put([csr.weights], memory)
        return Csr(cupy.asarray(csr.offsets), put([csr.indices], memory), weights)

    out = placed(graph.out)
    ids, rows_by_id = cupy.asarray(graph.ids), cupy.asarray(graph.rows_by_id)
    return Graph(ids, rows_by_id, out, out if graph.symmetric else placed(graph.into), graph.directed)


def zeros(length: int, dtype: Any, memory: ArcMemory) -> cupy.ndarray:
    """A CuPy array of zeros in this memory."""
    if memory == "device":
        return cupy.zeros(length, dtype)
    array, pinned = pinned_array(length, np.dtype(dtype))
    pinned[:] = 0
    return array


def pinned_array(length: int, dtype: np.dtype[Any]) -> tuple[cupy.ndarray, Array]:
    """New pinned memory as a CuPy array and as a NumPy array; it is freed with the CuPy array."""
    size = max(length * dtype.itemsize, 1)
    memory = allocate_pinned(cupy.cuda.PinnedMemory, size)  # not from CuPy's pool, which rounds up to a power of two
    owner = cupy.cuda.UnownedMemory(memory.ptr, size, memory, cupy.cuda.Device().id)
    array = cupy.ndarray((length,), dtype, cupy.cuda.MemoryPointer(owner, 0))
    return array, np.frombuffer(cupy.cuda.PinnedMemoryPointer(memory, 0), dtype, length)


class _View:
    """Pinned memory of a CuPy array, which it keeps alive, in NumPy's interface."""

    def __init__(self, array: cupy.ndarray) -> None:
        self._array = array
        place = array.data.ptr, False
        self.__array_interface__ = {"version": 3, "shape": array.shape, "typestr": array.dtype.str, "data": place}


def in_host_memory(array: Array) -> Array:
    """A CuPy array in pinned memory as a NumPy array, without a copy; any other array is returned unchanged."""
    if not is_cupy_array(array) or memory_of(array) != "host":
        return array
    pinned: cupy.ndarray = array
    with pinned.device:
        cupy.cuda.get_current_stream().synchronize()  # kernels that write it may have been launched only
    return np.asarray(_View(pinned))


def arcs_on_host(csr: Csr) -> Csr:
    """A CSR of NumPy arrays; arcs in pinned memory are not copied."""
    weights = None if csr.weights is None else to_host(in_host_memory(csr.weights))
    return Csr(to_host(csr.offsets), to_host(in_host_memory(csr.indices)), weights)


def memory_of(array: cupy.ndarray) -> ArcMemory:
    """The memory of a CuPy array."""
    kind = cupy.cuda.runtime.pointerGetAttributes(array.data.ptr).type if len(array) else None
    return "host" if kind == cupy.cuda.runtime.memoryTypeHost else "device"


def _staged(arrays: Sequence[Array], ends: Sequence[int]) -> cupy.ndarray:
    """Copy arrays in this machine's memory, which may be maps of files, to the current GPU; array i to `ends[i]:ends[i + 1]`."""
    dtype = arrays[0].dtype
    if ends[-1] * dtype.itemsize < _STAGED:
        return cupy.asarray(arrays[0] if len(arrays) == 1 else np.concatenate(arrays))
    target, staging = cupy.empty(ends[-1], dtype), Staging(cupy.cuda.Device())
    step = STAGED_BYTES // dtype.itemsize

    def copy(chunk: tuple[Array, int, int]) -> None:
        array, first, begin = chunk
        values = array[begin : begin + step]
        staging.copy(values, target[first + begin : first + begin + len(values)])

    chunks = [(array, first, begin) for array, first in zip(arrays, ends, strict=False) for begin in range(0, len(array), step)]
    over_items(chunks, copy)
    return target
