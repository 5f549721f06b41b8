"""The connection to Dask's scheduler, started on this machine or running at an address, and Dask's settings for faults."""

import logging
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster, Security
from distributed.versions import VersionMismatchWarning

from kernels.gpu.devices import obstacle
from pipeline.cluster.dask.dask_internals import SecurityInMemory
from pipeline.cluster.dask.local_workers import local_workers
from pipeline.cluster.fork_server import forks_workers
from pipeline.cluster.worker_memory import ended_by_kernel, out_of_memory
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.runtime.backend import Backend
from pipeline.runtime.memory import kills
from pipeline.signals import braked, cleaned, undisturbed
from pipeline.store.scratch import remove_dead, scratch

log = logging.getLogger(__name__)
DASK = version("distributed")
_CLOSE = 10.0  # seconds that workers have to end before they are killed
_END = 30.0  # seconds for a local cluster to close: Dask never returns if it restarts a worker while closing


@contextmanager
def connected(config: ClusterConfig, backend: Backend) -> Iterator[Client]:
    """Yield a client of a scheduler that has a worker; it is closed however the run ends. Raises as `started`."""
    # What fails is raised here, too, and then said in one line. After the import, which sets levels of its own.
    for name in ("distributed", "distributed.nanny.memory", "tornado"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(_settings(config, backend)))
        client = stack.enter_context(_client(config, backend))
        _require_version(client, config)
        _await_workers(client, config)
        threads: dict[str, int] = client.nthreads()
        if backend == "gpu":
            require_gpus(client)
        log.info("cluster: %d workers, %d threads", len(threads), sum(threads.values()))
        yield client


def require_gpus(client: Client) -> None:
    """Raise BadConfig, before the work begins, if kernels do not run on a worker's GPU. A worker may be lost in the meantime."""
    for worker, reason in sorted(client.run(obstacle, on_error="ignore").items()):
        if reason:
            raise BadConfig(f"cluster: worker {worker}: a GPU is requested, but {reason}")


def _require_version(client: Client, config: ClusterConfig) -> None:
    """Raise BadConfig unless the scheduler and the workers have this process's version of Dask: others speak another protocol."""
    if config.scheduler == "local":
        return
    try:
        reported: Any = client.get_versions()
        versions = {
            "the scheduler": reported["scheduler"],
            **{f"worker {name}": of for name, of in sorted(reported["workers"].items())},
        }
        theirs = {name: of["packages"]["distributed"] for name, of in versions.items() if of}
    except Exception as error:  # whatever the other version's answer causes
        raise _other_version(config, f"does not answer as that of Dask {DASK} ({type(error).__name__}: {error})") from None
    for name, has in theirs.items():
        if has != DASK:
            raise _other_version(config, f"has another version of Dask: {name} has {has}, and this run has {DASK}")


def _other_version(config: ClusterConfig, what: str) -> BadConfig:
    return BadConfig(f"cluster: the scheduler {config.scheduler} {what}; install the same version everywhere")


def _settings(config: ClusterConfig, backend: Backend) -> dict[str, Any]:
    """Dask's settings, here and in local workers. A running scheduler has its own: docs/clusters.md."""
    silence = f"{config.deadline:g}s"
    return {
        "distributed.scheduler.allowed-failures": config.lost_workers,
        "distributed.scheduler.no-workers-timeout": silence,
        "distributed.scheduler.worker-ttl": silence,
        "distributed.comm.timeouts.connect": silence,
        "distributed.comm.timeouts.tcp": silence,
        "distributed.comm.require-encryption": config.scheduler == "local" or config.scheduler.startswith("tls:"),
        # A nanny restarts its worker as long as the run lives, even one that dies repeatedly or starts slowly.
        "distributed.deploy.lost-worker-timeout": "365 days",
        "distributed.worker.multiprocessing-method": "forkserver" if forks_workers(config, backend) else "spawn",
        # A worker's memory is mapped files and arrays in use: nothing that could be spilled or that a pause would free.
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": 0.95,
        # Nobody looks at these measurements, which wake every process 150 times a second.
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.scheduler.http.routes": [],  # local workers' pages would need no password
        "distributed.worker.http.routes": [],
        "distributed.scheduler.preload": [],  # do not run code that configuration files in the home folder name
        "distributed.worker.preload": [],
        "distributed.nanny.preload": [],
    }


@contextmanager
def _client(config: ClusterConfig, backend: Backend) -> Iterator[Client]:
    security = _security(config)
    with ExitStack() as stack:
        if config.scheduler != "local":
            client = _connected(config.scheduler, config, security)
            stack.enter_context(cleaned(partial(client.close, _CLOSE)))
        else:
            remove_dead(around := Path(tempfile.gettempdir()))
            folder = stack.enter_context(scratch(around))
            with undisturbed():  # Dask cannot close what is half started
                workers = local_workers(config, backend, security, str(folder))
                stack.enter_context(braked(partial(_kill, workers)))
                stack.enter_context(cleaned(partial(_end, workers)))
                client = _connected(workers, config, security)
                stack.enter_context(cleaned(partial(client.close, _CLOSE)))
        yield client


def _connected(scheduler: str | LocalCluster, config: ClusterConfig, security: Security) -> Client:
    try:
        warnings.filterwarnings("ignore", category=VersionMismatchWarning)  # see `_require_version`
        return Client(scheduler, security=security, timeout=config.deadline, set_as_default=False)
    except OSError as error:
        raise ClusterLost(f"cluster: no scheduler answers at {config.scheduler}: {error}") from None
    except Exception as error:
        raise _other_version(config, f"does not answer as that of Dask {DASK} ({type(error).__name__}: {error})") from None


def _kill(workers: LocalCluster) -> None:
    """Kill the processes of local workers; from any thread."""
    for nanny in [*workers.workers.values()]:
        nanny.close_gracefully()  # which only keeps it from restarting the worker
        if nanny.pid:
            with suppress(ProcessLookupError):  # one that is being restarted
                os.kill(nanny.pid, signal.SIGKILL)


def _end(workers: LocalCluster) -> None:
    """Close local workers. A worker that does not end in time is ended with this process; the run does not fail for it.

    Their processes are killed: they hold nothing that is needed any more, and take seconds to end, with a GPU above all.
    """

    async def kill() -> None:
        _kill(workers)

    try:
        workers.sync(kill)
        workers.close(_END)
    except TimeoutError:
        log.warning("cluster: a worker did not end in time")


def _security(config: ClusterConfig) -> Security:
    """Both sides authenticate by a certificate. A local cluster makes its own: other users can connect to loopback, too."""
    if config.scheduler == "local":
        made: Security = SecurityInMemory.temporary()  # type: ignore[no-untyped-call]
        return made
    if config.scheduler.startswith("tcp:"):
        return Security()
    files = {"tls_ca_file": config.tls_ca, "tls_client_cert": config.tls_cert, "tls_client_key": config.tls_key}
    for path in files.values():
        if path is None or not path.is_file():
            raise BadConfig(f"cluster: {path}: no such file")
    return Security(require_encryption=True, **{name: str(path) for name, path in files.items()})


def _await_workers(client: Client, config: ClusterConfig) -> None:
    before = kills()
    try:
        client.wait_for_workers(1, timeout=config.deadline)
    except TimeoutError:
        why = out_of_memory(client, config) or ended_by_kernel(config, before)
        raise ClusterLost(f"cluster: {config.scheduler} has no worker for {config.deadline:g} s{why}") from None
