"""Dask workers with a GPU each: the same tables as on the CPU, NCCL between the ranks of one graph, and lost workers."""

import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

pytest.importorskip("cupy")
pytest.importorskip("dask_cuda")

from kernels.bfs import bfs
from kernels.gpu.devices import device_count
from kernels.registry import BY_NAME
from pipeline.cluster.start import started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.errors import BadConfig, BadInput, ClusterLost
from pipeline.ingest import ingest
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.graph import open_graph
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import on_ranks, results
from tests.cluster.processes import local_workers
from tests.gpu.ranks import connection, pool_and_pointers, search, swap, swap_at_last
from tests.strangers import listening

DATA = Path(__file__).parents[3] / "data"
GPUS = device_count()
LOCAL = ClusterConfig(scheduler="local", lost_workers=0, deadline=30)
needs_two = pytest.mark.skipif(GPUS < 2, reason="needs two GPUs")


@pytest.fixture(scope="module")
def roads(tmp_path_factory):
    return stored("USA-road-d.NY.gr.gz", False, tmp_path_factory.mktemp("roads"))


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    return stored("wiki-Vote.txt.gz", True, tmp_path_factory.mktemp("votes"))


def stored(source, directed, work):
    return lay_out(ingest(GraphConfig(source=str(DATA / source), directed=directed), work), LayoutConfig(), Runtime(work))


@pytest.fixture(scope="module")
def cluster():
    with started(LOCAL, "gpu") as cluster:
        yield cluster


def test_many_sources_are_the_same_tables_as_on_the_cpu(roads, cluster, tmp_path):
    sources = list(range(1, 264_000, 10_000))
    found, expected = (
        run_stage(roads, "sssp", sources, Runtime(tmp_path / backend, backend, where))
        for backend, where in (("gpu", cluster), ("cpu", LocalThreads()))
        for _ in [(tmp_path / backend).mkdir()]
    )
    assert found.manifest.files == expected.manifest.files
    assert prove(roads, found, False, Runtime(tmp_path / "gpu", "gpu", cluster)).facts["holds"]


def test_each_gpu_opens_the_graph_once_and_runs_one_task_at_a_time(roads, cluster):
    found = results(cluster, partial(worker_tasks.where, roads), range(4 * GPUS), "gpu")
    assert [item for item, _, _ in found] == list(range(4 * GPUS))
    assert len({(process, graph) for _, process, graph in found}) == GPUS


def test_a_search_over_all_gpus_is_the_search_of_one_core(roads, cluster):
    graph = open_graph(roads)
    found = on_ranks(cluster, search, graph, GPUS, "gpu")
    assert {carrier for carrier, _ in found} == {"BetweenGpus"}
    expected = bfs(graph, 0)
    for name in ("distance", "predecessor"):
        whole = np.concatenate([getattr(part.answer, name) for _, part in found])
        np.testing.assert_array_equal(whole, getattr(expected, name))


def test_ranks_that_follow_use_the_same_connection(cluster):
    assert on_ranks(cluster, swap, "go on", GPUS, "gpu") == [sum(range(GPUS))] * GPUS
    found = [on_ranks(cluster, connection, None, GPUS, "gpu") for _ in range(2)]
    assert found[0] == found[1] and len(set(found[0])) == 1


def test_workers_keep_the_memory_that_they_free(cluster):
    on_ranks(cluster, pool_and_pointers, None, GPUS, "gpu")
    for held, pointers in on_ranks(cluster, pool_and_pointers, None, GPUS, "gpu"):
        assert held and len(pointers) == 1


def test_everything_listens_on_loopback_nccl_too(cluster):
    on_ranks(cluster, swap, "go on", GPUS, "gpu")
    found = {address for address, _ in listening([psutil.Process(), *local_workers()])} - {"127.0.0.1", "::1"}
    assert all(address.startswith(("@cuda-uvmfd-", "@tmp/nccl-socket-")) for address in found), found


@needs_two
@pytest.mark.parametrize(("ending", "error"), [("fail", BadInput), ("return", ClusterLost), ("kill", ClusterLost)])
def test_a_rank_that_ends_ends_all_in_time(ending, error, cluster):
    begun = time.monotonic()
    with pytest.raises(error):
        on_ranks(cluster, swap, ending, GPUS, "gpu")
    assert time.monotonic() - begun < LOCAL.deadline + 15
    eventually = time.monotonic() + 60
    while len(cluster._client.nthreads()) < GPUS and time.monotonic() < eventually:
        time.sleep(0.1)
    assert on_ranks(cluster, swap, "go on", GPUS, "gpu") == [sum(range(GPUS))] * GPUS


@needs_two
def test_after_a_lost_rank_all_begin_again(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster._groups, "_lost_workers", 1)
    found = on_ranks(cluster, partial(swap_at_last, tmp_path / "once"), None, GPUS, "gpu")
    assert found == [sum(range(GPUS))] * GPUS


def test_more_workers_than_gpus_are_refused():
    config = LOCAL.model_copy(update={"workers": GPUS + 1})
    with pytest.raises(BadConfig, match=f"{GPUS + 1} local workers, but {GPUS} GPUs"), started(config, "gpu"):
        pass


def test_more_ranks_than_gpus_share_them(cluster):
    assert on_ranks(cluster, swap, "go on", GPUS + 1, "gpu") == [sum(range(GPUS + 1))] * (GPUS + 1)


@pytest.mark.parametrize("more", [0, 1], ids=["a rank a GPU", "two ranks on one"])
@pytest.mark.parametrize("stage", [name for name, algorithm in BY_NAME.items() if algorithm.sharded_solver])
def test_a_stage_over_shards_is_the_table_of_one_gpu(stage, more, roads, votes, cluster, tmp_path, monkeypatch):
    graph = votes if stage in {"scc", "pagerank"} else roads
    monkeypatch.setattr(cluster, "shards", GPUS + more)
    found, expected = (
        run_stage(graph, stage, [3, 1000], Runtime(tmp_path / name, "gpu", where))
        for name, where in (("there", cluster), ("here", LocalThreads()))
        for _ in [(tmp_path / name).mkdir()]
    )
    assert found.facts["shards"] == GPUS + more
    if BY_NAME[stage].exact:
        assert found.manifest.files == expected.manifest.files
    assert prove(graph, found, False, Runtime(tmp_path, "gpu", cluster)).facts["holds"]
