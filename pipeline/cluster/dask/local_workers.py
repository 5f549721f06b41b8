"""Worker processes on this machine, over loopback and TLS: one for each core, or with Dask-CUDA one for each GPU."""

import logging
from typing import Any

from distributed import LocalCluster, Security

from kernels.cpu.parallel import cores
from kernels.gpu.devices import device_count
from pipeline.cluster.dask.dask_internals import keep_fork_server
from pipeline.cluster.fork_server import interrupts_blocked
from pipeline.cluster.worker_memory import ended_by_kernel
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import ClusterLost
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import kills

log = logging.getLogger(__name__)


def local_workers(config: ClusterConfig, backend: Backend, security: Security, folder: str) -> LocalCluster:
    """Start a scheduler and its workers; closing it ends them. All their files are in `folder`.

    A GPU worker has a GPU of its own, which is the first that it sees, one thread, and CuPy's memory pool.

    Raises:
        ClusterLost: More than `lost_workers` times a worker ended before it was ready.
    """
    common: dict[str, Any] = {
        "memory_limit": config.memory, "host": "127.0.0.1", "protocol": "tls://", "security": security,
        "local_directory": folder,
        # Dask always listens for HTTP, and any user of the machine can connect: no page is served (see also `_settings`).
        "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": None,
        # Not in a folder that other users may have made: Dask puts it into the module search path of this process.
        "scheduler_kwargs": {"local_directory": folder, "dashboard": False},
        "silence_logs": logging.CRITICAL,  # an error of a task is also raised here
    }  # fmt: skip
    if backend == "cpu":
        keep_fork_server()
        return _started(
            config, LocalCluster, n_workers=config.local_workers(cores()), threads_per_worker=config.threads, **common
        )
    from dask_cuda import LocalCUDACluster
    from dask_cuda.plugins import CUDFSetup

    class Gpus(LocalCUDACluster):  # type: ignore[misc]
        """Workers that do not import cuDF, which takes seconds and would let CuPy allocate without a pool."""

        def new_worker_spec(self) -> dict[Any, Any]:
            spec: dict[Any, Any] = super().new_worker_spec()
            for worker in spec.values():
                worker["options"]["plugins"] = {
                    plugin for plugin in worker["options"]["plugins"] if not isinstance(plugin, CUDFSetup)
                }
            return spec

    # `data`: results stay in memory, as on the CPU; Dask-CUDA would move them to disk, and inspect each for its device.
    return _started(config, Gpus, n_workers=config.local_workers(device_count()), threads_per_worker=1, data=dict, **common)


def _started(config: ClusterConfig, kind: type[LocalCluster], **options: Any) -> LocalCluster:
    """Start workers; again if one ends before it is ready: Dask closes the others and raises a RuntimeError."""
    before = kills()
    for left in reversed(range(config.lost_workers + 1)):
        try:
            with interrupts_blocked():
                return kind(**options)
        except (RuntimeError, TimeoutError) as error:
            why = f"a local worker ended before it was ready: {error}{ended_by_kernel(config, before)}"
            if left:
                log.warning("cluster: %s; all start again", why)
    raise ClusterLost(f"cluster: {config.lost_workers + 1} times {why}")
