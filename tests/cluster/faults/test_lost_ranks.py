"""Ranks that lose a worker or the scheduler: all start again on the other workers, or there is one error."""

import logging
import os
import resource
import signal
from pathlib import Path

import psutil
import pytest

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import ClusterLost, TooLarge
from pipeline.progress.shown import Shown
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks, results
from tests.cluster.faults.meanwhile import meanwhile
from tests.cluster.processes import deployed
from tests.flows.processes import eventually

DEADLINE = 12.0  # where silence is waited for; elsewhere it is longer than a busy machine may stop a process
RANKS = 3


def begun(folder: Path) -> list[int]:
    """Wait until all ranks exchange; return the process ids of all ranks."""
    notes = [folder / f"begun-{rank}" for rank in range(RANKS)]
    assert eventually(lambda: all(note.exists() for note in notes))
    return [int(note.read_text()) for note in notes]


def test_ranks_of_a_lost_worker_move_to_the_others(tmp_path):
    def lose():
        psutil.Process(begun(tmp_path)[0]).kill()
        (tmp_path / "go").touch()

    with deployed(tmp_path, workers=2) as dask:
        config = ClusterConfig(scheduler=dask.address, lost_workers=1)
        with started(config, "cpu") as cluster, meanwhile(lose):
            found = on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
    assert len(set(found)) == 1


def test_ranks_of_a_hanging_worker_move_to_the_others(tmp_path):
    def stop():
        stopped = begun(tmp_path)[0]
        (tmp_path / "begun-0").unlink()
        psutil.Process(stopped).suspend()
        begun(tmp_path)  # again
        (tmp_path / "go").touch()
        return stopped

    config = ClusterConfig(scheduler="local", workers=2, deadline=DEADLINE, lost_workers=2)
    with started(config, "cpu") as cluster, meanwhile(stop) as stopping:
        found = on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
    assert stopping.result() not in found


def test_ranks_that_take_too_much_memory_are_one_error_with_the_step_and_the_limit(caplog):
    config = ClusterConfig(scheduler="local", workers=2, lost_workers=3, memory="1 GiB")
    said = (
        r"^cluster: proof-mst over shards lost a worker 2 times, because workers were ended for their memory: they took up to "
        r"1\.\d GB, and their limit is 1 GiB \(\[cluster\] memory\); raise it, or divide the graph over more `workers` and "
        r"`shards`$"
    )
    with started(config, "cpu") as cluster, Shown().step("proof-mst"), pytest.raises(ClusterLost, match=said):
        on_ranks(cluster, worker_tasks.take_memory, 2**30, 2, "cpu")
    assert caplog.text.count("all ranks start again") == 2


@pytest.mark.parametrize(("ranks", "step"), [(2, "proof-mst over shards"), (0, "proof-mst")])
def test_a_worker_that_comes_near_a_limit_of_addresses_is_one_error_with_both_numbers(ranks, step, caplog):
    said = (
        rf"^{step} would take more memory than the [\d.]+ .B that `ulimit -v` allows of addresses, of which [\d.]+ .B are taken"
    )
    with started(ClusterConfig(scheduler="local", workers=2), "cpu") as cluster, Shown().step("proof-mst"):
        for process in cluster._client.run(os.getpid).values():
            limit = psutil.Process(process).memory_info().vms + 300 * 2**20
            resource.prlimit(process, resource.RLIMIT_AS, (limit, limit))
        with pytest.raises(TooLarge, match=said):
            if ranks:
                on_ranks(cluster, worker_tasks.take_memory_slowly, 2**21, ranks, "cpu")
            results(cluster, worker_tasks.take_memory_slowly, [2**21] * 2, "cpu")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_workers_that_the_kernel_ends_are_said_to_be(monkeypatch):
    monkeypatch.setattr("pipeline.cluster.dask.groups.kills", lambda: 0)  # when the run began
    monkeypatch.setattr("pipeline.cluster.worker_memory.kills", lambda: 1)
    config = ClusterConfig(scheduler="local", workers=2, lost_workers=0)
    said = r"the limit is 0 .*; the kernel ended processes for their memory: .* [\d.]+ .B; give the run more"
    with started(config, "cpu") as cluster, pytest.raises(ClusterLost, match=said):
        on_ranks(cluster, worker_tasks.swap, "kill", 2, "cpu")


def test_a_scheduler_that_hangs_is_one_error(tmp_path):
    def stop():
        begun(tmp_path)
        dask.scheduler.send_signal(signal.SIGSTOP)

    with deployed(tmp_path, workers=2) as dask:
        silent, config = r"scheduler .* did not answer for 12 s$", ClusterConfig(scheduler=dask.address)
        with pytest.raises(ClusterLost, match=silent), started(config, "cpu") as cluster, meanwhile(stop):
            cluster._deadline = DEADLINE  # only from now on
            on_ranks(cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
