"""The example of section "Several hosts" of docs/clusters.md on three virtual hosts of this machine, which take root.

    python -m tests.cluster.faults.three    (make three-hosts)

starts it, with a worker on each host, runs all stages of a graph in three shards, of which no host holds a half, disconnects a
host while a table is written, and compares the tables with those of a run without a cluster.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from kernels.registry import ALGORITHMS
from pipeline.config.loading import load_run
from pipeline.run import run
from tests.cluster.hosts import Host, three_hosts, why_not
from tests.flows.processes import ROOT, clean_environment, eventually
from tests.project.docs import below

PAGE, SECTION = ROOT / "docs" / "clusters.md", "Several hosts"
CERTIFICATES, ENVIRONMENT, SCHEDULER, WORKER = below(PAGE, SECTION, "bash")
(CLUSTER,) = below(PAGE, SECTION, "toml")
DEADLINE = 12
NEW_YORK, ROME = "USA-road-d.NY.gr.gz", "rome99.gr.gz"
END = 900.0  # seconds for a run on a busy machine
# Those for which no rank holds the whole graph
STAGES = [stage.name for stage in ALGORITHMS if stage.sharded_solver and not stage.shares_searches]


class Three:
    """The hosts with a scheduler on the first and workers on the others, started by the page's commands."""

    def __init__(self, hosts: list[Host], folder: Path):
        self.first, self.second, self.third = self.hosts = hosts
        self.folder, self.cut = folder, set()
        certify(folder / "authority", {host.address: host.folder for host in hosts})
        self.first.start(as_here(ENVIRONMENT + SCHEDULER, self.first), ROOT)
        for host in (self.second, self.third):
            self.add_worker(host)

    def add_worker(self, host: Host) -> None:
        log = self.first.logs[0]
        before = log.read_text().count("Register worker")
        host.start(as_here(ENVIRONMENT + WORKER, host), ROOT)
        assert eventually(lambda: log.read_text().count("Register worker") > before), host.log()

    def cut_off(self, host: Host) -> None:
        """Disconnect a host from the others."""
        host.disconnect()
        self.cut |= {host.address}

    def cut_off_third_during(self, run: "Run") -> bool:
        """Disconnect the third host while a table is written; return false if the run ends before that."""
        while run.process.poll() is None:
            if self._write():
                with stopped(self.third):  # without it the run cannot end
                    if self._write():
                        self.cut_off(self.third)
                        return True
            time.sleep(0.02)
        return False

    def _write(self) -> bool:
        return bool(writing(self.second) + writing(self.third))

    def repair(self) -> None:
        """Reconnect all hosts. Workers that lost their scheduler end by themselves and are started again."""
        workers = (self.second, self.third)
        lost = [host for host in workers if {host.address, self.first.address} & self.cut]
        assert eventually(lambda: not any(host.processes() for host in lost))
        for host in self.hosts:
            host.reconnect()
        for host in lost:
            self.add_worker(host)
        self.cut = set()

    def cluster(self, tls: Path, shards: int = 0) -> str:
        """The page's [cluster] table for a run's configuration."""
        return CLUSTER.replace("/etc/graphmill", str(tls)) + f"shards = {shards}\ndeadline = {DEADLINE}\n"

    def begin(self, name: str, graph: str, stages: list[str], sources: int, shards: int = 0, tls: Path | None = None) -> "Run":
        """Begin `graphmill run` on the first host."""
        file = self.folder / f"{name}.toml"
        file.write_text(
            f'graph = {{source = "{ROOT}/data/{graph}"}}\noutput = "{name}"\n'
            f"stages = {stages}\nsources = {list(range(1, sources + 1))}\n" + self.cluster(tls or self.first.folder, shards)
        )
        return Run(file, self.first.start(f"{ROOT}/.venv/bin/graphmill run {file}", ROOT), self.first.logs[-1])


class Run:
    """A run that was started on a host."""

    def __init__(self, file: Path, process: subprocess.Popen, log: Path):
        self.file, self.process, self.log = file, process, log
        self.output = file.with_suffix("")

    def ended(self) -> int:
        """Wait for the end of the run and return its exit code."""
        try:
            return self.process.wait(END)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.file}: still running after {END:g} s\n{self.log.read_text()}") from None


def certify(folder: Path, to: dict[str, Path]) -> None:
    """Create an authority and certificates in `folder`; copy those of each address to its folder."""
    folder.mkdir()
    subprocess.run(["bash", "-euo", "pipefail", "-c", CERTIFICATES], cwd=folder, check=True, capture_output=True)
    for address, other in to.items():
        shutil.copy(folder / "ca.pem", other)
        for kind in ("pem", "key"):
            shutil.copy(folder / f"{address}.{kind}", other / f"host.{kind}")
        assert (other / "host.key").stat().st_mode & 0o077 == 0


def as_here(command: str, host: Host) -> str:
    """The page's command with the host's folder, a shorter timeout and one thread."""
    return (
        command.replace("/etc/graphmill", str(host.folder)).replace("60s", f"{DEADLINE}s").replace("--nthreads 8", "--nthreads 1")
    )


def writing(host: Host) -> list[Path]:
    """The table files that the host's processes have open."""
    found = []
    for number in host.processes():
        with suppress(psutil.Error):
            found += [Path(file.path) for file in psutil.Process(number).open_files() if "/attempts/" in file.path]
    return found


@contextmanager
def stopped(host: Host) -> Iterator[None]:
    """Stop the host's processes during the block."""
    processes = [psutil.Process(number) for number in host.processes()]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    yield
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def when(holds: Callable[[], object], run: Run) -> None:
    """Poll until the condition holds, which it does before the run ends."""
    ended = False
    while not holds():
        assert not ended, run.log.read_text()
        time.sleep(0.02)
        ended = run.process.poll() is not None


def without_a_cluster(of: Run) -> dict[str, bytes]:
    """The same run's tables, computed by the threads of this process."""
    output = of.output.with_suffix(".here")
    run(load_run(of.file, {"cluster": {"scheduler": "none", "shards": 0}}, output=output))
    return files(output)


def files(output: Path) -> dict[str, bytes]:
    """The published tables."""
    found = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in sorted(output.glob("latest/*/*.parquet"))}
    assert found
    return found


def main() -> None:
    """Run the example; exit with 1 if a table differs."""
    if reason := why_not():
        sys.exit(f"three-hosts: {reason}")
    with tempfile.TemporaryDirectory() as name, three_hosts(Path(name), clean_environment(Path(name))) as hosts:
        example(Three(hosts, Path(name)))


def example(three: Three) -> None:
    """Run all stages over the hosts, one of which is disconnected, and compare their tables."""
    three.add_worker(three.first)
    print(
        f"three hosts, {', '.join(host.address for host in three.hosts)}: a scheduler on the first, a worker on each", flush=True
    )
    found = three.begin("all", ROME, STAGES, 2, shards=3)
    lost = three.cut_off_third_during(found)
    if lost:
        print(f"{three.third.address} was disconnected while a table was written", flush=True)
    status = found.ended()
    print(found.log.read_text(), flush=True)
    assert not status, f"the run ended with {status}"
    assert not lost or "all ranks start again" in found.log.read_text(), "a host was lost, and no stage started again"
    equal = files(found.output) == without_a_cluster(found)
    assert equal, "the tables differ from those of a run without a cluster"
    print(f"{len(files(found.output))} files of {len(STAGES)} stages are those of a run without a cluster")


if __name__ == "__main__":
    main()
