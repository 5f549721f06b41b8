"""Teams of blocks that can access each other's shared memory (cluster.cuh), as large as the device grants."""

from functools import cache
from typing import Any, NamedTuple

from kernels.gpu.loader import Macro, kernel_of, spare_shared

CLUSTER_BLOCKS = (16, 8)  # of a team, the largest that the device runs; the CUDA sources need a power of two, at most 16
_NON_PORTABLE_CLUSTER = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: more than eight blocks


class TeamKernel(NamedTuple):
    """A kernel whose blocks form `teams` clusters of `blocks` at a time."""

    kernel: Any
    blocks: int
    teams: int


@cache
def team_kernel(source: str, name: str, threads: int, device: int, shared: int, **macros: Macro) -> TeamKernel | None:
    """Kernel `name` of `kernels/SOURCE`, compiled for the largest cluster that `device` runs.

    A block has `threads` threads and `shared` bytes of dynamic shared memory. None if the device has no clusters, or not for
    blocks of this size: a part of a GPU (MIG) may have fewer multiprocessors than the whole, and a cluster must fit in one group
    of them.
    """
    import cupy

    if int(cupy.cuda.Device(device).compute_capability) < 90:
        return None
    for blocks in CLUSTER_BLOCKS:
        if shared <= spare_shared(source, name, device, TEAM_BLOCKS=blocks, **macros):
            kernel = kernel_of(source, name, device, shared, TEAM_BLOCKS=blocks, **macros)
            if teams := _active_clusters(kernel.kernel.ptr, blocks, threads, shared):
                return TeamKernel(kernel, blocks, teams)
    return None


def _active_clusters(kernel: int, blocks: int, threads: int, shared: int) -> int:
    """How many clusters of the kernel the current device runs at a time; 0 if it refuses their size."""
    import cupy
    from cuda.bindings import driver

    try:
        if blocks > CLUSTER_BLOCKS[-1]:
            cupy.cuda.driver.funcSetAttribute(kernel, _NON_PORTABLE_CLUSTER, 1)
    except cupy.cuda.driver.CUDADriverError:
        return 0
    launch = driver.CUlaunchConfig()
    launch.gridDimX, launch.gridDimY, launch.gridDimZ = blocks, 1, 1
    launch.blockDimX, launch.blockDimY, launch.blockDimZ = threads, 1, 1
    launch.sharedMemBytes = shared
    error, teams = driver.cuOccupancyMaxActiveClusters(driver.CUfunction(kernel), launch)
    return int(teams) if error == driver.CUresult.CUDA_SUCCESS else 0
