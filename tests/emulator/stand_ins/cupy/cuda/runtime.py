"""CUDA's runtime."""

from __future__ import annotations

import os
from types import SimpleNamespace

from cupy._memory import PinnedMemory

memoryTypeHost, memoryTypeDevice = 1, 2


class CUDARuntimeError(RuntimeError):
    pass


def getDeviceCount():
    return 1


def getDevice():
    return 0


def getDeviceProperties(device):
    return {"name": b"emulated"}


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
