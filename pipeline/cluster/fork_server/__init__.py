"""The process from which Dask forks local workers for the CPU: what all of them need is imported once.

It is a new interpreter with a single thread, so that its children begin in a defined state. It ends with this process.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from threading import Lock

from pipeline.cluster.fork_server.multiprocessing_internals import kill_fork_server, kill_forked, socket_in
from pipeline.cluster.loading import loaded_modules
from pipeline.config.cluster import ClusterConfig
from pipeline.runtime.backend import Backend
from pipeline.signals import braked, cleaned, undisturbed
from pipeline.store.scratch import scratch

# As Dask sets it for workers. The last line: a thread of Arrow's allocator would not be there in the workers.
_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}


class _Shared:
    """The fork server of this process, while at least one cluster uses it. Thread-safe."""

    def __init__(self) -> None:
        self._lock, self._users, self._open = Lock(), 0, ExitStack()

    def enter(self) -> None:
        """Start the fork server, unless it runs."""
        with self._lock:
            if not self._users:
                with ExitStack() as opened:
                    self._start(opened)
                    self._open = opened.pop_all()
            self._users += 1

    def leave(self) -> None:
        """End the fork server, if no other cluster uses it."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._open.close()

    def kill(self) -> None:
        """Kill what the fork server has forked, and it, if no other cluster of this process uses it. It waits for no lock."""
        if self._users == 1:
            kill_forked()

    def _start(self, opened: ExitStack) -> None:
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        folder = os.open(opened.enter_context(scratch(Path(tempfile.gettempdir()))), os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, folder)
        opened.callback(kill_fork_server)
        forkserver.set_forkserver_preload(["pipeline.cluster.fork_server.preloaded", *loaded_modules()])
        with socket_in(f"/proc/self/fd/{folder}"), interrupts_blocked():
            forkserver.ensure_running()


_SHARED = _Shared()


def forks_workers(config: ClusterConfig, backend: Backend) -> bool:
    """Whether the workers of a cluster are forked; a process that uses CUDA cannot be."""
    return config.scheduler == "local" and backend == "cpu"


@contextmanager
def fork_server() -> Iterator[None]:
    """Have a fork server until the end of the block; it starts in the background."""
    with ExitStack() as stack:
        with undisturbed():
            _SHARED.enter()
            stack.enter_context(cleaned(_SHARED.leave))
            stack.enter_context(braked(_SHARED.kill))  # also workers that are just starting
        yield


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block SIGINT and SIGHUP in processes started in the block: a terminal sends them to all, and this process ends its own."""
    resource_tracker.ensure_running()  # starting it later would unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
