"""Ranks on worker processes: exchanges, a search, and the loss of a peer within the deadline."""

from __future__ import annotations

import time

import numpy as np
import pytest

from kernels.bfs import bfs
from pipeline.cluster.start import started
from pipeline.config.cluster import ClusterConfig
from pipeline.errors import BadInput, ClusterLost
from pipeline.store.graph import open_graph
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks

THREE = ClusterConfig(scheduler="local", workers=3, lost_workers=0, deadline=12)


@pytest.fixture(scope="module")
def cluster():
    with started(THREE, "cpu") as cluster:
        yield cluster


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
        ("return", ClusterLost, "1 times a worker of those that hold one graph together was lost"),
        ("kill", ClusterLost, "1 times a worker of those that hold one graph together was lost"),
    ],
)
def test_a_rank_that_ends_early_ends_all_in_time(ending, error, words, size, cluster):
    begun = time.monotonic()
    with pytest.raises(error, match=words):
        on_ranks(cluster, worker_tasks.swap, ending, size, "cpu")
    assert time.monotonic() - begun < THREE.deadline + 15
    assert on_ranks(cluster, worker_tasks.swap, "go on", size, "cpu") == [sum(range(size))] * size
