"""The parts of multiprocessing and Dask that are not documented: each test fails if Python or Dask changes one.

`tests/cluster/test_security.py` does the same for the context of TLS that Dask makes.
"""

import multiprocessing
import tempfile
from multiprocessing import forkserver, process
from pathlib import Path

import dask
import psutil
import pytest
from distributed import utils

from pipeline.cluster.dask.dask_internals import keep_fork_server
from pipeline.cluster.fork_server.multiprocessing_internals import kill_fork_server, socket_in


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
