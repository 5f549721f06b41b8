"""Dask's processes: local workers below this process, and separate schedulers and workers."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.flows.processes import alive, clean_environment, end, eventually

_SCHEDULER = re.compile(r"Scheduler at: +(\S+)\n")  # it takes a free port, which no other process can take first


def local_workers() -> list[psutil.Process]:
    """The worker processes below this one."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # the process may have ended
            if _is_worker(child):
                found.append(child)
    return found


def _is_worker(process: psutil.Process) -> bool:
    """Whether it was started by Dask for a GPU, or forked by the fork server."""
    parent = process.parent()
    forked = parent and all("pipeline.cluster.fork_server.preloaded" in " ".join(each.cmdline()) for each in (process, parent))
    return bool(forked) or "spawn_main" in " ".join(process.cmdline())


@dataclass
class Deployed:
    """A scheduler and workers on loopback, started as docs/clusters.md describes."""

    protocol: str
    home: Path
    options: list[str]
    environment: dict[str, str]
    scheduler: subprocess.Popen = field(init=False)
    workers: list[subprocess.Popen] = field(default_factory=list)

    def __post_init__(self):
        where = ["--protocol", self.protocol, "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        self.scheduler = self._start("scheduler", *where)
        assert eventually(lambda: _SCHEDULER.search(self._log("scheduler-0")))
        self.address = _SCHEDULER.search(self._log("scheduler-0"))[1]

    def add_worker(self) -> subprocess.Popen:
        """Start a worker with one thread and without a nanny, which would restart it."""
        host = ["--host", "127.0.0.1", "--local-directory", str(self.home)]
        self.workers.append(self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *host))
        return self.workers[-1]

    def await_workers(self) -> None:
        """Wait until all workers have registered, which takes long on a busy machine."""
        logs = [f"worker-{number}" for number in range(len(self.workers))]
        assert eventually(lambda: all("Registered to:" in self._log(name) for name in logs))

    def _start(self, what: str, *options: str) -> subprocess.Popen:
        log = (self.home / f"{what}-{len(self.workers)}.log").open("wb")
        command = [sys.executable, "-m", "dask", what, *options, *self.options]
        return subprocess.Popen(command, env=self.environment, cwd=self.home, stdout=log, stderr=log)

    def _log(self, name: str) -> str:
        return (self.home / f"{name}.log").read_text()


@contextmanager
def deployed(home: Path, workers: int, *options: str, protocol: str = "tcp") -> Iterator[Deployed]:
    """A scheduler with workers, ended at the end of the block. Every process gets `options`."""
    environment = clean_environment(home)
    try:
        found = Deployed(protocol, home, list(options), environment)
        for _ in range(workers):
            found.add_worker()
        found.await_workers()
        yield found
    finally:
        end(environment)
        assert eventually(lambda: not alive(environment))
