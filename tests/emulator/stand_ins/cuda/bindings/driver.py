"""CUDA's driver, in the form of cuda-bindings: functions return an error first."""

from enum import Enum
from types import SimpleNamespace

from cupy.cuda.driver import kernel_at
from cupy.cuda.runtime import memGetInfo

from tests.emulator.machine.architectures import CURRENT, GPUS


class CUresult(Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912


class CUdevice_attribute(Enum):
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76


CUlaunchConfig, CUfunction = SimpleNamespace, int


def cuOccupancyMaxActiveClusters(kernel, launch):
    found = kernel_at(kernel)
    if found.emulated.cluster > found.most_cluster:
        return CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE, 0
    threads = launch.blockDimX * launch.blockDimY * launch.blockDimZ
    return CUresult.CUDA_SUCCESS, found.emulated.clusters(threads, launch.sharedMemBytes, found.most_cluster)


def cuInit(flags):
    return (CUresult.CUDA_SUCCESS,)


def cuDevicePrimaryCtxRetain(device):
    return CUresult.CUDA_SUCCESS, device


def cuDriverGetVersion():
    return CUresult.CUDA_SUCCESS, 13000


def cuDeviceGetCount():
    return CUresult.CUDA_SUCCESS, len(GPUS)


def cuCtxGetDevice():
    return CUresult.CUDA_SUCCESS, CURRENT.number


def cuDeviceTotalMem(device):
    return CUresult.CUDA_SUCCESS, memGetInfo()[1]


def cuDeviceGetName(length, device):
    return CUresult.CUDA_SUCCESS, b"emulated".ljust(length, b"\0")


def cuDeviceGetAttribute(attribute, device):
    major, minor = GPUS[device].capability.split(".")
    return CUresult.CUDA_SUCCESS, int(major if attribute.name.endswith("MAJOR") else minor)
