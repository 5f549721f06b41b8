"""Local workers: the same bytes as without a cluster, one copy of the graph per worker, errors, loopback, clean-up."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import dask
import psutil
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from kernels.registry import BY_NAME
from kernels.spans import recorded
from pipeline.cluster import start as start_module
from pipeline.cluster.dask import client as dask_cluster
from pipeline.cluster.dask import workers as workers_module
from pipeline.cluster.dask.client import require_gpus
from pipeline.cluster.dask.code_version import CodeVersion
from pipeline.cluster.start import started
from pipeline.cluster.threads import LocalThreads
from pipeline.config.cluster import ClusterConfig
from pipeline.config.run import STAGES
from pipeline.config.stages import MaxFlowConfig
from pipeline.errors import BadConfig, BadInput, ClusterLost, ProofFailed
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.code import Code
from pipeline.store.manifest import Folder, make
from pipeline.store.scratch import remove_dead
from pipeline.tables import files as tables
from tests.cluster import tasks as worker_tasks
from tests.cluster.calls import results
from tests.cluster.conftest import store_grid
from tests.cluster.local.conftest import LOCAL
from tests.cluster.processes import local_workers
from tests.counts import of_the_day
from tests.flows.processes import ROOT, alive, clean_environment, end, eventually
from tests.pipeline.reach.inputs import write_pairs
from tests.strangers import exposed, listening

SOURCES = [1, 1_500, 7_000, 20_999]
ROWS = 10_000, 40_000  # in a row group and in a file, which holds one answer in three row groups


@pytest.fixture(scope="module", autouse=True)
def few_rows(cluster):
    """Row groups and files of so many rows, in this process and in the workers."""
    plugin = worker_tasks.FewRows(*ROWS)
    with pytest.MonkeyPatch.context() as patch:
        for name, rows in zip(("ROWS_PER_GROUP", "ROWS_PER_FILE"), ROWS, strict=True):
            patch.setattr(tables, name, rows)
        cluster._client.register_plugin(plugin)
        yield
    cluster._client.unregister_worker_plugin(plugin.name)


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Folder:
    """A grid of streets with ids from 1, row by row."""
    return store_grid(tmp_path_factory.mktemp("grid") / "grid", 150, 140)


@pytest.fixture(scope="module")
def searched(grid, cluster, tmp_path_factory) -> Folder:
    """The workers' table of four searches of the grid, a file for each, its sources given in another order."""
    return run_stage(grid, "bfs", SOURCES[::-1], Runtime(tmp_path_factory.mktemp("searched"), cluster=cluster))


@pytest.mark.parametrize("stage", STAGES)
def test_tables_and_proofs_are_the_same_with_and_without_workers(stage, grid, small, searched, cluster, tmp_path):
    graph, sources = (grid, SOURCES) if stage == "bfs" else (small, [1, 5])
    found = searched if stage == "bfs" else run_stage(graph, stage, sources, Runtime(tmp_path / "there", cluster=cluster))
    expected = run_stage(graph, stage, sources, Runtime(tmp_path / "here", cluster=LocalThreads()))
    assert found.manifest.files == expected.manifest.files
    assert len(tables.files(found.path)) == (len(SOURCES) if stage == "bfs" else 1)
    assert [path.name for path in found.path.parent.glob(".*")] == []
    proofs = [prove(graph, found, True, Runtime(tmp_path, cluster=where)).facts for where in (cluster, LocalThreads())]
    assert proofs[0]["holds"] and proofs[0]["rules"] == proofs[1]["rules"]


def test_flows_are_the_same_with_and_without_workers(small, cluster, tmp_path):
    asked = MaxFlowConfig(pairs=write_pairs(tmp_path / "pairs.parquet", [0, 4, 9, 3, 5], [9, 5, 1, 2, 0]))
    runtimes = [Runtime(tmp_path / name, cluster=where) for name, where in (("there", cluster), ("here", LocalThreads()))]
    found, expected = (run_stage(small, "max_flow", (), runtime, asked) for runtime in runtimes if not runtime.work.mkdir())
    assert found.manifest.files == expected.manifest.files
    assert prove(small, found, True, runtimes[0]).facts["holds"]
    wrong = MaxFlowConfig(pairs=write_pairs(tmp_path / "pairs.parquet", [0, 4, 9, 3, 5], [9, 5, 1, 99, 0]))
    with pytest.raises(BadInput, match="row 3: dst 99 is not in the graph"):
        run_stage(small, "max_flow", (), runtimes[0], wrong)


@pytest.mark.parametrize("stage", STAGES)
def test_tables_and_proofs_over_shards_are_the_same(stage, small, cluster, tmp_path, monkeypatch):
    expected = run_stage(small, stage, [1, 5], Runtime(tmp_path))
    (tmp_path / "shards").mkdir()
    monkeypatch.setattr(cluster, "shards", 2)
    found = run_stage(small, stage, [1, 5], Runtime(tmp_path / "shards", cluster=cluster))
    assert found.facts["shards"] == 2
    if BY_NAME[stage].exact:
        assert found.manifest.files == expected.manifest.files
    proof = prove(small, found, False, Runtime(tmp_path, cluster=cluster))
    assert proof.facts["holds"] and proof.facts["shards"] == 2


