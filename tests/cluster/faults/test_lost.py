"""Workers and schedulers that die, hang or are missing: the right answer after a retry, or one clear error."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest
from distributed import Client, Security

from pipeline.cluster.dask import client as dask_client
from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.facts import GraphFacts
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import DeadlyWrites, results
from tests.cluster.faults.meanwhile import meanwhile
from tests.cluster.processes import deployed, local_workers
from tests.flows.processes import eventually

DEADLINE = 12.0  # where silence is waited for; elsewhere it is longer than a busy machine may stop a process
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


def test_a_result_that_is_lost_with_its_worker_is_computed_again(tmp_path):
    """Its worker is killed while the run waits for an earlier task; the second time it takes longer than between two looks."""
    first, second = tasks = [tmp_path / name for name in ("first", "second")]
    for task in tasks:
        task.mkdir()
    (second / "go-0").touch()
    with started(ClusterConfig(scheduler="local", workers=2), "cpu") as cluster, ThreadPoolExecutor() as threads:
        found = threads.submit(results, cluster, worker_tasks.run_until_allowed, tasks)
        try:
            assert eventually(lambda: (first / "run-0").exists() and any(cluster._client.has_what().values()))
            os.kill(int((second / "run-0").read_text()), signal.SIGKILL)
            assert eventually((second / "run-1").exists)
            (first / "go-0").touch()
            time.sleep(1.5)
        finally:
            for task in tasks:
                for number in range(3):
                    (task / f"go-{number}").touch()
        assert found.result(240) == ["first", "second"]


def test_a_task_that_kills_every_worker_is_one_error(small, tmp_path):
    config = ClusterConfig(scheduler="local", workers=2, lost_workers=1)
    with started(config, "cpu") as cluster:
        with pytest.raises(ClusterLost, match=r"^cluster: one task lost 2 workers$"):
            results(cluster, worker_tasks.die, [tmp_path / "deaths"], "cpu")
        assert len((tmp_path / "deaths").read_text().split()) == 2
        assert len(results(cluster, partial(worker_tasks.where, small), range(4), "cpu")) == 4  # other tasks still run


def test_a_worker_that_is_ended_for_its_memory_says_so(tmp_path, caplog):
    config = ClusterConfig(scheduler="local", workers=1, lost_workers=1, memory="1 GiB")
    with started(config, "cpu") as cluster:
        said = (
            r"^cluster: one task lost 2 workers, because workers were ended for their memory: they took up to 1\.\d GB, and "
            r"their limit is 1 GiB \(\[cluster\] memory\); raise it, or run fewer `workers`$"
        )
        with pytest.raises(ClusterLost, match=said):
            results(cluster, worker_tasks.take_memory, [2**30])
    assert "Traceback" not in caplog.text and "memory budget" not in caplog.text


@pytest.mark.parametrize("whose", ["scheduler", "run"])
def test_another_version_of_dask_is_one_error(whose, tmp_path, monkeypatch):
    with deployed(tmp_path, workers=1) as dask:
        if whose == "run":
            monkeypatch.setattr(dask_client, "DASK", "2020.1.0")
        else:
            monkeypatch.setattr(Client, "get_versions", lambda _: {}["scheduler"])  # what its answer lacks
        said = r"scheduler .*(2020\.1\.0|does not answer as that of Dask).*; install the same version everywhere$"
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE)
        with pytest.raises(BadConfig, match=said), started(config, "cpu"):
            pass


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

        def stop():
            assert eventually(hung.exists)
            psutil.Process(int(hung.read_text())).suspend()

        with meanwhile(stop):
            (found,) = results(cluster, worker_tasks.sleep_once, [hung])
        assert found != int(hung.read_text())
    assert eventually(lambda: not local_workers())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_lost_scheduler_is_one_error(how, tmp_path):
    with (
        deployed(tmp_path, workers=1) as dask,
        pytest.raises(ClusterLost, match=r"scheduler .* (broke|not answer for 12 s)$"),
    ):
        _hang_until(partial(dask.scheduler.send_signal, how), dask.address, tmp_path / "hung")


def test_a_scheduler_without_workers_is_one_error(tmp_path):
    with deployed(tmp_path, workers=0) as dask:
        config = ClusterConfig(scheduler=dask.address, deadline=DEADLINE)
        with pytest.raises(ClusterLost, match="has no worker for 12 s"), started(config, "cpu"):
            pass
        worker = dask.add_worker()
        dask.await_workers()
        with pytest.raises(ClusterLost, match="had no worker for 12 s"):
            _hang_until(worker.kill, dask.address, tmp_path / "hung")


def _hang_until(loses: Callable[[], None], address: str, hung: Path) -> None:
    """Run a task that hangs, and call `loses` when it does."""

    def lose():
        assert eventually(hung.exists)
        loses()

    with started(ClusterConfig(scheduler=address), "cpu") as cluster, meanwhile(lose):
        cluster._deadline = DEADLINE  # only from now on
        results(cluster, worker_tasks.sleep_once, [hung])


def test_an_address_without_a_scheduler_is_one_error():
    config = ClusterConfig(scheduler="tcp://127.0.0.1:9", deadline=DEADLINE)
    with pytest.raises(ClusterLost, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"), started(config, "cpu"):
        pass


def test_a_table_is_right_even_if_a_worker_of_a_running_scheduler_is_killed(grid, tmp_path):
    sources = [1, 2, 3]
    for name in ("here", "there", "home"):
        (tmp_path / name).mkdir()
    expected = run_stage(grid, "bfs", sources, Runtime(tmp_path / "here"))
    with deployed(tmp_path / "home", workers=2) as dask:
        with started(ClusterConfig(scheduler=dask.address), "cpu") as cluster:
            deadly = DeadlyWrites(cluster, tmp_path / "deaths", 1)
            found = run_stage(grid, "bfs", sources, Runtime(tmp_path / "there", cluster=deadly))
        assert eventually(lambda: [worker.poll() for worker in dask.workers].count(-signal.SIGKILL) == 1)
    assert found.manifest.files == expected.manifest.files
    files = len(sources) * tables.files_of(GraphFacts.of(grid).vertices)
    assert [path.name for path in tables.files(found.path)] == [tables.file_name(number) for number in range(files)]


def test_both_sides_must_present_certificates(small, tmp_path):
    made, other = _certificates(tmp_path / "made"), _certificates(tmp_path / "other")
    options = [f"--tls-{name.removeprefix('tls_')}={path}" for name, path in made.items()]
    with deployed(tmp_path, 1, *(option.replace("--tls-ca=", "--tls-ca-file=") for option in options), protocol="tls") as dask:
        with started(ClusterConfig(scheduler=dask.address, **made), "cpu") as cluster:
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


def _certificates(folder: Path) -> dict[str, Path]:
    folder.mkdir()
    made = Security.temporary()
    pem = {"tls_ca": made.tls_ca_file, "tls_cert": made.tls_client_cert, "tls_key": made.tls_client_key}
    for name, content in pem.items():
        (folder / f"{name}.pem").write_text(content)
    return {name: folder / f"{name}.pem" for name in pem}
