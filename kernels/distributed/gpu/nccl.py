"""A communicator between GPUs over NCCL: one process and one GPU per rank.

A collective returns only when the GPU has finished it, so that waiting for the GPU afterwards does not wait for another rank.

NumPy arrays are sent from and received in pinned memory, which the GPU reads and writes directly: reducing a flag or a count
needs no copy to the device.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from types import TracebackType
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import Communicator, Result, put
from kernels.distributed.gpu.connection import NcclConnection, library
from kernels.distributed.threads import DEADLINE
from kernels.gpu.transfer import empty_pinned
from kernels.graph import Array

_ALIGNED = 16  # bytes that NCCL moves at a time if both ends are aligned; otherwise it is slower by a third or more
_CODES = "?bBhHiIlLqQefd"  # types of arrays that can be sent, by NumPy's letters


def unique_id() -> bytes:
    """An id that all ranks of a communicator need; the rank that makes it has to live until all are connected."""
    made: bytes = library().get_unique_id()
    return made


class BetweenGpus(Communicator):
    """One rank's end, on the current GPU; a context manager, so that an error aborts collectives that peers wait for.

    Args:
        unique_id: From `unique_id`.
        deadline: Seconds that a rank waits for the others, in a collective and while connecting.
        check_peers: Raises PeerLost unless all other ranks are alive. It is called about once a second while a collective waits.

    Raises:
        PeerLost: Another rank did not call the collective within the deadline, or ended.
        RuntimeError: NCCL's error, quoted.

    Collectives run on the current stream. Parts of `exchange` and `gather` are numeric and have one dimension.
    """

    def __init__(
        self, unique_id: bytes, rank: int, size: int, deadline: float = DEADLINE, check_peers: Callable[[], None] = lambda: None
    ) -> None:
        self.rank, self.size, self.unique_id = rank, size, unique_id
        self._there = NcclConnection(unique_id, rank, size, deadline, check_peers)
        self._bytes = self._there.library.NCCL_UINT8
        self._announcement, self._announcements = _pinned((size, 2), np.int64), _pinned((size, size, 2), np.int64)

    def __enter__(self) -> "BetweenGpus":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def watch(self, check_peers: Callable[[], None]) -> None:
        """Replace the `check_peers` of the constructor."""
        self._there.check_peers = check_peers

    def close(self) -> None:
        """See `NcclConnection.close`."""
        self._there.close()

    def abort(self) -> None:
        """See `NcclConnection.abort`."""
        self._there.abort()

    def exchange(self, parts: Sequence[Array], buffers: Sequence[Array] | None = None) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        if buffers is None:
            buffers = _buffers(parts[self.rank], self._announce(parts)[:, self.rank])
        return self._swap(self._ready_for_others(parts), buffers)

    def exchange_then(self, parts: Sequence[Array], buffers: Sequence[Array], then: Callable[[], Result]) -> Result:
        """See `Communicator.exchange_then`."""
        with self._there.calling() as stream:
            received = self._receive(self._ready_for_others(parts), buffers, stream)
        self._put(received, buffers)
        result = then()
        self._there.finish()
        return result

    def gather(self, array: Array, alike: bool = False) -> list[Array]:
        """See `Communicator.gather`."""
        if alike:
            return self._all_gather(_ready(array))
        announced = self._announce([array] * self.size)[:, self.rank]
        ready = _ready(array)
        if array.nbytes % _ALIGNED or (announced != announced[0]).any():
            return self._swap([ready] * self.size, _buffers(array, announced))
        return self._all_gather(ready)

    def total(self, values: Array) -> Array:
        """See `Communicator.total`."""
        return self._fold(values, "NCCL_SUM", np.add)

    def least(self, values: Array) -> Array:
        """See `Communicator.least`."""
        return self._fold(values, "NCCL_MIN", np.minimum)

    def most(self, values: Array) -> Array:
        """See `Communicator.most`."""
        return self._fold(values, "NCCL_MAX", np.maximum)

    def _fold(self, values: Array, operation: str, function: np.ufunc) -> Array:
        """Reduce integers by NCCL; floats, whose sum depends on the order, are gathered and reduced in rank order."""
        if values.dtype.kind not in "iu" or values.dtype.itemsize == 2:
            folded: Array = reduce(function, self._all_gather(_ready(values)))
            return folded
        numbers = self._there.library
        of_type = getattr(numbers, f"NCCL_{'U' * (values.dtype.kind == 'u')}INT{8 * values.dtype.itemsize}")
        sent = _ready(values)
        received = _empty_like(sent, sent.shape)
        with self._there.finishing() as stream:
            pointers = _address(sent), _address(received)
            self._there.nccl.allReduce(*pointers, sent.size, of_type, getattr(numbers, operation), stream)
        return _unpinned(received)

    def _all_gather(self, sent: Array) -> list[Array]:
        """Gather `_ready` arrays of one shape and type."""
        received = _empty_like(sent, (self.size, *sent.shape))
        with self._there.finishing() as stream:
            self._there.nccl.allGather(_address(sent), _address(received), sent.nbytes, self._bytes, stream)
        received = _unpinned(received)
        return [received[rank, ...] for rank in range(self.size)]

    def _announce(self, parts: Sequence[Array]) -> Array:
        """Gather the lengths and types of all parts: int64[size, size, 2], by sender and receiver."""
        for rank, part in enumerate(parts):
            if part.ndim != 1 or part.dtype.char not in _CODES:
                raise TypeError(f"an array of {part.ndim} dimensions and type {part.dtype}, not a numeric array of one dimension")
            self._announcement[rank] = len(part), _CODES.index(part.dtype.char)
        with self._there.finishing() as stream:
            self._there.nccl.allGather(
                _address(self._announcement), _address(self._announcements), self._announcement.nbytes, self._bytes, stream
            )
        return self._announcements.copy()

    def _ready_for_others(self, parts: Sequence[Array]) -> list[Array]:
        return [part if rank == self.rank else _ready(part) for rank, part in enumerate(parts)]

    def _swap(self, parts: Sequence[Array], buffers: Sequence[Array]) -> list[Array]:
        """Send parts, all `_ready` except the own one, and receive into the buffers."""
        received = [parts[rank] if rank == self.rank else buffer for rank, buffer in enumerate(buffers)]
        if any(array.nbytes for rank, array in enumerate([*parts, *buffers]) if rank % self.size != self.rank):
            with self._there.finishing() as stream:
                received = self._receive(parts, buffers, stream)
        self._put(received, buffers)
        return list(buffers)

    def _receive(self, parts: Sequence[Array], buffers: Sequence[Array], stream: int) -> list[Array]:
        """Launch sends and receives; return the arrays that will hold the parts, in rank order, with the own part as it is."""
        received = [parts[rank] if rank == self.rank else _landing(buffer) for rank, buffer in enumerate(buffers)]
        others = [rank for rank in range(self.size) if rank != self.rank]
        with self._there.grouped():
            for rank in others:
                if parts[rank].nbytes:
                    self._there.nccl.send(_address(parts[rank]), parts[rank].nbytes, self._bytes, rank, stream)
            for rank in others:
                if buffers[rank].nbytes:
                    self._there.nccl.recv(_address(received[rank]), received[rank].nbytes, self._bytes, rank, stream)
        return received

    def _put(self, received: Sequence[Array], buffers: Sequence[Array]) -> None:
        for part, buffer in zip(received, buffers, strict=True):
            if part is not buffer and (part.nbytes or buffer.nbytes):
                put(part, buffer)


def _buffers(like: Array, announced: Array) -> list[Array]:
    """Buffers for announced parts: int64[size, 2], by sender."""
    return [np.empty(length, _CODES[code], like=like) for length, code in announced.tolist()]


def _pinned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array in pinned memory. CuPy's pool reuses a block only for the same size, so sizes are powers of two."""
    size = prod(shape) * np.dtype(dtype).itemsize
    block = empty_pinned(1 << (size - 1).bit_length(), np.uint8) if size else np.empty(0, np.uint8)
    made: Array = block[:size].view(dtype).reshape(shape)
    return made


