"""CUDA's driver."""

from __future__ import annotations

from tests.emulator.machine.launch import PROCESSORS


def occupancyMaxActiveBlocksPerMultiprocessor(kernel, threads, shared):
    from cupy._raw import RawKernel

    return -(-RawKernel.of_pointer[kernel].emulated.resident // PROCESSORS)


def funcSetAttribute(kernel, attribute, value):
    from cupy._raw import RawKernel

    assert kernel in RawKernel.of_pointer
