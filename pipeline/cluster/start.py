"""The cluster of a run. Dask is imported only if the configuration asks for it, because it takes half a second."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec

from kernels.gpu.devices import device_count
from pipeline.cluster.protocol import Cluster
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig
from pipeline.runtime.backend import Backend
from pipeline.runtime.interpreter import share_environment


@contextmanager
def started(config: ClusterConfig, backend: Backend) -> Iterator[Cluster]:
    """Start the cluster of a run; it is closed however the run ends.

    Raises:
        ClusterLost: No scheduler answers at the address, or it has no worker, within the deadline.
        BadConfig: As `require_startable`, or a TLS file cannot be read.
    """
    if config.scheduler == "none":
        yield LocalThreads(config.shards)
        return
    require_startable(config, backend)
    share_environment()
    from pipeline.cluster.fork_server import fork_server, forks_workers

    with fork_server() if forks_workers(config, backend) else nullcontext():  # it imports Dask while this process does
        from pipeline.cluster.dask.client import connected
        from pipeline.cluster.dask.workers import Workers

        with connected(config, backend) as client:
            yield Workers(client, config)


def require_startable(config: ClusterConfig, backend: Backend) -> None:
    """Raise BadConfig if Dask-CUDA is not installed, or there are fewer GPUs than local workers that need one."""
    if config.scheduler != "local" or backend == "cpu":
        return
    if find_spec("dask_cuda") is None:
        raise BadConfig("cluster: local workers on GPUs need Dask-CUDA (in the clone: make .venv/gpu)")
    gpus = device_count()
    if config.workers > gpus:
        raise BadConfig(f"cluster: {config.workers} local workers, but {gpus} GPUs; each worker needs one")
