"""The commands of section "Several hosts" of docs/clusters.md on three virtual hosts; one is disconnected during a run."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from pipeline.config.loading import load_run
from pipeline.run import run
from pipeline.steps.publication.publish import open_run
from pipeline.tables import files as tables
from tests.cluster.hosts import Host, three_hosts, why_not
from tests.flows.networks import CROSSINGS, road_run
from tests.flows.processes import ROOT, clean_environment, eventually
from tests.flows.terminal import Terminal, make_clone
from tests.project.docs import below

PAGE, SECTION = ROOT / "docs" / "clusters.md", "Several hosts"
CERTIFICATES, ENVIRONMENT, SCHEDULER, WORKER = below(PAGE, SECTION, "bash")
(CLUSTER,) = below(PAGE, SECTION, "toml")
DEADLINE = 12
NEW_YORK, ROME = "USA-road-d.NY.gr.gz", "rome99.gr.gz"
END = 900.0  # seconds for a run on a busy machine


def nightly(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test as too slow to run for every change."""
    return pytest.mark.nightly(pytest.mark.timeout(3600)(test))


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
            pytest.fail(f"{self.file}: still running after {END:g} s\n{self.log.read_text()}")


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


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    if reason := why_not():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("three")
    with three_hosts(folder, clean_environment(folder)) as hosts:
        yield Three(hosts, folder)


@pytest.fixture
def three(started):
    """All three hosts connected, whatever the previous test did."""
    started.repair()
    return started


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


def test_a_client_without_a_certificate_of_the_authority_is_refused(three):
    assert [host.listens_on() for host in three.hosts] == [{host.address, "127.0.0.1"} for host in three.hosts]
    scheduler, ca = f"{three.first.address}:8786", three.first.folder / "ca.pem"
    asked = three.second.start(f"openssl s_client -tls1_2 -connect {scheduler} -CAfile {ca} -verify_return_error", ROOT)
    assert asked.wait() == 1
    assert "Verify return code: 0 (ok)" in three.second.log() and "alert handshake failure" in three.second.log()

    stranger = three.folder / "stranger"
    stranger.mkdir()
    certify(three.folder / "other authority", {three.first.address: stranger})
    refused = three.begin("refused", ROME, ["wcc"], 0, tls=stranger)
    assert refused.ended() == 1
    assert f"no scheduler answers at tls://{scheduler}" in refused.log.read_text()


def test_tables_are_right_even_if_the_host_of_a_shard_is_disconnected(three):
    for attempt in range(5):  # a busy machine may stop this process until the tables are written
        found = three.begin(f"shards-{attempt}", ROME, ["sssp"], 8, shards=3)
        if three.cut_off_third_during(found):
            break
    when(lambda: "all ranks start again" in found.log.read_text(), found)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
def test_tables_are_right_even_if_a_host_that_writes_them_is_disconnected(three):
    found = three.begin("many", NEW_YORK, ["bfs"], 30)
    when(lambda: writing(three.third), found)
    three.cut_off(three.third)
    when(lambda: "Remove worker" in three.first.log(), found)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
def test_a_reconnected_host_works_again(three):
    found = three.begin("back", ROME, ["wcc", "mst"], 0, shards=2)
    assert found.ended() == 0
    assert files(found.output) == without_a_cluster(found)


@nightly
@pytest.mark.parametrize("shards", [0, 3])
def test_the_loss_of_all_workers_is_one_error(shards, three):
    found = three.begin(f"lost-{shards}", NEW_YORK, ["bfs"], 30, shards)
    when(lambda: "graph: " in found.log.read_text(), found)
    three.cut_off(three.first)
    assert found.ended() == 1
    last = found.log.read_text().splitlines()[-1]
    assert last == f"graphmill: cluster: the scheduler tls://10.0.0.5:8786 had no worker for {DEADLINE} s"
    assert not (found.output / "latest").exists()


@nightly
def test_a_deployment_runs_on_the_hosts(three, tmp_path):
    clone = make_clone(tmp_path / "clone")
    shutil.copytree(ROOT / "conf", clone / "conf")  # the deployments are checked with their runs
    settings = three.cluster(three.first.folder, shards=2)
    road_run(clone / "conf" / "runs", "new-york-on-hosts", settings=settings)
    environment = clean_environment(clone / ".prefect") | {"PREFECT_WORKER_QUERY_SECONDS": "1"}
    del environment["PYTHONPATH"]  # the deployments must find the clone themselves
    terminal = Terminal(clone, environment, within=("ip", "netns", "exec", three.first.name))
    for heading in ("The environment of every terminal", "Server", "Work pool, deployments, worker"):
        terminal.run(heading)
    terminal.run(SECTION, "console", PAGE)
    published = open_run(clone / "conf" / "runs" / "out-new-york-on-hosts" / "latest")
    assert tables.read(published.path / "wcc").num_rows == CROSSINGS
    assert published.facts["steps"]["wcc"]["shards"] == 2
    terminal.run("Stop")
    terminal.shell.stdin.close()
    assert terminal.shell.wait() == 0
