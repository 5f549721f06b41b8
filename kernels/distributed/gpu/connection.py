"""A connection of GPUs by NCCL; waiting ends if another rank is lost.

NCCL's kernels spin on their GPU until the other ranks have launched theirs, so that waiting for the GPU also waits for the other
ranks. The GPU is therefore polled in a loop that can be abandoned, and calls that may never return run on a daemon thread.
"""

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn, TypeVar

import numpy as np

from kernels.distributed.communicator import PeerLost
from kernels.distributed.threads import on_daemon_thread
from kernels.gpu.transfer import empty_pinned

Result = TypeVar("Result")
_SPIN = 0.1  # seconds of polling the GPU without a pause, as CUDA does: a sleep of any length costs 60 us more
_PAUSE = 0.001  # seconds between two polls after that
_CHECK = 1.0  # seconds between two checks whether the other ranks are alive
_GRACE = 2.0  # seconds that a collective may still take after a peer ended, which may have done its part of it
_CLOSING = 10.0  # seconds to wait until NCCL has aborted, which may hang itself
_OURS = {1, 4, 5}  # NCCL's errors that this process causes: CUDA, an argument, incorrect use
_REMOTE = 6  # NCCL's error for a peer that ended; any other may be this machine's, such as a full /dev/shm, or a lost peer's


@cache
def library() -> Any:
    """CuPy's module of NCCL. Raises RuntimeError if NCCL is not installed.

    NVLink's multicast is disabled, because not every host has it configured. Rings and trees are connected at the start and not
    at their first use, where a peer that hangs would keep the caller inside NCCL.
    """
    os.environ |= {"NCCL_NVLS_ENABLE": "0", "NCCL_RUNTIME_CONNECT": "0"}
    from cupy.cuda import nccl

    if not nccl.available:
        raise RuntimeError("NCCL is not installed (in the clone: make .venv/gpu)")
    return nccl


class NcclConnection:
    """One rank's end, on the current GPU.

    Args:
        unique_id, rank, size, deadline, check_peers: See `kernels.distributed.gpu.nccl.BetweenGpus`.

    Attributes:
        library (module): CuPy's, with the constants of NCCL's types and operations.
        nccl: To be called only inside `finishing` or `calling`.
    """

    def __init__(self, unique_id: bytes, rank: int, size: int, deadline: float, check_peers: Callable[[], None]) -> None:
        import cupy

        self.rank, self.size, self.check_peers = rank, size, check_peers
        self.library = library()
        self.nccl: Any = None
        self._name, self._deadline = f"rank {rank}", deadline
        self._device = cupy.cuda.Device()
        self._finished = cupy.cuda.Event(disable_timing=True)
        self._lost: str | None = None
        connected = self._aside(lambda: self._connect(unique_id))
        with self._calls():
            self._await(connected.done)
            connected.result()

    def close(self) -> None:
        """Free NCCL's resources; all ranks call this after their last collective."""
        if self._lost is None:
            self._lost = f"{self._name}: closed"
            self._end(self.nccl.destroy)

    def abort(self) -> None:
        """Abort the collectives on the GPU and refuse further ones; the other ranks detect that by `check_peers`."""
        if self._lost is None:
            self._give_up(f"{self._name}: aborted here")

    @contextmanager
    def finishing(self) -> Iterator[int]:
        """Yield the current stream for NCCL calls, and return when the GPU has completed them."""
        with self.calling() as stream:
            yield stream
        self.finish()

    @contextmanager
    def calling(self) -> Iterator[int]:
        """Yield the current stream for NCCL calls without waiting for them: `finish` has to follow."""
        import cupy

        with self._calls():
            yield cupy.cuda.get_current_stream().ptr

    def finish(self) -> None:
        """Return when the GPU has completed all launches on the current stream."""
        import cupy

        with self._calls():
            self._finished.record(cupy.cuda.get_current_stream())
            self._await(lambda: self._finished.done)

    @contextmanager
    def grouped(self) -> Iterator[None]:
        """Group NCCL calls into one operation."""
        self.library.groupStart()
        try:
            yield
        finally:
            self.library.groupEnd()

    def _connect(self, unique_id: bytes) -> None:
        """Connect every pair of ranks, so that later calls do not wait for other ranks on the host."""
        import cupy

        self.nccl = self.library.NcclCommunicator(self.size, unique_id, self.rank)
        if self._lost is not None:  # the deadline has passed meanwhile
            self.nccl.abort()
            return
        with cupy.cuda.Stream(non_blocking=True) as stream:
            byte_of_each = empty_pinned(self.size + 1, np.uint8)
            received = byte_of_each.ctypes.data
            sent = received + self.size
            with self.grouped():
                for rank in range(self.size):
                    self.nccl.send(sent, 1, self.library.NCCL_UINT8, rank, stream.ptr)
                    self.nccl.recv(received + rank, 1, self.library.NCCL_UINT8, rank, stream.ptr)
            stream.synchronize()

    @contextmanager
    def _calls(self) -> Iterator[None]:
        """Abort after an NCCL error, and raise an error that quotes it."""
        if self._lost is not None:
            raise PeerLost(self._lost)
        try:
            yield
        except (self.library.NcclError, KeyError) as error:  # a KeyError is a status without a name in CuPy
            message = f"{self._name}: {error}: {_last_words()}"
            status = getattr(error, "status", error.args[0])
            if status == _REMOTE or (status not in _OURS and self._loses_peer()):
                self._lose(message)
            self._give_up(message)
            raise RuntimeError(message) from None

    def _await(self, done: Callable[[], bool]) -> None:
        """Return when `done` is true. Raises PeerLost, or NCCL's asynchronous error."""
        begun = checked = time.monotonic()
        gone, why = float("inf"), ""
        while not done():
            now = time.monotonic()
            if now - begun < _SPIN:
                os.sched_yield()
                continue
            if self.nccl is not None:
                self.nccl.check_async_error()
            if now - gone > _GRACE:
                self._lose(why)
            if now - begun > self._deadline:
                self._lose(f"{self._name}: another rank did not come within {self._deadline:g} s")
            if now - checked > _CHECK and not why:
                try:
                    self.check_peers()
                except PeerLost as lost:
                    gone, why = time.monotonic(), str(lost)
                checked = time.monotonic()
            time.sleep(_PAUSE)

    def _loses_peer(self) -> bool:
        """Whether a peer is found to be lost within the time in which the loss of one shows."""
        until = time.monotonic() + _GRACE
        while True:
            try:
                self.check_peers()
            except PeerLost:
                return True
            if time.monotonic() > until:
                return False
            time.sleep(_GRACE / 10)

    def _lose(self, why: str) -> NoReturn:
        self._give_up(why)
        raise PeerLost(self._lost)

    def _give_up(self, why: str) -> None:
        self._lost = why
        if self.nccl is not None:
            self._end(self.nccl.abort)

    def _end(self, how: Callable[[], None]) -> None:
        with suppress(TimeoutError):
            self._aside(how).exception(_CLOSING)

    def _aside(self, work: Callable[[], Result]) -> Future[Result]:
        """Start work that may never return."""

        def run() -> Result:
            with self._device:
                return work()

        return on_daemon_thread(run)


def _last_words() -> str:
    """NCCL's last error message, which CuPy's errors do not include. The library is loaded, so its name finds it."""
    last_error = ctypes.CDLL("libnccl.so.2").ncclGetLastError
    last_error.argtypes, last_error.restype = [ctypes.c_void_p], ctypes.c_char_p
    return (last_error(None) or b"").decode(errors="replace")
