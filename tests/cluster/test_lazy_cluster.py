"""The cluster of a run: workers start while the source is read, and end while the report is drawn."""

import subprocess
import sys
import tempfile

import pytest

import pipeline.steps.stages  # noqa: F401  # as a run has
from pipeline.cluster import lazy_cluster
from pipeline.cluster.lazy_cluster import StartedLater, cluster_of
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadConfig, ClusterLost
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import results
from tests.cluster.processes import local_workers
from tests.flows.processes import eventually
from tests.project.test_layout import ROOT

LOCAL = ClusterConfig(scheduler="local", workers=1)


def test_workers_start_and_end_in_the_background():
    with cluster_of(LOCAL, "cpu") as cluster:
        assert not local_workers()
        cluster.prepare("cpu")
        assert eventually(local_workers)
        assert results(cluster, worker_tasks.number, [1, 2], "cpu") == [1, 2]
        cluster.release()
        assert eventually(lambda: not local_workers())
    assert not local_workers()


def test_workers_have_loaded_what_tasks_use():
    with cluster_of(ClusterConfig(scheduler="local", workers=2, shards=2), "cpu") as cluster:
        for loaded in cluster.map(worker_tasks.modules, [None], "cpu", 2):
            assert all({"numba", "pipeline.steps.stages"} <= of_rank for of_rank in loaded)


def test_a_cluster_that_is_not_needed_does_not_start(monkeypatch):
    monkeypatch.setattr(lazy_cluster, "started", lambda *_: pytest.fail("started"))
    with cluster_of(LOCAL, "cpu") as cluster:
        cluster.release()
    with cluster_of(ClusterConfig(), "cpu") as cluster:
        assert isinstance(cluster, LocalThreads)


def test_a_run_without_tasks_removes_what_killed_runs_left(monkeypatch, tmp_path):
    """Only the start of workers did, and a run of which all steps are valid starts none."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in (".graphmill-0123456789abcdef", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "owner.lock").touch()
    with cluster_of(LOCAL, "cpu"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_run_that_ends_while_workers_start_leaves_none():
    with pytest.raises(KeyboardInterrupt), cluster_of(LOCAL, "cpu") as cluster:
        cluster.prepare("cpu")
        raise KeyboardInterrupt
    assert not local_workers()


def test_an_error_of_the_start_is_raised_by_the_first_tasks(monkeypatch):
    def fail(*_):
        raise ClusterLost("cluster: 4 times a local worker ended before it was ready")

    monkeypatch.setattr(lazy_cluster.StartedLater, "_start", fail)
    with cluster_of(LOCAL, "cpu") as cluster:
        cluster.prepare("cpu")
        with pytest.raises(ClusterLost, match="4 times"):
            results(cluster, worker_tasks.number, [1], "cpu")


def test_what_can_be_known_at_once_is_an_error_at_once():
    far = StartedLater(ClusterConfig(scheduler="tcp://127.0.0.1:9", deadline=12), "cpu")
    with pytest.raises(ClusterLost, match="no scheduler answers"):
        far.prepare("cpu")
    with pytest.raises(BadConfig, match="need Dask-CUDA"):
        StartedLater(LOCAL, "gpu").prepare("gpu")
    far.close()


@pytest.mark.parametrize(
    ("asked", "found"), [({}, 16), ({"shards": 2}, 2), ({"shards": 99}, 16), ({"workers": 4, "shards": 2}, 4)]
)
def test_ranks_do_not_start_more_workers_than_they_need(asked, found):
    assert ClusterConfig(scheduler="local", **asked).local_workers(16) == found


SHORT_OF_MEMORY = """
import os, threading, time
import psutil
from pipeline.cluster.lazy_cluster import cluster_of
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import TooLarge
from pipeline.signals import apart, failing
forked = lambda: [child for server in psutil.Process().children() for child in server.children()]
def work():
    with cluster_of(ClusterConfig(scheduler="local", workers=2), "cpu") as cluster:
        cluster.prepare("cpu")
        while not forked():
            time.sleep(0.001)
        failing()(TooLarge("short"))
        threading.Event().wait()
try:
    apart(work)
except TooLarge as error:
    until = time.monotonic() + 60  # a killed process ends when the kernel lets it run again
    while (alive := [child for child in forked() if child.status() != psutil.STATUS_ZOMBIE]) and time.monotonic() < until:
        time.sleep(0.01)
    print(error, alive, flush=True)
os._exit(0)
"""


def test_a_lack_of_memory_ends_workers_that_are_starting_and_nobody_waits_for_them():
    command = [sys.executable, "-c", SHORT_OF_MEMORY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout == "short []\n", done.stderr