def _empty_like(array: Array, shape: tuple[int, ...]) -> Array:
    """An array that the GPU can write to, of the kind and type of `array`."""
    if not is_cupy_array(array):
        return _pinned(shape, array.dtype)
    import cupy

    made: Array = cupy.empty(shape, array.dtype)
    return made


def _landing(buffer: Array) -> Array:
    """The buffer itself if NCCL can write to it at full speed, otherwise a temporary array."""
    fast = is_cupy_array(buffer) and buffer.flags.c_contiguous and _address(buffer) % _ALIGNED == 0
    return buffer if fast else _empty_like(buffer, buffer.shape)


def _ready(array: Array) -> Array:
    """The array itself if NCCL can read it at full speed, otherwise a copy."""
    if not is_cupy_array(array):
        pinned = _pinned(array.shape, array.dtype)
        pinned[...] = array
        return pinned
    import cupy

    array = cupy.ascontiguousarray(array)
    return array if _address(array) % _ALIGNED == 0 else array.copy()


def _unpinned(array: Array) -> Array:
    """The same CuPy array, or a NumPy copy that does not hold pinned memory."""
    return array if is_cupy_array(array) else array.copy()


def _address(array: Any) -> int:
    return int(array.data.ptr if is_cupy_array(array) else array.ctypes.data)
