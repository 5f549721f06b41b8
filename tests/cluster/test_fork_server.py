"""The process from which local workers are forked: its threads, its users and what it leaves.

The last tests are of the parts of multiprocessing and Dask that are not documented: each fails if Python or Dask changes one.
`tests/cluster/test_security.py` does the same for the context of TLS that Dask makes.
"""

import multiprocessing
import tempfile
from contextlib import ExitStack
from multiprocessing import forkserver, process, resource_tracker
from pathlib import Path

import dask
import psutil
import pytest
from distributed import utils

from pipeline.cluster.dask.dask_internals import keep_fork_server
from pipeline.cluster.fork_server import _SHARED, fork_server
from pipeline.cluster.fork_server.multiprocessing_internals import kill_fork_server, socket_in
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


def test_a_lack_of_memory_kills_what_was_forked_for_one_cluster_but_not_for_others(monkeypatch):
    killed = []
    monkeypatch.setattr("pipeline.cluster.fork_server.kill_forked", lambda: killed.append(1))
    with fork_server():
        with fork_server():
            _SHARED.kill()
            assert not killed
        _SHARED.kill()
    assert killed


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


def test_a_fork_server_has_its_socket_where_it_is_wanted_and_ends(monkeypatch):
    monkeypatch.setattr(forkserver._forkserver, "_preload_modules", [])
    kill_fork_server()  # that of an earlier test in this process
    before = process.current_process()._config.get("tempdir")
    for _ in range(2):  # another one may follow
        with tempfile.TemporaryDirectory() as folder:
            with socket_in(folder):
                forkserver.ensure_running()
            assert process.current_process()._config.get("tempdir") == before
            server = forkserver._forkserver._forkserver_pid
            assert psutil.pid_exists(server)
            assert [path.is_socket() for path in Path(folder).iterdir()] == [True]
            kill_fork_server()
            assert not psutil.pid_exists(server)
            assert not list(Path(folder).iterdir())
    kill_fork_server()  # there is none


@pytest.mark.parametrize("kept", [False, True])
def test_dask_chooses_what_a_fork_server_imports_unless_it_is_kept(kept, monkeypatch):
    imported, chosen = [], []
    monkeypatch.setattr(utils, "_forkserver_preload_set", False)
    monkeypatch.setattr(utils.importlib, "import_module", imported.append)
    monkeypatch.setattr(multiprocessing.get_context("forkserver"), "set_forkserver_preload", chosen.append, raising=False)
    if kept:
        keep_fork_server()
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        utils.get_mp_context()
    assert ("pandas" in imported) == (not kept)
    assert bool(chosen) == (not kept)
