"""Devices, streams and memory. Whatever a stream is given is done when the call returns."""

from __future__ import annotations

import itertools
import threading
from typing import ClassVar

from cupy._memory import Memory as Memory
from cupy._memory import MemoryPointer as MemoryPointer
from cupy._memory import MemoryPool as MemoryPool
from cupy._memory import PinnedMemory as PinnedMemory
from cupy._memory import UnownedMemory as UnownedMemory
from cupy._memory import alloc as alloc
from cupy._memory import pinned_memory_pointer
from cupy._memory import set_allocator as set_allocator
from cupy._memory import using_allocator as using_allocator
from cupy.cuda import driver as driver
from cupy.cuda import nccl as nccl
from cupy.cuda import runtime as runtime
from tests.emulator.machine import ARCHITECTURE, PROCESSORS

PinnedMemoryPointer = pinned_memory_pointer
_of_thread = threading.local()
_pointers = itertools.count(1)


class Device:
    """The one GPU; a context manager."""

    def __init__(self, device=0):
        self.id = int(device)
        if self.id:
            raise runtime.CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")

    compute_capability = str(ARCHITECTURE)
    attributes: ClassVar = {"MultiProcessorCount": PROCESSORS, "MaxThreadsPerMultiProcessor": 2048}

    def use(self):
        pass

    def synchronize(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id


class Stream:
    """A stream; as a context manager it is the thread's current one."""

    null: Stream

    def __init__(self, null=False, non_blocking=False, ptds=False):
        self.ptr = 0 if null else next(_pointers)

    def synchronize(self):
        pass

    def use(self):
        _of_thread.stream = self
        return self

    def __enter__(self):
        self._before = get_current_stream()
        return self.use()

    def __exit__(self, *error):
        self._before.use()


Stream.null = Stream(null=True)


def get_current_stream():
    return getattr(_of_thread, "stream", Stream.null)


class Event:
    """A point of a stream that has been reached."""

    done = True

    def __init__(self, block=False, disable_timing=False, interprocess=False):
        pass

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass


def is_available():
    return True
