"""A connection of GPUs by NCCL that is never waited for in vain.

NCCL's kernels spin on their GPU until the other ranks come, and whoever waits for the GPU meanwhile waits for the others, too.
So the GPU is looked at in a loop that can be given up, and what may not come back runs on a thread that nobody waits for.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from threading import Thread
from typing import Any, NoReturn, TypeVar

import numpy as np

from kernels.distributed.communicator import PeerLost

Result = TypeVar("Result")
_SPIN = 0.1  # seconds for which a core looks at the GPU all the time, as CUDA does: a sleep of any length costs 60 us more
_PAUSE = 0.001  # seconds between two looks after that
_LOOK = 1.0  # seconds between two questions whether the others are alive
_GRACE = 2.0  # seconds that a collective has to end by itself after a peer did: its own part of it may be done
_CLOSING = 10.0  # seconds that NCCL has to give up; it may hang itself
_OURS = {1, 4, 5}  # what NCCL blames this process for: CUDA, an argument, its use; the rest comes from the others


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


class Connection:
    """One rank's end, on the GPU that is current.

    Parameters
    ----------
    unique_id, rank, size, deadline, look
        See `kernels.distributed.gpu.nccl.BetweenGpus`.

    Attributes
    ----------
    library : module
        CuPy's, with the numbers of NCCL's types and operations.
    nccl : cupy.cuda.nccl.NcclCommunicator
        To be called inside `finishing` or `calling` alone.
    """

    def __init__(self, unique_id: bytes, rank: int, size: int, deadline: float, look: Callable[[], None]) -> None:
        import cupy

        self.rank, self.size, self.look = rank, size, look
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
        """Give back what NCCL holds; all ranks do, when all have ended their last collective."""
        if self._lost is None:
            self._lost = f"{self._name}: closed"
            self._end(self.nccl.destroy)

    def abort(self) -> None:
        """End what runs on the GPU, and take part in nothing any more; the other ranks find that out by `look`."""
        if self._lost is None:
            self._give_up(f"{self._name}: given up here")

    @contextmanager
    def finishing(self) -> Iterator[int]:
        """Lend the current stream for calls of NCCL, and return when the GPU has done what they ask for."""
        with self.calling() as stream:
            yield stream
        self.finish()

    @contextmanager
    def calling(self) -> Iterator[int]:
        """Lend the current stream for calls of NCCL alone: `finish` has to follow."""
        import cupy

        with self._calls():
            yield cupy.cuda.get_current_stream().ptr

    def finish(self) -> None:
        """Return when the GPU has done what was launched on the current stream."""
        import cupy

        with self._calls():
            self._finished.record(cupy.cuda.get_current_stream())
            self._await(lambda: self._finished.done)

    @contextmanager
    def grouped(self) -> Iterator[None]:
        """Let calls of NCCL run as one."""
        self.library.groupStart()
        try:
            yield
        finally:
            self.library.groupEnd()

    def _connect(self, unique_id: bytes) -> None:
        """Connect all ranks, each with each; a later call then waits for nobody on the host."""
        import cupy
        import cupyx

        self.nccl = self.library.NcclCommunicator(self.size, unique_id, self.rank)
        if self._lost is not None:  # too late
            self.nccl.abort()
            return
        with cupy.cuda.Stream(non_blocking=True) as stream:
            byte_of_each = cupyx.empty_pinned(self.size + 1, np.uint8)
            received = byte_of_each.ctypes.data
            sent = received + self.size
            with self.grouped():
                for rank in range(self.size):
                    self.nccl.send(sent, 1, self.library.NCCL_UINT8, rank, stream.ptr)
                    self.nccl.recv(received + rank, 1, self.library.NCCL_UINT8, rank, stream.ptr)
            stream.synchronize()

    @contextmanager
    def _calls(self) -> Iterator[None]:
        """Give up what NCCL refuses, with its own words."""
        if self._lost is not None:
            raise PeerLost(self._lost)
        try:
            yield
        except (self.library.NcclError, KeyError) as error:  # a KeyError is a status that CuPy has no name for
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
            if self.nccl is not None:
                self.nccl.check_async_error()
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
            time.sleep(_PAUSE)

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


def _last_words() -> str:
    """What NCCL last complained of, which CuPy's errors do not say. The library is loaded, so its name finds it."""
    last_error = ctypes.CDLL("libnccl.so.2").ncclGetLastError
    last_error.argtypes, last_error.restype = [ctypes.c_void_p], ctypes.c_char_p
    return (last_error(None) or b"").decode(errors="replace")
