"""The private key of a run's workers is in no file system, not even for a moment in which they may be killed."""

import os
import pickle
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from threading import Thread

import pytest
from distributed import Security

from pipeline.cluster.dask.client import _security
from pipeline.config.cluster import ClusterConfig

ROLES = ("client", "scheduler", "worker")


@pytest.fixture(scope="module")
def security():
    """As workers get it."""
    return pickle.loads(pickle.dumps(_security(ClusterConfig(scheduler="local"))))


@pytest.mark.parametrize("role", ROLES)
def test_contexts_are_made_without_a_folder_for_temporary_files(role, security, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with pytest.raises(FileNotFoundError):  # this is where Dask would write the key
        Security.temporary().get_listen_args(role)
    before = sorted(Path("/proc/self/fd").iterdir())
    security.get_listen_args(role)
    security.get_connection_args(role)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_both_sides_know_each_other(security):
    ours, theirs = socket.socketpair()
    server = security.get_listen_args("scheduler")["ssl_context"]
    answering = Thread(target=lambda: server.wrap_socket(theirs, server_side=True).sendall(b"yes"), daemon=True)
    answering.start()
    with security.get_connection_args("worker")["ssl_context"].wrap_socket(ours) as connected:
        assert connected.recv(3) == b"yes" and connected.getpeercert()
    answering.join()


def test_a_killed_process_leaves_no_key(tmp_path):
    """It is killed while OpenSSL reads the certificate."""
    code = (
        "import os, signal, ssl\n"
        "from pipeline.cluster.dask.client import _security\n"
        "from pipeline.config.cluster import ClusterConfig\n"
        "class Killed(ssl.SSLContext):\n"
        "    def load_cert_chain(self, cert, key):\n"
        "        assert 'PRIVATE KEY' in open(key).read()\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "ssl.create_default_context = lambda **_: Killed(ssl.PROTOCOL_TLS_SERVER)\n"
        "_security(ClusterConfig(scheduler='local')).get_listen_args('worker')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False)
    assert ended.returncode == -9 and not list(tmp_path.iterdir())
