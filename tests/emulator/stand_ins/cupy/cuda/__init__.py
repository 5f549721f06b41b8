"""Devices, streams and memory. Kernels and copies are synchronous; only NCCL uses streams."""

from cupy._memory import Memory as Memory
from cupy._memory import MemoryHook as MemoryHook
from cupy._memory import MemoryPointer as MemoryPointer
from cupy._memory import MemoryPool as MemoryPool
from cupy._memory import PinnedMemory as PinnedMemory
from cupy._memory import UnownedMemory as UnownedMemory
from cupy._memory import alloc as alloc
from cupy._memory import default_pinned_pool, pinned_memory_pointer
from cupy._memory import set_allocator as set_allocator
from cupy._memory import using_allocator as using_allocator
from cupy.cuda import driver as driver
from cupy.cuda import nccl as nccl
from cupy.cuda import runtime as runtime
from tests.emulator.machine.architectures import CURRENT, GPUS, PROCESSORS
from tests.sharded.fake_nccl import Event as Event
from tests.sharded.fake_nccl import Stream as Stream
from tests.sharded.fake_nccl import current_stream

PinnedMemoryPointer = pinned_memory_pointer


def alloc_pinned_memory(size):
    return pinned_memory_pointer(default_pinned_pool.malloc(size), 0)


get_current_stream = current_stream


class Device:
    """A GPU, the current one by default; a context manager."""

    def __init__(self, device=None):
        self.id = CURRENT.number if device is None else int(device)
        if self.id >= len(GPUS):
            raise runtime.CUDARuntimeError(101)
        self.compute_capability = GPUS[self.id].capability.replace(".", "")
        self.attributes = {"MultiProcessorCount": PROCESSORS, "MaxThreadsPerMultiProcessor": GPUS[self.id].threads}
        self._before = []

    def use(self):
        CURRENT.number = self.id

    def synchronize(self):
        pass

    def __enter__(self):
        self._before.append(CURRENT.number)
        self.use()
        return self

    def __exit__(self, *error):
        CURRENT.number = self._before.pop()

    def __int__(self):
        return self.id

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return self.id


def is_available():
    return True
