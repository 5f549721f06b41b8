"""The NCCL connection of ranks, over a fake of NCCL: reused after success, created anew by all ranks after a failure."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kernels.distributed.communicator import PeerLost
from kernels.distributed.gpu import connection
from kernels.distributed.threads import run_ranks
from pipeline.cluster.dask.nccl_bootstrap import between_gpus
from pipeline.cluster.dask.worker_state import STATE
from tests.sharded.fake_nccl import install

PLACEMENT = ["tls://127.0.0.1:1001", "tls://127.0.0.1:1002"]


class Workers:
    """Two threads that each have the state of a worker process."""

    def __init__(self, monkeypatch):
        self.threads = [ThreadPoolExecutor(1) for _ in PLACEMENT]
        of_thread = threading.local()

        class Kept(dict):
            def __getattribute__(self, name):
                return getattr(vars(of_thread).setdefault("kept", {}), name)

            def __setitem__(self, key, value):
                vars(of_thread)["kept"][key] = value

            def __bool__(self):
                return bool(vars(of_thread).get("kept"))

        monkeypatch.setattr(STATE, "nccl", Kept())

    def run(self, work, placement=PLACEMENT):
        def on_rank(between):
            between.require_all = lambda: None
            with between_gpus(between, placement) as ranks:
                return work(ranks)

        return run_ranks(2, lambda between: self.threads[between.rank].submit(on_rank, between).result())


@pytest.fixture
def fake_nccl(monkeypatch):
    for name in ("NCCL_SOCKET_IFNAME", "NCCL_NVLS_ENABLE", "NCCL_RUNTIME_CONNECT"):
        monkeypatch.setenv(name, "restored at the end")
        monkeypatch.delenv(name)
    monkeypatch.setattr(connection, "_SPIN", 0.001)  # all ranks share few cores
    monkeypatch.setattr(connection, "_CHECK", 0.1)
    monkeypatch.setattr(connection, "_GRACE", 0.1)
    monkeypatch.setattr(connection, "_CLOSING", 240.0)  # a busy machine may stop this process
    yield install(monkeypatch)
    connection.library.cache_clear()


def total(ranks):
    return int(ranks.total(np.array([ranks.rank + 1]))[0])


def test_a_connection_is_reused_by_later_ranks(fake_nccl, monkeypatch):
    workers, made = Workers(monkeypatch), fake_nccl.NcclCommunicator.made
    for _ in range(3):
        assert workers.run(total) == [3, 3]
    assert [communicator.end for communicator in made] == ["", ""]
    assert workers.run(total, ["tls://10.0.0.5:1001", "tls://10.0.0.6:1001"]) == [3, 3]
    assert sorted(communicator.end for communicator in made) == ["", "", "aborted", "aborted"]


def test_after_an_error_on_one_rank_all_connect_anew(fake_nccl, monkeypatch):
    workers, made = Workers(monkeypatch), fake_nccl.NcclCommunicator.made
    assert workers.run(total) == [3, 3]

    def fail(ranks):
        if ranks.rank == 0:  # the other rank succeeds and keeps its connection
            raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        workers.run(fail)
    assert workers.run(total) == [3, 3]
    assert sorted(communicator.end for communicator in made) == ["", "", "aborted", "aborted"]


def test_lost_ranks_are_detected_over_the_other_connection(fake_nccl, monkeypatch, caplog):
    def wait(ranks):
        def check_peers():
            raise PeerLost("rank 1 has ended")

        ranks.watch(check_peers)
        return None if ranks.rank else total(ranks)

    with pytest.raises(PeerLost, match=r"^rank 1 has ended$"):
        Workers(monkeypatch).run(wait)
    assert "cluster: rank 1 has ended" in caplog.messages


@pytest.mark.parametrize(("placement", "interface"), [(PLACEMENT, "lo"), (["tls://10.0.0.5:1001", PLACEMENT[1]], None)])
def test_on_one_machine_nccl_listens_on_loopback(placement, interface, fake_nccl, monkeypatch):
    Workers(monkeypatch).run(total, placement)
    assert os.environ.get("NCCL_SOCKET_IFNAME") == interface
