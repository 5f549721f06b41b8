"""Ranks on worker processes: exchanges, a search, and the loss of a peer."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kernels.bfs import bfs
from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadInput, ClusterLost
from pipeline.store.graph import open_graph
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks, results
from tests.flows.processes import eventually

THREE = ClusterConfig(scheduler="local", workers=3, lost_workers=0)


@pytest.fixture(scope="module", params=["one machine", "as on several"])
def cluster(request, kept_fork_server):
    """Workers whose ranks use local sockets, and workers whose ranks use Dask's connections."""
    with started(THREE, "cpu") as cluster:
        if request.param != "one machine":
            cluster._client.register_plugin(worker_tasks.AsOnSeveralMachines())
        yield cluster


def test_every_collective_is_right(cluster):
    assert on_ranks(cluster, worker_tasks.check, None, 3, "cpu") == [1003] * 3


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_each_rank_receives_what_was_sent_to_it(size, cluster):
    assert on_ranks(cluster, worker_tasks.swap, "go on", size, "cpu") == [sum(range(size))] * size


def test_a_search_over_three_processes_equals_that_of_one(small, cluster):
    graph = open_graph(small)
    parts = on_ranks(cluster, worker_tasks.search, graph, 3, "cpu")
    expected = bfs(graph, 0)
    for name in ("distance", "predecessor"):
        found = np.concatenate([getattr(part.answer, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(expected, name))


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize(
    ("ending", "error", "words"),
    [
        ("fail", BadInput, "is no graph"),
        ("return", ClusterLost, "workers lost during a stage over shards: 1, the limit is 0"),
        ("kill", ClusterLost, "workers lost during a stage over shards: 1, the limit is 0"),
    ],
)
def test_a_rank_that_ends_early_ends_all(ending, error, words, size, cluster):
    with pytest.raises(error, match=words):
        on_ranks(cluster, worker_tasks.swap, ending, size, "cpu")
    assert on_ranks(cluster, worker_tasks.swap, "go on", size, "cpu") == [sum(range(size))] * size


@pytest.mark.parametrize("size", [1_000_000, 100_000_000])
def test_a_last_message_arrives_as_it_was_when_it_was_sent(size, cluster):
    sent, received = on_ranks(cluster, worker_tasks.swap_slowly, size, 2, "cpu")
    assert (sent, received) == (([size, 1], 0), ([size, 1], 0))


def test_an_unexpected_error_of_a_worker_is_not_a_lost_peer(cluster, tmp_path):
    with pytest.raises(RuntimeError, match=r"^the worker's own$"):
        on_ranks(cluster, worker_tasks.break_down, tmp_path / "notes", 3, "cpu")
    assert (tmp_path / "notes").read_text() == "started\n"


def test_ranks_do_not_wait_for_dasks_slots(cluster, tmp_path):
    assert eventually(lambda: len(cluster._client.nthreads()) == 3)  # all that the tests before have killed
    with ThreadPoolExecutor() as threads:
        tasks = threads.submit(results, cluster, worker_tasks.wait_for, [tmp_path] * 3)
        try:
            assert eventually(lambda: len(list(tmp_path.glob("task-*"))) == 3)
            assert on_ranks(cluster, worker_tasks.add_up, 1, 3, "cpu") == [3, 3, 3]
        finally:
            (tmp_path / "go").touch()
        tasks.result()
