"""The cluster of a run. Dask is imported only if the configuration asks for it, because it takes a second to load."""

from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.cluster.protocol import Cluster
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime.backend import Backend


@contextmanager
def started(config: ClusterConfig, backend: Backend) -> Iterator[Cluster]:
    """Start the cluster of a run; it is closed however the run ends.

    Raises:
        ClusterLost: No scheduler answers at the address, or it has no worker, within the deadline.
        BadConfig: There is no GPU for a local worker, or a TLS file cannot be read.
    """
    if config.scheduler == "none":
        yield LocalThreads(config.shards)
        return
    from pipeline.cluster.dask.client import connected
    from pipeline.cluster.dask.workers import Workers

    with connected(config, backend) as client:
        yield Workers(client, config)
