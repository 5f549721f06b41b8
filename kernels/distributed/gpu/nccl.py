"""A communicator between GPUs over NCCL: one rank a process, one GPU a rank.

A collective returns only when the GPU has finished it: whoever waits for the GPU afterwards does not wait for another rank.

Arrays of NumPy lie in pinned memory while they are sent, where the GPU reads and writes them itself: a flag or a count of all
ranks costs no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from types import TracebackType
from typing import Any

import numpy as np

from kernels.arrays import is_cupy_array
from kernels.distributed.communicator import Communicator, Result, put
from kernels.distributed.gpu.connection import Connection, library
from kernels.distributed.threads import DEADLINE
from kernels.graph import Array

_ALIGNED = 16  # bytes that NCCL moves at a time where both ends are aligned; else it is slower by a third and more
_CODES = "?bBhHiIlLqQefd"  # types of which an array may be, by NumPy's letters


def unique_id() -> bytes:
    """What all ranks of a communicator have to be given; made by one of them, which has to live until all are connected."""
    made: bytes = library().get_unique_id()
    return made


class BetweenGpus(Communicator):
    """One rank's end, on the GPU that is current; a context manager, so that an error gives up what the others wait for.

    Parameters
    ----------
    unique_id : bytes
        That of `unique_id`.
    rank, size : int
    deadline : float
        Seconds that a rank waits in a collective, and for the connection, for the others.
    look : callable
        Raises PeerLost unless all other ranks still take part. It is called about once a second while a collective waits.

    Raises
    ------
    PeerLost
        Another rank did not come within the deadline, or is gone.
    RuntimeError
        NCCL refuses: its own words.

    Notes
    -----
    Collectives run on the current stream. Parts of `exchange` and `gather` have one dimension and are of numbers.
    """

    def __init__(
        self, unique_id: bytes, rank: int, size: int, deadline: float = DEADLINE, look: Callable[[], None] = lambda: None
    ) -> None:
        self.rank, self.size, self.unique_id = rank, size, unique_id
        self._there = Connection(unique_id, rank, size, deadline, look)
        self._bytes = self._there.library.NCCL_UINT8
        self._say, self._heard = _pinned((size, 2), np.int64), _pinned((size, size, 2), np.int64)

    def __enter__(self) -> BetweenGpus:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def ask(self, look: Callable[[], None]) -> None:
        """Ask `look` from now on."""
        self._there.look = look

    def close(self) -> None:
        """See `Connection.close`."""
        self._there.close()

    def abort(self) -> None:
        """See `Connection.abort`."""
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
        """Whole numbers by NCCL; the others, whose sum depends on its order, one rank after the other here."""
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
        return _own(received)

    def _all_gather(self, sent: Array) -> list[Array]:
        """All ranks' arrays of one shape and type, which is `_ready`."""
        received = _empty_like(sent, (self.size, *sent.shape))
        with self._there.finishing() as stream:
            self._there.nccl.allGather(_address(sent), _address(received), sent.nbytes, self._bytes, stream)
        received = _own(received)
        return [received[rank, ...] for rank in range(self.size)]

    def _announce(self, parts: Sequence[Array]) -> Array:
        """Length and type of what each rank sends to each: int64[size, size, 2], by sender and receiver."""
        for rank, part in enumerate(parts):
            if part.ndim != 1 or part.dtype.char not in _CODES:
                raise TypeError(f"an array of {part.ndim} dimensions and type {part.dtype}, where one of numbers is sent")
            self._say[rank] = len(part), _CODES.index(part.dtype.char)
        with self._there.finishing() as stream:
            self._there.nccl.allGather(_address(self._say), _address(self._heard), self._say.nbytes, self._bytes, stream)
        return self._heard.copy()

    def _ready_for_others(self, parts: Sequence[Array]) -> list[Array]:
        return [part if rank == self.rank else _ready(part) for rank, part in enumerate(parts)]

    def _swap(self, parts: Sequence[Array], buffers: Sequence[Array]) -> list[Array]:
        """Send parts that are `_ready` but for the own one, and receive what has buffers."""
        received = [parts[rank] if rank == self.rank else place for rank, place in enumerate(buffers)]
        if any(array.nbytes for rank, array in enumerate([*parts, *buffers]) if rank % self.size != self.rank):
            with self._there.finishing() as stream:
                received = self._receive(parts, buffers, stream)
        self._put(received, buffers)
        return list(buffers)

    def _receive(self, parts: Sequence[Array], buffers: Sequence[Array], stream: int) -> list[Array]:
        """Launch the sending and receiving; return what is there when that is done, in rank order: the own part is as it is."""
        received = [parts[rank] if rank == self.rank else _landing(place) for rank, place in enumerate(buffers)]
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
        for part, place in zip(received, buffers, strict=True):
            if part is not place and (part.nbytes or place.nbytes):
                put(part, place)


def _buffers(like: Array, announced: Array) -> list[Array]:
    """Room for what is announced: int64[size, 2], by sender."""
    return [np.empty(length, _CODES[code], like=like) for length, code in announced.tolist()]


def _pinned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array in pinned memory. CuPy's pool gives a block again for the same size alone, so these are powers of two."""
    import cupyx

    size = prod(shape) * np.dtype(dtype).itemsize
    block = cupyx.empty_pinned(1 << (size - 1).bit_length(), np.uint8) if size else np.empty(0, np.uint8)
    made: Array = block[:size].view(dtype).reshape(shape)
    return made


def _empty_like(array: Array, shape: tuple[int, ...]) -> Array:
    """An array where the GPU may write, of the kind and type that `array` is of."""
    if not is_cupy_array(array):
        return _pinned(shape, array.dtype)
    import cupy

    made: Array = cupy.empty(shape, array.dtype)
    return made


def _landing(buffers: Array) -> Array:
    """Where NCCL writes what has this buffers, and writes it fast: there, or aside."""
    fast = is_cupy_array(buffers) and buffers.flags.c_contiguous and buffers.data.ptr % _ALIGNED == 0
    return buffers if fast else _empty_like(buffers, buffers.shape)


def _ready(array: Array) -> Array:
    """The same array where NCCL reads it, and reads it fast."""
    if not is_cupy_array(array):
        pinned = _pinned(array.shape, array.dtype)
        pinned[...] = array
        return pinned
    import cupy

    array = cupy.ascontiguousarray(array)
    return array if array.data.ptr % _ALIGNED == 0 else array.copy()


def _own(array: Array) -> Array:
    """The same array, and for NumPy's one that keeps no pinned memory."""
    return array if is_cupy_array(array) else array.copy()


def _address(array: Array) -> int:
    return int(array.data.ptr if is_cupy_array(array) else array.ctypes.data)
