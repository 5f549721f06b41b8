"""What a process keeps open between tasks, and the ranks that ask for it."""

import sys
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from kernels.distributed.communicator import SingleRank
from kernels.registry import BY_NAME
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.cluster.protocol import TaskContext
from pipeline.cluster.threads import LocalThreads
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import TooLarge
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.code import HELD_GRAPH

SOURCE = Path(__file__).parents[3] / "data" / "wiki-Vote.txt.gz"


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    return lay_out(ingest(GraphConfig(source=str(SOURCE)), work), LayoutConfig(shards=2), Runtime(work))


def test_memory_is_asked_for_once_for_all_ranks_of_a_process(graph, monkeypatch):
    """The second rank would not find enough of it, because the first one has opened the graph."""
    asked = []

    def require(what, needed, backend):
        asked.append(needed)
        if len(asked) > 1:
            raise TooLarge(what)

    monkeypatch.setattr("pipeline.cluster.shared_graph.require_memory", require)
    opened = OpenGraphs()
    shared = [TaskContext("cpu", opened, communicator=SingleRank(), sharded=True) for _ in range(3)]
    graphs = [context.graph_for(BY_NAME["closure"], graph).graph for context in shared]
    assert len(asked) == 1 and all(one is graphs[0] for one in graphs)


def test_tasks_share_what_follows_from_the_vertices(graph):
    """Each step of a run on threads opens the graph anew, and would number its vertices anew."""
    opened = OpenGraphs()
    graphs = [opened.anew().graph(graph, "cpu") for _ in range(2)]
    assert graphs[0] is not graphs[1] and graphs[0].derived is not graphs[1].derived
    assert graphs[0].positions is graphs[1].positions


def test_shards_are_closed_before_the_whole_graph_is_opened(graph):
    opened = OpenGraphs()
    shard = opened.shard(graph, SingleRank(), "cpu", 1)
    assert opened.shard(graph, SingleRank(), "cpu", 1) is shard
    held = []
    opened.graph(graph, "cpu", require=lambda: held.append(len(opened._shards)))
    assert held == [0]
    assert opened.shard(graph, SingleRank(), "cpu", 1) is not shard


def test_the_keys_of_steps_depend_on_all_that_reads_and_writes_graphs(graph):
    contexts = [TaskContext("cpu"), TaskContext("cpu", sharded=True)]
    classes = {
        type(context.graph_for(BY_NAME[name], graph)) for context in contexts for name in ("bfs", "betweenness", "closure")
    }
    assert len(classes) == 4 and {of.__module__ for of in classes} == {*HELD_GRAPH}


@pytest.mark.parametrize(("gpus", "ranks"), [(1, 0), (2, 2), (4, 3)])
def test_ranks_that_share_searches_have_a_gpu_each(gpus, ranks, graph, tmp_path, monkeypatch):
    monkeypatch.setattr(Runtime, "_fits_a_gpu", lambda *_: True)
    monkeypatch.setattr("pipeline.steps.runtime.device_count", lambda: gpus)
    assert Runtime(tmp_path, "gpu", LocalThreads(3)).ranks_for(BY_NAME["closure"], graph) == ranks


def test_pools_of_a_gpu_are_emptied_when_no_task_follows_if_there_are_some(monkeypatch):
    emptied = Event()
    monkeypatch.setattr("pipeline.cluster.threads.free_pools", emptied.set)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    LocalThreads().release()
    assert not emptied.wait(0.01)
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    LocalThreads().release()
    assert emptied.wait(60)
