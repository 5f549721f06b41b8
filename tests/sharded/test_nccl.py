"""The NCCL communicator over a fake of NCCL: collectives, lost peers and NCCL's errors.

`tests/gpu/several/test_nccl.py` checks the same collectives over NCCL itself.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

from kernels.distributed.communicator import PeerLost
from kernels.distributed.gpu import connection
from kernels.distributed.gpu.nccl import BetweenGpus, unique_id
from tests.sharded.collectives import check_collectives
from tests.sharded.fake_nccl import NcclError, install
from tests.sharded.ranks import DEADLINE

_ids = count()


@pytest.fixture
def fake_nccl(monkeypatch):
    for name in ("NCCL_NVLS_ENABLE", "NCCL_RUNTIME_CONNECT"):
        monkeypatch.setenv(name, "restored at the end")
        monkeypatch.delenv(name)
    monkeypatch.setattr(connection, "_SPIN", 0.001)  # all ranks share few cores
    monkeypatch.setattr(connection, "_CHECK", 0.1)
    monkeypatch.setattr(connection, "_GRACE", 0.3)
    monkeypatch.setattr(connection, "_CLOSING", 240.0)  # a busy machine may stop this process
    yield install(monkeypatch)
    connection.library.cache_clear()


def on_ranks(size, work, **how):
    """The result or exception of `work` on each rank."""
    unique = str(next(_ids)).encode()

    def run(rank):
        try:
            with BetweenGpus(unique, rank, size, **{"deadline": DEADLINE} | how) as ranks:
                return work(ranks)
        except Exception as error:
            return error

    with ThreadPoolExecutor(size) as threads:
        return list(threads.map(run, range(size)))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_agree_with_numpy(size, fake_nccl):
    assert on_ranks(size, lambda ranks: check_collectives(ranks, np.copy)) == [525, 764, 1003][size - 1 : size] * size
    assert [made.end for made in fake_nccl.NcclCommunicator.made] == ["destroyed"] * size
    assert os.environ["NCCL_NVLS_ENABLE"] == "0"


def test_lengths_are_not_exchanged_if_buffers_are_given(fake_nccl, monkeypatch):
    def swap(ranks):
        parts = [np.arange(ranks.rank + 2 * to) for to in range(3)]
        return ranks.exchange(parts, [np.empty(sender + 2 * ranks.rank, int) for sender in range(3)])

    monkeypatch.setattr(fake_nccl.NcclCommunicator, "allGather", None)
    for rank, received in enumerate(on_ranks(3, swap)):
        assert [part.tolist() for part in received] == [list(range(sender + 2 * rank)) for sender in range(3)]


def test_a_rank_that_never_joins_is_lost_at_the_deadline(fake_nccl):
    begun = time.monotonic()
    with pytest.raises(PeerLost, match=r"^rank 0: another rank did not come within 0\.5 s$"):
        BetweenGpus(b"alone", 0, 2, deadline=0.5)
    assert time.monotonic() - begun >= 0.5
    assert not fake_nccl.NcclCommunicator.made


def test_a_rank_that_stops_exchanging_is_lost_at_the_deadline(fake_nccl):
    def once(ranks):
        ranks.gather(np.arange(3))
        if ranks.rank == 1:
            return "gone"
        ranks._there._deadline = 1  # not before: a busy machine may stop this process for longer
        begun = time.monotonic()
        with pytest.raises(PeerLost, match=r"did not come within 1 s$"):
            ranks.gather(np.arange(3))
        assert time.monotonic() - begun >= 1
        with pytest.raises(PeerLost, match="within 1 s"):  # at once
            ranks.total(np.arange(3))
        ranks.close()
        ranks.abort()
        return "lost"

    assert on_ranks(3, once) == ["lost", "gone", "lost"]
    assert sorted(made.end for made in fake_nccl.NcclCommunicator.made) == ["aborted", "aborted", "destroyed"]


def test_a_rank_that_is_reported_lost_is_not_waited_for(fake_nccl):
    gone = threading.Event()

    def leave(ranks):
        if ranks.rank == 1:
            gone.set()
            raise ValueError("of its own")
        return ranks.total(np.arange(3))

    def check_peers():
        if gone.is_set():
            raise PeerLost("it has ended")

    first, second, third = on_ranks(3, leave, check_peers=check_peers)
    assert isinstance(second, ValueError)
    assert [str(first), str(third)] == ["it has ended", "it has ended"]
    assert [made.end for made in fake_nccl.NcclCommunicator.made] == ["aborted"] * 3


def test_a_slow_rank_is_waited_for(fake_nccl):
    asked, enough = [], threading.Event()

    def check_peers():
        asked.append(time.monotonic())
        if len(asked) == 4:
            enough.set()

    def late(ranks):
        if ranks.rank:
            assert enough.wait(240)
        else:
            ranks.watch(check_peers)
        return ranks.total(np.arange(3)).tolist()

    assert on_ranks(2, late) == [[0, 2, 4]] * 2
    assert min(np.diff(asked)) >= connection._CHECK


@pytest.mark.parametrize(
    ("status", "peers", "error"),
    [
        (5, "lost", RuntimeError),
        (6, "here", PeerLost),
        (2, "here", RuntimeError),
        (2, "lost", PeerLost),
        (3, "here", RuntimeError),
    ],
)
def test_an_nccl_error_is_reported(status, peers, error, fake_nccl, monkeypatch):
    """A system error, such as a full /dev/shm, is the rank's own unless a peer is lost."""
    monkeypatch.setattr(connection, "_GRACE", 0.1)

    def check_peers():
        if peers == "lost":
            raise PeerLost("rank 1 has ended")

    def refuse(ranks):
        ranks.watch(check_peers)
        ranks._there.nccl.fail = NcclError(status)
        ranks.total(np.arange(3))

    (found,) = on_ranks(1, refuse)
    assert type(found) is error
    assert str(found) == f"rank 0: status {status}: the cable is cut"


@pytest.mark.parametrize("error", [NcclError(6), KeyError(6)])
def test_an_asynchronous_nccl_error_ends_the_wait(error, fake_nccl):
    def break_off(ranks):
        if ranks.rank:
            return None
        ranks._there.nccl.fail_later = error
        return ranks.total(np.arange(3))

    found, _ = on_ranks(2, break_off)
    assert isinstance(found, PeerLost) and str(error) in str(found)


def test_unsupported_arrays_are_refused(fake_nccl):
    def send(array):
        def work(ranks):
            ranks.gather(array)

        return on_ranks(1, work)[0]

    for array in (np.zeros((2, 2)), np.zeros(2, complex), np.array(["text"])):
        assert isinstance(send(array), TypeError)
    assert isinstance(on_ranks(1, lambda ranks: ranks.exchange([]))[0], ValueError)


def test_a_missing_nccl_is_reported(fake_nccl):
    fake_nccl.available = False
    connection.library.cache_clear()
    with pytest.raises(RuntimeError, match="NCCL is not installed"):
        unique_id()
