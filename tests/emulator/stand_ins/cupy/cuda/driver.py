"""CUDA's driver."""

from tests.emulator.machine.architectures import current

_NON_PORTABLE_CLUSTER = 14


class CUDADriverError(RuntimeError):
    pass


def kernel_at(pointer):
    from cupy._raw import RawKernel

    return RawKernel.of_pointer[pointer]


def occupancyMaxActiveBlocksPerMultiprocessor(kernel, threads, shared):
    return kernel_at(kernel).emulated.per_processor(threads, shared)


def funcSetAttribute(kernel, attribute, value):
    assert (attribute, value) == (_NON_PORTABLE_CLUSTER, 1)
    kernel_at(kernel).most_cluster = current().cluster