def test_a_table_of_many_files_is_one_sorted_table(grid, searched):
    of_files = [pq.read_table(path, columns=["source"])["source"].unique().to_pylist() for path in tables.files(searched.path)]
    assert of_files == [[source] for source in SOURCES]
    sources = tables.read(searched.path, columns=["source"])["source"]
    assert sources.unique().to_pylist() == SOURCES
    assert searched.facts["rows"] == len(sources) == len(SOURCES) * grid.facts["vertices"]


@pytest.mark.parametrize("harm", ["exchange", "drop", "alter"])
def test_a_wrong_table_is_not_proved_by_workers_either(harm, grid, searched, cluster, tmp_path):
    def write(folder):
        for number, path in enumerate(tables.files(searched.path)):
            (folder / tables.file_name(number)).write_bytes(path.read_bytes())
        first, *_, last = tables.files(folder)
        if harm == "exchange":
            first.rename(folder / "x")
            last.rename(first)
            (folder / "x").rename(last)
        elif harm == "drop":
            last.unlink()
        else:
            table = tables.read(folder)[-grid.facts["vertices"] :]
            wrong = table.set_column(2, table.schema.field(2), [table["distance"].to_numpy() + 1])
            tables.write_file(last, "bfs", searched.facts["weight"], wrong.combine_chunks().to_batches())
        return searched.facts

    wrong = make(tmp_path / "wrong" / "bfs", "bfs", {"graph": grid.digest}, {"harm": harm}, write)
    with pytest.raises(
        ProofFailed, match={"exchange": "another source", "drop": "63000 rows, where 84000", "alter": "20999|source"}[harm]
    ):
        prove(grid, wrong, False, Runtime(tmp_path, cluster=cluster))
    assert not (tmp_path / "proof-bfs").exists()


def test_results_keep_their_order_and_each_worker_opens_the_graph_once(small, cluster):
    found = results(cluster, partial(worker_tasks.where, small), range(20), "cpu")
    assert [item for item, _, _ in found] == list(range(20))
    assert {process for _, process, _ in found} == {worker.pid for worker in local_workers()}
    assert len({(process, graph) for _, process, graph in found}) == 2


def test_the_first_error_of_a_task_is_raised_unchanged(small, cluster):
    found = cluster.map(worker_tasks.fail, range(6), "cpu")
    assert [next(found) for _ in range(3)] == [[0], [1], [2]]
    with pytest.raises(BadInput, match=r"^graph.csv: line 3: is no graph$"):
        next(found)
    with pytest.raises(OSError) as error:
        results(cluster, worker_tasks.fail, [4], "cpu")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "table")
    assert results(cluster, worker_tasks.fail, [1], "cpu") == [1]


def test_a_worker_that_does_not_see_the_graph_is_an_error(small, cluster, tmp_path):
    elsewhere = make(tmp_path / "graph", "graph", {}, {"other": 1}, lambda _: dict(small.facts))
    elsewhere.path.rename(tmp_path / "moved")
    with pytest.raises(BadConfig, match=r"does not see .*graph; it must be on a file system that all hosts share"):
        results(cluster, partial(worker_tasks.where, elsewhere), [1], "cpu")


def test_strangers_can_use_no_socket(cluster):
    listeners = listening([psutil.Process(), *local_workers()])
    # Dask's protocol and HTTP, and the nannies; the cluster of an earlier test may still be closing in this process.
    assert len(listeners) >= 2 + 3 * len(local_workers())
    assert not exposed(listeners)


def test_what_strangers_can_use_is_found():
    how = {"n_workers": 0, "processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    pages = {
        "distributed.comm.require-encryption": False,
        "distributed.scheduler.http.routes": ["distributed.http.scheduler.info"],
    }
    with dask.config.set(pages), LocalCluster(**how) as cluster:
        ports = (int(cluster.scheduler_address.rpartition(":")[2]), cluster.scheduler.http_server.port)
        faults = exposed({("127.0.0.1", port) for port in ports})
    assert {fault.partition(": ")[2] for fault in faults} >= {"Dask's protocol", "GET info/main/workers.html"}


def test_local_workers_on_gpus_need_dask_cuda_and_a_gpu_each(monkeypatch):
    monkeypatch.setattr(start_module, "find_spec", lambda name: None)
    with pytest.raises(BadConfig, match=r"need Dask-CUDA \(in the clone: make .venv/gpu\)"), started(LOCAL, "gpu"):
        pass
    monkeypatch.setattr(start_module, "find_spec", lambda name: name)
    monkeypatch.setattr(start_module, "device_count", lambda: 1)
    with pytest.raises(BadConfig, match="2 local workers, but 1 GPUs"), started(LOCAL, "gpu"):
        pass


def test_a_worker_without_a_gpu_is_an_error(small, cluster):
    with pytest.raises(BadConfig, match="a GPU is requested, but CuPy is not installed"):
        results(cluster, partial(worker_tasks.where, small), [1], "gpu")
    with pytest.raises(BadConfig, match=r"cluster: worker tls://.*: a GPU is requested, but CuPy is not installed"):
        require_gpus(cluster._client)


