"""A fake of CuPy's NCCL, as far as `kernels.distributed.gpu.nccl` calls it, between threads and in host memory.

The emulated GPU (tests/emulator) uses these streams, events and communicators.

As in NCCL, a call only enqueues work on a stream, which runs it in order and waits for the other ranks. Aborting a communicator
ends its work and leaves the receive buffers undefined.
"""

import ctypes
import queue
import sys
import threading
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import ClassVar
from uuid import uuid4

import numpy as np
import pytest

from kernels.distributed.gpu import connection

TYPES = {name: number for number, name in enumerate(("INT8", "UINT8", "INT32", "UINT32", "INT64", "UINT64"))}
OPERATIONS = {0: np.add, 2: np.maximum, 3: np.minimum}
_channels: dict[tuple, queue.Queue] = defaultdict(queue.Queue)  # by unique id, sender and receiver
_streams: "dict[int, Stream]" = {}
_stream_ids = count(1)  # `next` is atomic; ranks create streams concurrently
_of_thread = threading.local()


class NcclError(RuntimeError):
    def __init__(self, status: int):
        self.status = status
        super().__init__(f"status {status}")


class Stream:
    """A thread that runs its work in order."""

    def __init__(self, non_blocking: bool = False):
        self.ptr = next(_stream_ids)
        self._work = ThreadPoolExecutor(1)
        _streams[self.ptr] = self

    def submit(self, work) -> Future:
        return self._work.submit(work)

    def synchronize(self) -> None:
        self.submit(lambda: None).result()

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        pass


class Event:
    def __init__(self, disable_timing: bool):
        self._reached: Future | None = None

    def record(self, stream: Stream) -> None:
        self._reached = stream.submit(lambda: None)

    @property
    def done(self) -> bool:
        return self._reached.done()


def current_stream() -> Stream:
    if not hasattr(_of_thread, "stream"):
        _of_thread.stream = Stream()
    return _of_thread.stream


class NcclCommunicator:
    """Raises `fail` at the next call, and `fail_later` in `check_async_error`."""

    made: ClassVar[list["NcclCommunicator"]] = []
    fail: Exception | None = None
    fail_later: Exception | None = None

    def __init__(self, size: int, unique_id: bytes, rank: int):
        self.size, self.rank, self._id = size, rank, unique_id
        self.ended = threading.Event()
        self.end = ""
        for other in range(size):  # blocks until all ranks have joined
            self._channel(rank, other).put(b"here")
        for other in range(size):
            self._take(other)
        NcclCommunicator.made.append(self)

    def allGather(self, sent: int, received: int, count: int, dtype: int, stream: int) -> None:
        self._start(stream, lambda: self._all(sent, count, lambda rank, data: _write(received + rank * count, data)))

    def allReduce(self, sent: int, received: int, count: int, dtype: int, operation: int, stream: int) -> None:
        of_type = np.dtype(list(TYPES)[dtype].lower())
        found = []

        def add(rank: int, data: bytes) -> None:
            found.append(np.frombuffer(data, of_type))
            if rank == self.size - 1:
                _write(received, OPERATIONS[operation].reduce(found, dtype=of_type).tobytes())

        self._start(stream, lambda: self._all(sent, count * of_type.itemsize, add))

    def send(self, sent: int, count: int, dtype: int, peer: int, stream: int) -> None:
        assert count
        self._start(stream, lambda: self._channel(self.rank, peer).put(ctypes.string_at(sent, count)))

    def recv(self, received: int, count: int, dtype: int, peer: int, stream: int) -> None:
        assert count

        def take() -> None:
            data = self._take(peer)
            assert data is None or len(data) == count
            _write(received, data or b"")

        later = lambda: self._start(stream, take)  # noqa: E731  (a group sends first)
        _of_thread.group.append(later)

    def check_async_error(self) -> None:
        if self.fail_later:
            raise self.fail_later

    def destroy(self) -> None:
        self.end = "destroyed"

    def abort(self) -> None:
        self.end = "aborted"
        self.ended.set()

    def _start(self, stream: int, work) -> None:
        if self.fail:
            raise self.fail
        _streams[stream].submit(work)

    def _all(self, sent: int, count: int, take) -> None:
        for other in range(self.size):
            self._channel(self.rank, other).put(ctypes.string_at(sent, count))
        for other in range(self.size):
            data = self._take(other)
            if data is not None:
                take(other, data)

    def _take(self, sender: int) -> bytes | None:
        while not self.ended.is_set():
            try:
                return self._channel(sender, self.rank).get(timeout=0.01)
            except queue.Empty:
                pass
        return None

    def _channel(self, sender: int, receiver: int) -> queue.Queue:
        return _channels[self._id, sender, receiver]


def _write(address: int, data: bytes) -> None:
    ctypes.memmove(address, data, len(data))


def _group_start() -> None:
    _of_thread.group = []


def _group_end() -> None:
    for call in _of_thread.group:
        call()


def library() -> SimpleNamespace:
    """The contents of `cupy.cuda.nccl`."""
    return SimpleNamespace(
        available=True, get_unique_id=lambda: uuid4().bytes, NcclError=NcclError, NcclCommunicator=NcclCommunicator,
        groupStart=_group_start, groupEnd=_group_end,
        NCCL_SUM=0, NCCL_MAX=2, NCCL_MIN=3, **{f"NCCL_{name}": number for name, number in TYPES.items()},
    )  # fmt: skip


def install(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Replace CuPy by this fake; its `available` says whether NCCL is installed, as CuPy's does."""
    nccl = library()
    cupy = ModuleType("cupy")
    cupy.cuda = SimpleNamespace(
        nccl=nccl,
        Stream=Stream,
        Event=Event,
        Device=nullcontext,
        get_current_stream=current_stream,
        alloc_pinned_memory=bytearray,
    )
    for name, module in {"cupy": cupy, "cupy.cuda": cupy.cuda, "cupy.cuda.nccl": nccl}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(connection, "_last_words", lambda: "the cable is cut")
    monkeypatch.setattr(NcclCommunicator, "made", [])
    connection.library.cache_clear()
    return nccl
