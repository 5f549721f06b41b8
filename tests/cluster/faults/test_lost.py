"""Workers and schedulers that die, hang or are missing: the right answer after a retry, or one clear error in time."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from distributed import Security

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import DeadlyWrites, results
from tests.cluster.processes import deployed, local_workers
from tests.flows.processes import eventually

DEADLINE = 12.0
MARGIN = 15.0  # for the poll under way and for closing
# What the fork server's Python loads first. Each file of the folder stands for a death: a worker removes one, and is killed.
DIE_AT_START = """
import os, signal, sys

def die():
    for name in os.listdir(os.environ["DEATHS"]):
        if name.startswith("death-"):
            os.unlink(os.path.join(os.environ["DEATHS"], name))
            os.kill(os.getpid(), signal.SIGKILL)

if any("forkserver" in word for word in sys.orig_argv):
    os.register_at_fork(after_in_child=die)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(5, marks=pytest.mark.nightly)])
def test_a_table_is_right_even_if_workers_are_killed(kills, grid, tmp_path):
    sources = list(range(1, 240_000 * kills, 160_000))
    (tmp_path / "here").mkdir()
    expected = run_stage(grid, "bfs", sources, Runtime(tmp_path / "here"))
    config = ClusterConfig(scheduler="local", workers=2, lost_workers=kills)
    with started(config, "cpu") as cluster:
        deadly = DeadlyWrites(cluster, tmp_path / "deaths", kills)
        found = run_stage(grid, "bfs", sources, Runtime(tmp_path, cluster=deadly))
        assert prove(grid, found, False, Runtime(tmp_path, cluster=cluster)).facts["holds"]
    assert deadly.left == 0
    assert found.manifest.files == expected.manifest.files
    assert not local_workers()


def test_a_task_that_kills_every_worker_is_one_error(small, tmp_path):
    config = ClusterConfig(scheduler="local", workers=2, lost_workers=1)
    with started(config, "cpu") as cluster:
        with pytest.raises(ClusterLost, match=r"^cluster: one task lost 2 workers$"):
            results(cluster, worker_tasks.die, [tmp_path / "deaths"], "cpu")
        assert len((tmp_path / "deaths").read_text().split()) == 2
        assert len(results(cluster, partial(worker_tasks.where, small), range(4), "cpu")) == 4  # other tasks still run


@pytest.mark.parametrize(("deaths", "ending"), [(1, "started"), (2, "ClusterLost: cluster: 2 times a local worker ended before")])
def test_a_worker_that_is_killed_while_it_starts_is_replaced(deaths, ending, caplog, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(DIE_AT_START)
    for number in range(deaths):
        (tmp_path / f"death-{number}").touch()
    monkeypatch.setenv("DEATHS", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    try:
        with started(ClusterConfig(scheduler="local", workers=1, lost_workers=1), "cpu"):
            found = "started"
    except ClusterLost as lost:
        found = f"ClusterLost: {lost}"
    assert found.startswith(ending)
    assert not list(tmp_path.glob("death-*"))
    assert "a local worker ended before it was ready" in caplog.text
    assert not local_workers()


def test_a_task_of_a_hanging_worker_is_given_to_another(small, tmp_path):
    with started(ClusterConfig(scheduler="local", workers=2, deadline=DEADLINE), "cpu") as cluster:
        hung = tmp_path / "hung"
        stopper = threading.Thread(target=lambda: (eventually(hung.exists), psutil.Process(_pid(hung)).suspend()))
        stopper.start()
        (found,) = results(cluster, worker_tasks.sleep_once, [hung])
        stopper.join()
        assert found != _pid(hung)
    assert eventually(lambda: not local_workers())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_scheduler_is_one_error_in_time(how, small, tmp_path):
    with deployed(tmp_path, workers=1) as dask:
        begun = []

        def lose():
            assert eventually((tmp_path / "hung").exists)
            begun.append(time.monotonic())
            dask.scheduler.send_signal(how)

        loser = threading.Thread(target=lose)
        loser.start()
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE)
        with pytest.raises(ClusterLost, match="scheduler"), started(config, "cpu") as cluster:
            results(cluster, worker_tasks.sleep_once, [tmp_path / "hung"], "cpu")
        loser.join()
        assert time.monotonic() - begun[0] < DEADLINE + MARGIN


def test_a_scheduler_without_workers_is_one_error_in_time(small, tmp_path):
    with deployed(tmp_path, workers=0) as dask:
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE)
        begun = time.monotonic()
        with pytest.raises(ClusterLost, match="has no worker for 12 s"), started(config, "cpu"):
            pass
        assert time.monotonic() - begun < DEADLINE + MARGIN
        worker = dask.add_worker()
        dask.await_workers()
        killer = threading.Thread(target=lambda: (eventually((tmp_path / "hung").exists), worker.kill()))
        killer.start()
        with pytest.raises(ClusterLost, match="had no worker for 12 s"), started(config, "cpu") as cluster:
            results(cluster, worker_tasks.sleep_once, [tmp_path / "hung"], "cpu")
        killer.join()


