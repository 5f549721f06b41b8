"""The process from which local workers are forked: its threads, its users and what it leaves."""

import tempfile
from contextlib import ExitStack
from multiprocessing import resource_tracker
from pathlib import Path

import psutil

from pipeline.cluster.fork_server import fork_server
from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import results
from tests.cluster.processes import local_workers
from tests.flows.processes import eventually

ONE = ClusterConfig(scheduler="local", workers=1)


def test_workers_are_forked_from_a_process_with_one_thread():
    with started(ONE, "cpu") as cluster:
        (worker,) = local_workers()
        assert results(cluster, worker_tasks.number, [1], "cpu") == [1]
        assert worker.parent().parent() == psutil.Process()
        assert worker.parent().num_threads() == 1


def test_clusters_of_one_process_share_it_until_the_last_ends():
    with started(ONE, "cpu") as last:
        (kept,) = local_workers()
        server = kept.ppid()
        with started(ONE, "cpu"):
            assert {worker.ppid() for worker in local_workers()} == {server}
        assert eventually(lambda: local_workers() == [kept])
        assert results(last, worker_tasks.number, [1], "cpu") == [1]
    assert not psutil.pid_exists(server)


def test_a_new_one_starts_if_it_was_killed():
    with started(ONE, "cpu") as cluster:
        (worker,) = local_workers()
        worker.parent().kill()
        worker.kill()
        assert results(cluster, worker_tasks.number, [1], "cpu") == [1]
    assert not local_workers()


def test_it_leaves_nothing_even_in_a_folder_with_a_long_path(tmp_path, monkeypatch):
    around = Path(tmp_path, "a" * 100)
    around.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(around))
    resource_tracker.ensure_running()  # the interpreter's, which stays
    before = psutil.Process().children()
    with ExitStack() as stack:
        stack.enter_context(fork_server())
        assert len(list(around.iterdir())) == 1
        assert len(psutil.Process().children()) > len(before)
    assert not list(around.iterdir())
    assert set(psutil.Process().children()) <= {*before}
