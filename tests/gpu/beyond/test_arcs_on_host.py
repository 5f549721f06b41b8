"""Runs whose graph the GPU's memory does not hold: it makes ranges of rows, and reads arcs from the host's memory."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import gc
import logging

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic", "jinja2"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.distributed.gpu.memory import memory_of
from kernels.registry import BY_NAME
from pipeline.cluster.open_graphs import OpenGraphs
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.products import GraphOptions
from pipeline.config.run import RunConfig
from pipeline.errors import ProofFailed, TooLarge
from pipeline.ingest import ingest
from pipeline.inspection.estimate import estimate
from pipeline.run import run
from pipeline.runtime import beyond_gpu
from pipeline.runtime.backend import limited_gpu
from pipeline.steps.layout import lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.stored_graph import stored_graph
from pipeline.steps.verify import prove
from pipeline.store.facts import GraphFacts
from pipeline.store.manifest import Folder, make
from pipeline.tables import files as tables
from tests import emulator
from tests.counts import in_turn, of_the_day

pytestmark = pytest.mark.sampled
tiny = pytest.mark.skipif(not emulator.wanted(), reason="the limits of the test leave out what CuPy's own kernels take")
READING = [name for name, algorithm in BY_NAME.items() if algorithm.costs.pinned]
WEIGHTS = {
    "none": None,
    "int32": np.arange(9),
    "int64": np.array([2**40, 3]),
    "counted": np.array([0, 0.1, 0.25]),
    "double": None,
}


def source(folder, weights="int32", directed=False, edges=9000, vertices=1000) -> GraphConfig:
    random = np.random.default_rng(3)
    src, dst = (vertices * random.random((2, edges)) ** 2).astype(np.int64)
    columns = {"src": src, "dst": dst}
    if weights != "none":
        drawn = WEIGHTS[weights]
        columns["weight"] = random.random(edges) if drawn is None else random.choice(drawn, edges)
    pq.write_table(pa.table(columns), folder / "graph.parquet", row_group_size=1000)
    return GraphConfig(source=str(folder / "graph.parquet"), directed=directed)


def configured(folder, graph, name, limit=None, **more) -> RunConfig:
    limits = {"gpu_memory": f"{limit + kept()}B"} if limit else {}
    asked = {"backend": "gpu", "stages": READING} | more
    return RunConfig(graph=graph, output=folder / name, limits=limits, **asked)


def kept() -> int:
    """Bytes of arrays that live as long as the process, of tests before."""
    return int(cupy.get_default_memory_pool().used_bytes())


def digests(published: Folder) -> dict[str, str]:
    return {name: entry.blake3 for name, entry in published.manifest.files.items() if name.endswith(".parquet")}


@pytest.fixture(autouse=True)
def collected():
    """Arrays of tests before this one do not count."""
    gc.collect()


@pytest.fixture
def small_bands(monkeypatch):
    """Of which PageRank has one at a time on the GPU; a small graph would have one only."""
    monkeypatch.setattr("kernels.gpu.tiles.bands._BAND", 2048)
    monkeypatch.setattr("kernels.algorithm.BAND_ARCS", 2048)


@tiny
@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("directed", of_the_day([False, True]))
def test_a_run_in_little_memory_publishes_the_same_tables(directed, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    graph = source(tmp_path, directed=directed, edges=20_000, vertices=1500)
    stages = [*READING, "scc"]
    whole = run(configured(tmp_path, graph, "whole", stages=stages))
    assert not any("arcs_in" in step for step in whole.facts["steps"].values())
    of_graph, on_cpu = whole.facts["graph"], {"scc", "mst"} if directed else {"scc"}
    reading = [BY_NAME[stage].costs.pinned for stage in stages if stage not in on_cpu]
    limit = max(stage.needed(of_graph["vertices"], of_graph["arcs"], not directed) for stage in reading)
    gc.collect()
    little = run(configured(tmp_path, graph, "little", limit, stages=stages))
    assert digests(little) == digests(whole)
    steps = little.facts["steps"]
    for stage in stages:
        for step in (steps[stage], steps[f"proof-{stage}"]):
            where = ("cpu", None) if stage in on_cpu else ("gpu", "host")
            assert (step["backend"], step.get("arcs_in")) == where, stage
    assert (steps["graph"]["backend"], steps["graph"]["arcs_in"]) == ("gpu", "host")
    assert "graph: laid out in ranges of rows" in caplog.text
    assert "the GPU reads them from the host's memory" in caplog.text
    assert "scc: computed on the CPU: its kernels need the arcs in the GPU's memory" in caplog.text
    if directed:
        assert "mst: computed on the CPU: it takes" in caplog.text
    assert cupy.get_default_memory_pool().get_limit() == 0


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize(("directed", "weights"), in_turn(4, [False, True], [*WEIGHTS]))
def test_every_stage_with_arcs_on_the_host(weights, directed, tmp_path, monkeypatch):
    """The answers are those of the CPU and of arcs on the GPU; what was changed is not proved."""
    edges = ingest(source(tmp_path, weights, directed), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    expected = {}
    for stage in READING:
        where = "cpu" if BY_NAME[stage].exact else "gpu"
        expected[stage] = run_stage(graph, stage, (), Runtime(tmp_path / where, where)).manifest.files
    monkeypatch.setattr(beyond_gpu, "held_by_gpu", lambda *_: False)
    runtime = Runtime(tmp_path / "host", "gpu")
    assert runtime.arcs_of(graph).memory == "host"
    for stage in READING:
        answer = run_stage(graph, stage, (), runtime)
        assert answer.manifest.files == expected[stage], stage
        proof = prove(graph, answer, False, runtime)
        assert {answer.facts["arcs_in"], proof.facts["arcs_in"]} == {"host"}
        with pytest.raises(ProofFailed):
            prove(graph, changed(answer, tmp_path / "forged" / stage), False, runtime)
    opened = runtime.cluster.open_graphs.graph(graph, "gpu")
    for csr in (opened.out, opened.into):
        assert {memory_of(array) for array in (csr.indices, csr.weights) if array is not None} == {"host"}
        assert memory_of(csr.offsets) == "device"


def changed(true: Folder, place) -> Folder:
    """The answer with another value in the last row."""
    table = tables.read(true.path)
    column = "weight" if "weight" in table.column_names else table.column_names[-1]
    position, values = table.column_names.index(column), table[column].to_pylist()
    last = next(row for row in reversed(range(len(values))) if values[row] is not None)
    values[last] += 1
    wrong = table.set_column(position, table.schema.field(column), [values])

    def write(fresh):
        tables.write(fresh, tables.table_of(true.manifest.step), true.facts["weight"], wrong.to_batches(), 0)
        return true.facts

    return make(place, true.manifest.step, {**true.manifest.inputs, "forged": column}, {}, write)


@tiny
def test_a_stage_that_does_not_fit_beside_the_arcs_runs_on_the_cpu(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    graph = source(tmp_path, edges=30_000)
    facts = GraphFacts.of(lay_out(ingest(graph, tmp_path), LayoutConfig(), Runtime(tmp_path)))
    need = {stage: BY_NAME[stage].costs.pinned.needed(facts.vertices, facts.arcs, True) for stage in READING}
    assert min(need, key=need.__getitem__) == "wcc"
    little = run(configured(tmp_path, graph, "little", need["wcc"], stages=["wcc", "mst"]))
    steps = little.facts["steps"]
    assert [steps[stage]["backend"] for stage in ("wcc", "mst")] == ["gpu", "cpu"]
    assert "graph: laid out in ranges of rows, because it takes" in caplog.text
    assert "mst: computed on the CPU: it takes" in caplog.text
    on_cpu = run(configured(tmp_path, graph, "cpu", stages=["wcc", "mst"], backend="cpu"))
    assert digests(little) == digests(on_cpu)


def test_without_memory_for_the_vertices_the_cpu_computes(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    little = run(configured(tmp_path, source(tmp_path), "little", 5000, stages=["wcc"]))
    assert little.facts["steps"]["wcc"]["backend"] == "cpu"
    assert "of the GPU's memory beside the arcs, and 5.0 kB are free" in caplog.text


def test_products_of_arcs_that_a_gpu_does_not_hold_are_made_on_the_cpu(tmp_path, monkeypatch):
    published = run(configured(tmp_path, source(tmp_path), "out", stages=["wcc"]))
    monkeypatch.setattr(beyond_gpu, "held_by_gpu", lambda *_: False)
    with stored_graph(str(published.path.parents[1]), GraphOptions(backend="gpu")) as (found, runtime):
        assert runtime.backend == "cpu" and found.graph.digest


def test_a_worker_holds_the_arcs_of_a_graph_on_its_gpu(tmp_path, monkeypatch):
    """Where they are is decided by a run, in its own process."""
    graph = lay_out(ingest(source(tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path))
    monkeypatch.setattr(beyond_gpu, "held_by_gpu", lambda *_: False)
    assert memory_of(OpenGraphs().graph(graph, "gpu").out.indices) == "device"


def test_without_host_memory_for_pinned_arcs_stages_run_on_maps(tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(beyond_gpu, "held_by_gpu", lambda *_: False)
    monkeypatch.setattr(beyond_gpu, "free_memory", lambda *_: 1000)
    graph = lay_out(ingest(source(tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path))
    runtime = Runtime(tmp_path, "gpu")
    assert runtime.for_stage(BY_NAME["bfs"], graph).backend == "cpu"
    assert "stages are computed on the CPU" in caplog.text
    monkeypatch.setattr("pipeline.runtime.memory.free_memory", lambda *_: 1000)
    with pytest.raises(TooLarge, match="a graph whose arcs are pinned for the GPU takes up to"):
        runtime.cluster.open_graphs.graph(graph, "gpu")


@tiny
@pytest.mark.parametrize(("limit", "where"), [(9000 * (12 + 16) + 1000, "gpu"), (50_000, "cpu")])
def test_a_layout_that_runs_out_of_the_gpus_memory(limit, where, tmp_path, caplog):
    """The least that it takes is free, but not what it takes; or not even the vertices have memory."""
    caplog.set_level(logging.INFO)
    edges = ingest(source(tmp_path), tmp_path)
    expected = lay_out(edges, LayoutConfig(), Runtime(tmp_path / "cpu"))
    with limited_gpu(limit + kept()):
        found = lay_out(edges, LayoutConfig(), Runtime(tmp_path / "gpu", "gpu"))
    if where == "gpu":
        assert "graph: laid out in ranges of rows: Out of memory" in caplog.text
    else:
        assert "graph: laid out on the CPU: the vertices of a graph take" in caplog.text
    assert (found.facts["backend"], found.manifest.files) == (where, expected.manifest.files)
    assert [path.name for path in (tmp_path / "gpu").iterdir()] == ["graph"]


def test_a_layout_without_memory_for_pinned_arcs_is_the_cpus(tmp_path, monkeypatch, caplog):
    edges = ingest(source(tmp_path), tmp_path)
    monkeypatch.setattr(beyond_gpu, "free_memory", lambda *_: 1000)
    assert lay_out(edges, LayoutConfig(), Runtime(tmp_path, "gpu")).facts["backend"] == "cpu"
    assert "graph: laid out on the CPU, because it takes" in caplog.text


@pytest.mark.usefixtures("laid_out_in_ranges")
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize(("directed", "parallel", "weights"), in_turn(7, [False, True], ["keep", "lightest"], [*WEIGHTS]))
def test_arcs_of_a_layout_in_ranges_stay_where_stages_read_them(weights, parallel, directed, shards, tmp_path, monkeypatch):
    """Its files are the CPU's, its proof holds, and a stage opens no other arrays, unless weights are counted."""
    edges, layout = ingest(source(tmp_path, weights, directed), tmp_path), LayoutConfig(shards=shards)
    rule = Parallels(rule=parallel)
    expected = lay_out(edges, layout, Runtime(tmp_path / "cpu"), parallel=rule)
    monkeypatch.setattr(beyond_gpu, "held_by_gpu", lambda *_: False)
    runtime = Runtime(tmp_path / "gpu", "gpu")
    graph = lay_out(edges, layout, runtime, parallel=rule)
    assert (graph.facts["arcs_in"], graph.manifest.files) == ("host", expected.manifest.files)
    assert graph.facts["proof"]["rules"] == expected.facts["proof"]["rules"]
    opened = []
    monkeypatch.setattr("pipeline.cluster.open_graphs.open_with_arcs_on_host", lambda *given: opened.append(given))
    runtime.cluster.open_graphs.graph(graph, "gpu")
    assert bool(opened) == ("counted" in graph.facts)


@pytest.mark.usefixtures("laid_out_in_ranges")
def test_arcs_that_the_gpu_holds_after_all_are_opened_there(tmp_path):
    runtime = Runtime(tmp_path, "gpu")
    graph = lay_out(ingest(source(tmp_path), tmp_path), LayoutConfig(), runtime)
    assert graph.facts["arcs_in"] == "host"
    assert memory_of(runtime.cluster.open_graphs.graph(graph, "gpu").out.indices) == "device"


@pytest.fixture
def laid_out_in_ranges(monkeypatch):
    """As if the GPU did not hold the edges."""
    free = beyond_gpu.free_memory
    monkeypatch.setattr(beyond_gpu, "free_memory", lambda *of: 0 if of == ("gpu",) else free(*of))


def test_an_estimate_says_where_arcs_are(tmp_path):
    graph = source(tmp_path)
    assert estimate(configured(tmp_path, graph, "out")).arcs_in == "device"
    found = estimate(configured(tmp_path, graph, "out", 120_000))
    assert found.arcs_in == "host"
    assert {need.what: need.free for need in found.needs}["GPU memory"] == 120_000
