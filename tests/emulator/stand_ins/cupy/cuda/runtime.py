"""CUDA's runtime."""

import ctypes
import os
from types import SimpleNamespace

from cupy._memory import PinnedMemory
from tests.emulator.machine.architectures import CURRENT, GPUS

memoryTypeHost, memoryTypeDevice = 1, 2
memcpyDeviceToHost = 2
_ERRORS = {
    1: "cudaErrorInvalidValue: invalid argument",
    2: "cudaErrorMemoryAllocation: out of memory",
    101: "cudaErrorInvalidDevice: invalid device ordinal",
}


class CUDARuntimeError(RuntimeError):
    """An error of the runtime, by its number."""

    def __init__(self, status: int):
        super().__init__(_ERRORS[status])
        self.status = status


def getDeviceCount():
    return len(GPUS)


def getDevice():
    return CURRENT.number


def getDeviceProperties(device):
    major, minor = GPUS[device].capability.split(".")
    return {"name": b"emulated", "major": int(major), "minor": int(minor), "sharedMemPerBlockOptin": GPUS[device].block_bytes}


def runtimeGetVersion():
    return 13000


def driverGetVersion():
    return 13000


def memGetInfo():
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def pointerGetAttributes(place):
    pinned = any(begin <= place < begin + size for begin, size in list(PinnedMemory.places.items()))
    return SimpleNamespace(type=memoryTypeHost if pinned else memoryTypeDevice)


def deviceSynchronize():
    pass


def streamSynchronize(stream):
    pass


def memcpyAsync(dst, src, size, kind, stream):
    ctypes.memmove(dst, src, size)
