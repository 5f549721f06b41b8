"""CUDA's driver, in the form of cuda-bindings: functions return an error first."""

from enum import Enum
from types import SimpleNamespace

from cupy.cuda.driver import kernel_at


class CUresult(Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912


CUlaunchConfig, CUfunction = SimpleNamespace, int


def cuOccupancyMaxActiveClusters(kernel, launch):
    found = kernel_at(kernel)
    if found.emulated.cluster > found.most_cluster:
        return CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE, 0
    threads = launch.blockDimX * launch.blockDimY * launch.blockDimZ
    return CUresult.CUDA_SUCCESS, found.emulated.clusters(threads, launch.sharedMemBytes, found.most_cluster)
