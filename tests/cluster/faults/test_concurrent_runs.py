"""Runs over ranks that share a scheduler: they take turns, end when they are killed, and leave usable workers."""

import os
import random
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import itemgetter

import pytest

from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import ClusterLost
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks
from tests.cluster.faults.clients import ClientProcess, two_workers
from tests.cluster.processes import local_workers
from tests.flows.processes import eventually

CLIENTS, RANKS = 8, 2
ONE_ERROR = re.compile(r"ClusterLost: cluster: [^\n]+")


@pytest.fixture(scope="module")
def workers():
    with two_workers() as found:
        yield found


@pytest.fixture
def config(workers) -> ClusterConfig:
    """Its deadline is longer than a busy machine may stop a process."""
    return ClusterConfig(scheduler=workers.scheduler_address)


def test_a_run_waits_for_another_and_names_it_and_a_killed_run_returns_its_workers(config, tmp_path):
    holder = ClientProcess(config, worker_tasks.linger, tmp_path, RANKS)
    assert eventually(lambda: len(list(tmp_path.glob("begun-*"))) == RANKS)
    with started(config, "cpu") as cluster:
        cluster._deadline = 5.0
        named = f"the workers are held by other runs: process {holder.process.pid} on "
        with pytest.raises(ClusterLost, match=rf"^cluster: {named}.*; none was returned for 5 s"):
            on_ranks(cluster, worker_tasks.add_up, 1, RANKS, "cpu")
        cluster._deadline = config.deadline
        holder.process.kill()
        assert holder.outcome() == ""
        assert on_ranks(cluster, worker_tasks.add_up, 1, RANKS, "cpu") == [1, 1]  # or the workers are held until the deadline


def test_a_group_waits_for_another_one_of_its_run_beyond_the_deadline(config, tmp_path):
    with started(config, "cpu") as cluster, ThreadPoolExecutor(2) as threads:
        table = threads.submit(on_ranks, cluster, worker_tasks.linger, tmp_path, RANKS, "cpu")
        assert eventually(lambda: len(list(tmp_path.glob("begun-*"))) == RANKS)
        cluster._deadline = 0.5
        stage = threads.submit(on_ranks, cluster, worker_tasks.add_up, 1, RANKS, "cpu")
        with suppress(TimeoutError):
            stage.exception(timeout=4)  # which is longer than the deadline
        (tmp_path / "go").touch()
        assert stage.result() == [1, 1] and len(table.result()) == RANKS


def test_a_run_that_stops_answering_returns_its_workers_when_its_ranks_have_ended(config, tmp_path):
    holder = ClientProcess(config, worker_tasks.linger, tmp_path, RANKS)
    assert eventually(lambda: len(list(tmp_path.glob("begun-*"))) == RANKS)
    os.kill(holder.process.pid, signal.SIGSTOP)
    (tmp_path / "go").touch()
    with started(config, "cpu") as cluster:
        assert on_ranks(cluster, worker_tasks.add_up, 1, RANKS, "cpu") == [1, 1]
    os.kill(holder.process.pid, signal.SIGCONT)
    assert len(holder.outcome()[0]) == RANKS


@pytest.mark.parametrize(
    ("rounds", "seed"), [(2, 1), pytest.param(100, 2, marks=[pytest.mark.nightly, pytest.mark.timeout(7200)])]
)
def test_eight_runs_that_are_killed_at_random_end_right_or_with_one_error(rounds, seed, config, workers):
    """In every round some of eight clients are killed, in every fourth also a worker."""
    impatient = config.model_copy(update={"deadline": 12.0})
    chance = random.Random(seed)
    ends = {"right": 0, "error": 0, "killed": 0}
    for number in range(rounds):
        clients = [
            ClientProcess(impatient, worker_tasks.add_up, chance.randint(1, 20), chance.randint(1, 3), times=3)
            for _ in range(CLIENTS)
        ]
        victims = chance.sample(clients, chance.randint(1, CLIENTS // 2))
        kills = [(chance.uniform(0, 4), victim.process.kill) for victim in victims]
        if number % 4 == 1:
            kills.append((chance.uniform(1, 4), lambda: [worker.kill() for worker in local_workers()[:1]]))
        begun = time.monotonic()
        for moment, kill in sorted(kills, key=itemgetter(0)):
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            kill()
        for client in clients:
            found = client.outcome()
            if isinstance(found, str) and found:
                assert ONE_ERROR.fullmatch(found), found
            elif isinstance(found, list):
                assert all(total == sum(range(len(totals))) for totals in found for total in totals)
            else:
                assert client in victims
            ends["killed" if found == "" else "error" if isinstance(found, str) else "right"] += 1
        print(f"{number + 1}: {ends}", flush=True)
    assert sum(ends.values()) == rounds * CLIENTS
    with started(config, "cpu") as cluster:
        assert eventually(lambda: len(workers.scheduler.workers) == 2)
        assert on_ranks(cluster, worker_tasks.add_up, 1, RANKS, "cpu") == [1, 1]
        # Workers are returned after the results.
        assert eventually(lambda: set(cluster._client.run(worker_tasks.open_sessions).values()) <= {0})
