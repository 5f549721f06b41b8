"""Devices, streams and memory. Kernels and copies are synchronous; only NCCL uses streams."""

from __future__ import annotations

from typing import ClassVar

from cupy._memory import Memory as Memory
from cupy._memory import MemoryHook as MemoryHook
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
from tests.emulator.machine.launch import ARCHITECTURE, PROCESSORS
from tests.sharded.fake_nccl import Event as Event
from tests.sharded.fake_nccl import Stream as Stream
from tests.sharded.fake_nccl import current_stream

PinnedMemoryPointer = pinned_memory_pointer
get_current_stream = current_stream


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


def is_available():
    return True
