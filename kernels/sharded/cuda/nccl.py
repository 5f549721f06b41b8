"""A communicator between GPUs over NCCL: one rank a process, one GPU a rank.

NCCL's kernels spin on their GPU until the other ranks come, and whoever waits for the GPU meanwhile waits for the others, too.
So a collective returns only when the GPU has finished it, and waits in a loop that can be given up.

Arrays of NumPy lie in pinned memory while they are sent, where the GPU reads and writes them itself: a flag or a count of all
ranks costs no copy.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache, reduce
from threading import Thread
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np

from kernels.backend import is_cupy_array
from kernels.graph import Array
from kernels.sharded.communicator import PeerLost
from kernels.sharded.threads import DEADLINE

Result = TypeVar("Result")
_ALIGNED = 16  # bytes that NCCL moves at a time where both ends are aligned; else it is slower by a third and more
_SPIN = 0.005  # seconds for which a core looks at the GPU all the time: a sleep costs 60 us at the least
_PAUSE = 0.002  # seconds, the longest sleep
_LOOK = 1.0  # seconds between two questions whether the others are alive
_GRACE = 2.0  # seconds that a collective has to end by itself after a peer did: its own part of it may be done
_CLOSING = 10.0  # seconds that NCCL has to give up; it may hang itself
_OURS = {1, 4, 5}  # what NCCL blames this process for: CUDA, an argument, its use; the rest comes from the others
_CODES = "?bBhHiIlLqQefd"  # types of which an array may be, by NumPy's letters


@cache
def library() -> Any:
    """CuPy's module of NCCL. Raises RuntimeError where NCCL is not installed.

    NVLink's multicast stays off, since not every host has it set up. Rings and trees are connected at the start and not at their
    first use, where a peer that hangs would keep the caller in NCCL.
    """
    os.environ |= {"NCCL_NVLS_ENABLE": "0", "NCCL_RUNTIME_CONNECT": "0"}
    from cupy.cuda import nccl

    if not nccl.available:
        raise RuntimeError("NCCL is not installed (pip install 'graphmill[gpu]')")
    return nccl


def unique_id() -> bytes:
    """What all ranks of a communicator have to be given; made by one of them, which has to live until all are connected."""
    made: bytes = library().get_unique_id()
    return made


class BetweenGpus:
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
        import cupy

        self.rank, self.size, self.unique_id, self.look = rank, size, unique_id, look
        self._name, self._deadline = f"rank {rank}", deadline
        self._lib = library()
        self._nccl: Any = None
        self._device = cupy.cuda.Device()
        self._finished = cupy.cuda.Event(disable_timing=True)
        self._lost: str | None = None
        self._say, self._heard = _pinned((size, 2), np.int64), _pinned((size, size, 2), np.int64)
        connected = self._aside(lambda: self._connect(unique_id))
        with self._calls():
            self._await(connected.done)
            connected.result()

    def __enter__(self) -> BetweenGpus:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def close(self) -> None:
        """Give back what NCCL holds; all ranks do, when all have ended their last collective."""
        if self._lost is None:
            self._lost = f"{self._name}: closed"
            self._end(self._nccl.destroy)

    def abort(self) -> None:
        """End what runs on the GPU, and take part in nothing any more; the other ranks find that out by `look`."""
        if self._lost is None:
            self._give_up(f"{self._name}: given up here")

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """See `Communicator.exchange`."""
        if len(parts) != self.size:
            raise ValueError(f"{len(parts)} parts for {self.size} ranks")
        return self._swap([_ready(part) for part in parts], self._announce(parts)[:, self.rank])

    def gather(self, array: Array) -> list[Array]:
        """See `Communicator.gather`."""
        announced = self._announce([array] * self.size)[:, self.rank]
        ready = _ready(array)
        if array.nbytes % _ALIGNED or (announced != announced[0]).any():
            return self._swap([ready] * self.size, announced)
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
        of_type = getattr(self._lib, f"NCCL_{'U' * (values.dtype.kind == 'u')}INT{8 * values.dtype.itemsize}")
        sent = _ready(values)
        received = _empty_like(sent, sent.shape)
        with self._finishing() as stream:
            self._nccl.allReduce(_address(sent), _address(received), sent.size, of_type, getattr(self._lib, operation), stream)
        return _own(received)

    def _all_gather(self, sent: Array) -> list[Array]:
        """All ranks' arrays of one shape and type, which is `_ready`."""
        received = _empty_like(sent, (self.size, *sent.shape))
        with self._finishing() as stream:
            self._nccl.allGather(_address(sent), _address(received), sent.nbytes, self._lib.NCCL_UINT8, stream)
        received = _own(received)
        return [received[rank, ...] for rank in range(self.size)]

    def _announce(self, parts: Sequence[Array]) -> Array:
        """Length and type of what each rank sends to each: int64[size, size, 2], by sender and receiver."""
        for rank, part in enumerate(parts):
            if part.ndim != 1 or part.dtype.char not in _CODES:
                raise TypeError(f"an array of {part.ndim} dimensions and type {part.dtype}, where one of numbers is sent")
            self._say[rank] = len(part), _CODES.index(part.dtype.char)
        with self._finishing() as stream:
            self._nccl.allGather(_address(self._say), _address(self._heard), self._say.nbytes, self._lib.NCCL_UINT8, stream)
        return self._heard.copy()

    def _swap(self, parts: Sequence[Array], announced: Array) -> list[Array]:
        """Send parts that are `_ready`, and receive what is announced: int64[size, 2], by sender."""
        received = [_empty_like(parts[self.rank], (length,), np.dtype(_CODES[code])) for length, code in announced.tolist()]
        received[self.rank][:] = parts[self.rank]
        others = [rank for rank in range(self.size) if rank != self.rank]
        with self._finishing() as stream, self._grouped():
            for rank in others:
                if parts[rank].nbytes:
                    self._nccl.send(_address(parts[rank]), parts[rank].nbytes, self._lib.NCCL_UINT8, rank, stream)
                if received[rank].nbytes:
                    self._nccl.recv(_address(received[rank]), received[rank].nbytes, self._lib.NCCL_UINT8, rank, stream)
        return [_own(part) for part in received]

    def _connect(self, unique_id: bytes) -> None:
        """Connect all ranks, each with each; a later call then waits for nobody on the host."""
        import cupy

        self._nccl = self._lib.NcclCommunicator(self.size, unique_id, self.rank)
        if self._lost is not None:  # too late
            self._nccl.abort()
            return
        with cupy.cuda.Stream(non_blocking=True) as stream:
            received, sent = _pinned((self.size,), np.uint8), _pinned((1,), np.uint8)
            with self._grouped():
                for rank in range(self.size):
                    self._nccl.send(_address(sent), 1, self._lib.NCCL_UINT8, rank, stream.ptr)
                    self._nccl.recv(_address(received[rank:]), 1, self._lib.NCCL_UINT8, rank, stream.ptr)
            stream.synchronize()

    @contextmanager
    def _grouped(self) -> Iterator[None]:
        self._lib.groupStart()
        try:
            yield
        finally:
            self._lib.groupEnd()

    @contextmanager
    def _finishing(self) -> Iterator[int]:
        """Lend the current stream for calls of NCCL, and return when the GPU has done what they ask for."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        with self._calls():
            yield stream.ptr
            self._finished.record(stream)
            self._await(lambda: self._finished.done)

    @contextmanager
    def _calls(self) -> Iterator[None]:
        """Give up what NCCL refuses, with its own words."""
        if self._lost is not None:
            raise PeerLost(self._lost)
        try:
            yield
        except (self._lib.NcclError, KeyError) as error:  # a KeyError is a status that CuPy has no name for
            message = f"{self._name}: {error}: {_last_words()}"
            if getattr(error, "status", None) in _OURS:
                self._give_up(message)
                raise RuntimeError(self._lost) from None
            self._lose(message)

    def _await(self, done: Callable[[], bool]) -> None:
        """Return when `done`. Raises PeerLost; NCCL's error, where it found one by itself."""
        begun = looked = time.monotonic()
        gone, why = float("inf"), ""
        while not done():
            now = time.monotonic()
            if now - begun < _SPIN:
                os.sched_yield()
                continue
            if self._nccl is not None:
                self._nccl.check_async_error()
            if now - gone > _GRACE:
                self._lose(why)
            if now - begun > self._deadline:
                self._lose(f"{self._name}: another rank did not come within {self._deadline:g} s")
            if now - looked > _LOOK and not why:
                try:
                    self.look()
                except PeerLost as lost:
                    gone, why = time.monotonic(), str(lost)
                looked = time.monotonic()
            time.sleep(min((now - begun) / 10, _PAUSE))

    def _lose(self, why: str) -> NoReturn:
        self._give_up(why)
        raise PeerLost(self._lost)

    def _give_up(self, why: str) -> None:
        self._lost = why
        if self._nccl is not None:
            self._end(self._nccl.abort)

    def _end(self, how: Callable[[], None]) -> None:
        with suppress(TimeoutError):
            self._aside(how).exception(_CLOSING)

    def _aside(self, work: Callable[[], Result]) -> Future[Result]:
        """Start work that may never come back, on a thread that nobody waits for at the end of the process."""
        result: Future[Result] = Future()

        def run() -> None:
            try:
                with self._device:
                    result.set_result(work())
            except BaseException as error:
                result.set_exception(error)

        Thread(target=run, daemon=True).start()
        return result


def _pinned(shape: tuple[int, ...], dtype: Any) -> Array:
    import cupyx

    made: Array = cupyx.empty_pinned(shape, dtype) if 0 not in shape else np.empty(shape, dtype)
    return made


def _empty_like(array: Array, shape: tuple[int, ...], dtype: Any = None) -> Array:
    """An array where the GPU may write, of the kind that `array` is of."""
    if not is_cupy_array(array):
        return _pinned(shape, dtype or array.dtype)
    import cupy

    made: Array = cupy.empty(shape, dtype or array.dtype)
    return made


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


def _last_words() -> str:
    """What NCCL last complained of, which CuPy's errors do not say. The library is loaded, so its name finds it."""
    last_error = ctypes.CDLL("libnccl.so.2").ncclGetLastError
    last_error.argtypes, last_error.restype = [ctypes.c_void_p], ctypes.c_char_p
    return (last_error(None) or b"").decode(errors="replace")