def test_a_gpu_runs_one_task_at_a_time(monkeypatch):
    monkeypatch.setattr(workers_module, "use_gpu", lambda: None)
    all_at_once, under_way, most = Barrier(4, timeout=240), [], []

    def piece(context, item):
        under_way.append(item)
        if context.backend == "cpu":
            all_at_once.wait()
        else:
            time.sleep(0.01)
        most.append(len(under_way))
        under_way.remove(item)

    for backend in ("cpu", "gpu"):
        most.clear()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(partial(workers_module._run, piece, backend, CodeVersion.of(Code(()))), range(8)))
    assert most == [1] * 8


def test_a_worker_that_begins_over_its_memory_says_so(tmp_path):
    config = ClusterConfig(scheduler="local", workers=1, lost_workers=0, memory="50 MB")  # less than a process takes
    with (
        pytest.raises(ClusterLost, match=r"ended for their memory: they took up to .*, and their limit is 50 MB"),
        started(config, "cpu") as cluster,
    ):
        results(cluster, worker_tasks.wait_for, [tmp_path], "cpu")


def test_a_local_cluster_that_does_not_close_is_abandoned(monkeypatch, caplog):
    how = {"protocol": "tls", "security": dask_cluster._security(LOCAL), "dashboard_address": None}
    with LocalCluster(n_workers=0, processes=False, **how) as workers, monkeypatch.context() as patched:
        patched.setattr(dask_cluster, "_END", 0.5)
        patched.setattr(LocalCluster, "_close", lambda cluster: asyncio.Event().wait())
        dask_cluster._end(workers)
    assert "a worker did not end in time" in caplog.text


def test_an_error_is_one_line_and_leaves_no_folder_behind(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "far.csv").write_text(f"src,dst,weight\n1,2,{2**62}\n2,3,{2**62}\n3,4,{2**62}\n")
    environment = clean_environment(tmp_path) | {"TMPDIR": str(tmp_path / "tmp")}
    command = ["run", "far.csv", "--out", "out", "--stages", "sssp", "--source", "1", "--cluster", "local", "--shards", "2"]
    command = [sys.executable, "-m", "pipeline.cli", *command]
    run = subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 1
    *logged, last = run.stderr.splitlines()
    assert last.startswith("graphmill: ") and "largest int64" in last
    assert all(line[2] == line[5] == ":" for line in logged), run.stderr  # this process's log lines begin with a time of day
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("end_by", "status", "wait"),
    of_the_day([(signal.SIGINT, 130, 0), (signal.SIGTERM, 143, 3)], [(signal.SIGKILL, -9, 1)]),
)
def test_no_worker_outlives_the_run(end_by, status, wait, tmp_path):
    """Not even a worker that is just starting."""
    (tmp_path / "tmp").mkdir()
    environment = clean_environment(tmp_path) | {"TMPDIR": str(tmp_path / "tmp")}
    settings = f'output = "out"\nstages = ["bfs"]\nsources = {list(range(1, 2001))}\n'  # it takes minutes if it is not ended
    (tmp_path / "run.toml").write_text(f'{settings}[graph]\nsource = "{ROOT}/data/USA-road-d.NY.gr.gz"\n')
    command = ["run", str(tmp_path / "run.toml"), "--cluster", "local"]
    with (tmp_path / "stderr").open("wb") as stderr:
        run = subprocess.Popen(
            [sys.executable, "-m", "pipeline.cli", *command], env=environment, stderr=stderr, start_new_session=True
        )
    try:
        assert eventually(lambda: len(alive(environment)) >= 3)
        time.sleep(wait)
        if end_by == signal.SIGINT:
            os.killpg(run.pid, end_by)  # as a terminal does
        else:
            run.send_signal(end_by)
        assert run.wait() == status
        assert eventually(lambda: not alive(environment))
        assert "Traceback" not in (tmp_path / "stderr").read_text()
        assert end_by == signal.SIGKILL or not list((tmp_path / "tmp").iterdir())
        # A process that is ending has no environment any more, but may still have its lock.
        assert eventually(lambda: remove_dead(tmp_path / "tmp") or not list((tmp_path / "tmp").iterdir()))
    finally:
        end(environment)


def test_a_trace_has_what_workers_did(grid, cluster, tmp_path):
    with recorded() as recorder:
        run_stage(grid, "sssp", SOURCES, Runtime(tmp_path, cluster=cluster))
    spans = recorder.taken()
    tasks = [span for span in spans if span.category == "task"]
    assert len(tasks) == len(SOURCES) and os.getpid() not in {span.process for span in tasks}
    solved = [span for span in spans if span.name == "solve sssp"]
    assert len(solved) == len(SOURCES) and {span.process for span in solved} <= {span.process for span in tasks}
    for span in solved:
        begins, ends = span.begin, span.begin + span.duration
        assert any(task.process == span.process and task.begin <= begins <= ends <= task.begin + task.duration for task in tasks)
    with recorded() as recorder:  # workers do not go on recording
        assert not recorder.taken()