def test_an_address_without_a_scheduler_is_one_error_in_time():
    config = ClusterConfig(scheduler="tcp://127.0.0.1:9", deadline=DEADLINE)
    begun = time.monotonic()
    with pytest.raises(ClusterLost, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"), started(config, "cpu"):
        pass
    assert time.monotonic() - begun < DEADLINE + MARGIN


def test_a_table_is_right_even_if_a_worker_of_a_running_scheduler_is_killed(grid, tmp_path):
    sources = [1, 2, 3]
    for name in ("here", "there", "home"):
        (tmp_path / name).mkdir()
    expected = run_stage(grid, "bfs", sources, Runtime(tmp_path / "here"))
    with (
        deployed(tmp_path / "home", workers=2) as dask,
        started(ClusterConfig(scheduler=dask.address, deadline=30), "cpu") as cluster,
    ):
        lost = threading.Thread(target=lambda: (eventually(lambda: _writes(dask.workers[0].pid)), dask.workers[0].kill()))
        lost.start()
        found = run_stage(grid, "bfs", sources, Runtime(tmp_path / "there", cluster=cluster))
        lost.join()
    assert dask.workers[0].wait() == -signal.SIGKILL
    assert found.manifest.files == expected.manifest.files
    assert [path.name for path in tables.files(found.path)] == [tables.file_name(number) for number in range(len(sources))]


def test_both_sides_must_present_certificates(small, tmp_path):
    made, other = _certificates(tmp_path / "made"), _certificates(tmp_path / "other")
    options = [f"--tls-{name.removeprefix('tls_')}={path}" for name, path in made.items()]
    with deployed(tmp_path, 1, *(option.replace("--tls-ca=", "--tls-ca-file=") for option in options), protocol="tls") as dask:
        with started(ClusterConfig(scheduler=dask.address, deadline=30, **made), "cpu") as cluster:
            assert len(results(cluster, partial(worker_tasks.where, small), range(4), "cpu")) == 4
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE, **other)
        with pytest.raises(ClusterLost, match="no scheduler answers"), started(config, "cpu"):
            pass
        plain = ClusterConfig(scheduler=dask.address.replace("tls:", "tcp:"), deadline=DEADLINE)
        with pytest.raises(ClusterLost, match="no scheduler answers"), started(plain, "cpu"):
            pass
    config = ClusterConfig(scheduler=dask.address, **made | {"tls_key": tmp_path / "absent"})
    with pytest.raises(BadConfig, match="absent: no such file"), started(config, "cpu"):
        pass


def _pid(path: Path) -> int:
    assert eventually(lambda: bool(path.read_text()))
    return int(path.read_text())


def _writes(process: int) -> bool:
    return any("/attempts/" in file.path for file in psutil.Process(process).open_files())


def _certificates(folder: Path) -> dict[str, Path]:
    folder.mkdir()
    made = Security.temporary()
    pem = {"tls_ca": made.tls_ca_file, "tls_cert": made.tls_client_cert, "tls_key": made.tls_client_key}
    for name, content in pem.items():
        (folder / f"{name}.pem").write_text(content)
    return {name: folder / f"{name}.pem" for name in pem}
