"""The whole pipeline on the GPU: from the same files, the tables of the CPU to the byte (PageRank: to its tolerance), proved."""

# ruff: noqa: E402  (the imports below need CuPy, and what the pipeline needs in addition)
import shutil
from importlib.metadata import distributions
from pathlib import Path

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.pagerank.certificate import FARTHEST
from kernels.registry import BY_NAME
from pipeline.cluster.protocol import TaskContext
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import STAGES, RunConfig
from pipeline.config.stages import ReachabilityConfig
from pipeline.errors import BadInput, BadSource, ProofFailed, TooLarge
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.runtime.backend import choose, gpu
from pipeline.steps.derived.forest import root
from pipeline.steps.index import build_index
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.steps.stages import run_stage
from pipeline.steps.verify import prove
from pipeline.store.digests import digest_of_file
from pipeline.store.graph import open_graph
from pipeline.store.manifest import Folder, make, read
from pipeline.tables import files as tables
from pipeline.tables.row_lookup import rows_of
from tests.gpu.inputs import poison, random_edges
from tests.graphs import FIGURE_1, NAMED_GRAPHS, EdgeList

DATA = Path(__file__).parents[3] / "data"
BACKENDS = ("cpu", "gpu")


def csv_of(edges: EdgeList, folder: Path) -> GraphConfig:
    """The edge list as a file; an isolated vertex is a self-loop, which the layout drops."""
    rows = [*edges.edges, *((vertex, vertex, 1)[: 3 if edges.weighted else 2] for vertex in edges.vertices)]
    lines = [("src", "dst", "weight")[: 3 if edges.weighted else 2], *rows]
    (folder / "graph.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    return GraphConfig(source=str(folder / "graph.csv"), directed=edges.directed)


def weighted(edges: EdgeList, weights: np.ndarray) -> EdgeList:
    drawn = np.random.default_rng(4).choice(weights, len(edges.edges)).tolist()
    return EdgeList("weighted", tuple((*edge[:2], w) for edge, w in zip(edges.edges, drawn, strict=True)), edges.directed)


def same_on_both(source: GraphConfig, folder: Path, sources: tuple[int, ...] = (), **layout: object) -> None:
    """Every step on both backends, the stages and proofs of the CPU from the GPU's graph and the other way round."""
    edges = ingest(source, folder)
    graphs = {backend: lay_out(edges, LayoutConfig(**layout), Runtime(folder / backend, backend)) for backend in BACKENDS}
    assert graphs["cpu"].digest == graphs["gpu"].digest
    for stage in STAGES:
        poison()
        answers = {where: run_stage(graphs[where], stage, sources, Runtime(folder / where, where)) for where in BACKENDS}
        assert {where: answer.facts["backend"] for where, answer in answers.items()} == dict(zip(BACKENDS, BACKENDS, strict=True))
        if BY_NAME[stage].exact:
            assert answers["cpu"].manifest.files == answers["gpu"].manifest.files, stage
            assert answers["cpu"].digest == answers["gpu"].digest, stage
        else:
            apart = [tables.read(answer.path)["pagerank"].to_numpy() for answer in answers.values()]
            assert float(np.abs(apart[0] - apart[1]).sum()) <= 2 * FARTHEST
        for where, other in (BACKENDS, BACKENDS[::-1]):
            proof = prove(graphs[where], answers[other], False, Runtime(folder / where, where))
            assert (proof.facts["holds"], proof.facts["backend"]) == (True, where)
        if stage == "mst":
            rooted = {where: root(edges, graphs[where], answers[where], Runtime(folder / where, where)) for where in BACKENDS}
            assert rooted["cpu"].manifest.files == rooted["gpu"].manifest.files


def test_new_york(tmp_path):
    same_on_both(GraphConfig(source=str(DATA / "USA-road-d.NY.gr.gz")), tmp_path, (1, 151_234), order="windowed")


def test_facebook(tmp_path):
    same_on_both(GraphConfig(source=str(DATA / "facebook_combined.txt.gz"), directed=False), tmp_path, (0, 107))


def test_wiki_vote(tmp_path):
    same_on_both(GraphConfig(source=str(DATA / "wiki-Vote.txt.gz"), directed=True), tmp_path)


@pytest.mark.parametrize(
    "edges", [edges for edges in NAMED_GRAPHS if edges.ids and len(edges.ids) <= 500], ids=lambda edges: edges.name
)
def test_named_graphs(edges, tmp_path):
    same_on_both(csv_of(edges, tmp_path), tmp_path, (edges.ids[0],))


@pytest.mark.parametrize(
    "weights", [np.arange(9), np.array([2**40, 3]), np.array([0, 0.1, 0.25]), np.array([0.1, 2**0.5])], ids=str
)
@pytest.mark.parametrize("directed", [False, True])
def test_random_graphs(weights, directed, tmp_path):
    edges = weighted(random_edges(6, 3000, 9000, directed, 2), weights)
    same_on_both(csv_of(edges, tmp_path), tmp_path, order="windowed", window=512, shards=3)


def test_a_step_that_the_other_backend_made_is_valid(tmp_path):
    edges = ingest(csv_of(FIGURE_1, tmp_path), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path, "cpu"))
    for stage in STAGES:
        run_stage(graph, stage, (), Runtime(tmp_path, "cpu"))
        assert run_stage(graph, stage, (), Runtime(tmp_path, "gpu")).reused == BY_NAME[stage].exact


def test_a_table_that_was_changed_is_not_proved(tmp_path):
    graph = lay_out(ingest(csv_of(FIGURE_1, tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path, "gpu"))
    for stage in STAGES:
        true = run_stage(graph, stage, (), Runtime(tmp_path, "gpu"))
        table = tables.read(true.path)
        for position, column in enumerate(table.column_names):
            values = table[column].to_pylist()
            for changed in ([*values[:-1], 99], values[1:] + values[:1]):
                if changed == values:
                    continue
                wrong = table.set_column(position, table.schema.field(column), [changed])
                with pytest.raises(ProofFailed):
                    prove(graph, forged(true, wrong, f"{column} {changed}", tmp_path), False, Runtime(tmp_path, "gpu"))


def forged(true: Folder, table: object, name: str, folder: Path) -> Folder:
    stage = true.manifest.step

    def write(fresh: Path) -> dict:
        dimensions = true.facts.get("dimensions", 0)
        tables.write(fresh, tables.table_of(stage), true.facts["weight"], table.to_batches(), dimensions)
        return true.facts

    place = folder / "forged" / stage
    if (index := true.path.with_name("reachability_index")).exists():
        shutil.copytree(index, place.with_name(index.name), dirs_exist_ok=True)
    return make(place, stage, {**true.manifest.inputs, "forged": name}, {}, write)


def test_pairs_are_answered_alike(tmp_path):
    from pipeline.steps.reach import reach

    source = GraphConfig(source=str(DATA / "wiki-Vote.txt.gz"), directed=True)
    graph = lay_out(ingest(source, tmp_path), LayoutConfig(), Runtime(tmp_path, "gpu"))
    indexes = {where: build_index(graph, ReachabilityConfig(), Runtime(tmp_path / where, where)) for where in BACKENDS}
    assert indexes["cpu"].digest == indexes["gpu"].digest
    ids = open_graph(graph).ids
    src, dst = np.random.default_rng(5).choice(np.append(ids, 99_999), (2, 3_000_000))
    pq.write_table(pa.table({"src": src, "dst": dst}), tmp_path / "pairs.parquet")
    pairs = str(tmp_path / "pairs.parquet")
    poison()
    answers = [reach(indexes[other], pairs, tmp_path / where / "reached", "null", True, Runtime(tmp_path / where, where))
               for where, other in (BACKENDS, BACKENDS[::-1])]  # fmt: skip
    assert answers[0].manifest.files == answers[1].manifest.files
    assert [answer.facts["backend"] for answer in answers] == ["cpu", "gpu"]
    with pytest.raises(BadInput, match="99999 is not in the graph"):
        reach(indexes["gpu"], pairs, tmp_path / "refused", runtime=Runtime(tmp_path, "gpu"))
    print([answer.facts["seconds"] for answer in answers])


def test_witness_paths_are_the_same(tmp_path):
    from pipeline.steps.paths import find_paths
    from pipeline.steps.reach import reach

    edges = random_edges(6, 60, 90, True, 2)
    graph = lay_out(ingest(csv_of(edges, tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path, "gpu"))
    src, dst = np.array([(src, dst) for src in edges.ids for dst in edges.ids]).T
    pq.write_table(pa.table({"src": src, "dst": dst}), tmp_path / "pairs.parquet")
    reached = reach(
        build_index(graph, ReachabilityConfig(), Runtime(tmp_path)), str(tmp_path / "pairs.parquet"), tmp_path / "reached"
    )
    poison()
    found = [find_paths(graph, reached, tmp_path / where, Runtime(tmp_path, where)) for where in BACKENDS]
    assert found[0].manifest.files == found[1].manifest.files
    assert [(paths.facts["backend"], paths.facts["paths"]) for paths in found] == [
        (where, reached.facts["reachable"]) for where in BACKENDS
    ]


def test_a_graph_that_cannot_fit_is_refused(tmp_path):
    graph = lay_out(ingest(csv_of(FIGURE_1, tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path, "gpu"))
    with pytest.raises(TooLarge, match="MiB are free on the GPU"):
        build_index(graph, ReachabilityConfig(dimensions=10**12), Runtime(tmp_path, "gpu"))


def test_ids_are_looked_up_on_the_gpu(tmp_path):
    folder = lay_out(ingest(csv_of(FIGURE_1, tmp_path), tmp_path), LayoutConfig(), Runtime(tmp_path, "gpu"))
    context = TaskContext("gpu")
    graph = context.whole_graph(folder).graph
    assert context.whole_graph(folder).graph is graph
    ids = np.array([6, 0, 99, -1, 3])
    rows = rows_of(graph, ids)
    assert isinstance(rows, cupy.ndarray)
    assert rows.tolist() == rows_of(open_graph(folder), ids).tolist()
    with pytest.raises(BadSource, match="source 99 is not in the graph"):
        run_stage(folder, "bfs", (0, 99), Runtime(tmp_path, "gpu"))


@pytest.mark.real_gpu(reason="it names the driver")
def test_the_gpu_is_chosen_and_named():
    assert (choose("auto"), choose("gpu"), choose("cpu")) == ("gpu", "gpu", "cpu")
    found = gpu()
    assert set(found) == {"gpu", "driver", "cuda", "cupy"}
    assert found["cupy"] == cupy.__version__
    assert all(found.values()) and found["driver"] != "unknown"


@pytest.mark.skipif(not list(distributions(name="graphmill")), reason="graphmill is not installed, only there")
def test_a_whole_run_records_its_backend(tmp_path):
    for module in ("jinja2", "matplotlib"):
        pytest.importorskip(module)
    from pipeline.run import run

    source = csv_of(FIGURE_1, tmp_path)
    runs = {
        backend: run(RunConfig(graph=source, output=tmp_path / backend, oracle=True, backend=backend))
        for backend in ("cpu", "auto")
    }
    facts = runs["auto"].facts
    assert facts["backend"] == "gpu"
    assert {facts["steps"][stage]["backend"] for stage in STAGES} == {"gpu"}
    assert facts["machine"]["gpu"] in (runs["auto"].path / "report.html").read_text(encoding="utf-8")
    assert {"cupy", "cuda", "driver"} <= set(facts["versions"])
    for name, entry in runs["cpu"].manifest.files.items():
        assert (
            name.startswith(("pagerank", "report", "reachability_index/manifest")) or runs["auto"].manifest.files[name] == entry
        )


@pytest.mark.skipif(not list(distributions(name="graphmill")), reason="graphmill is not installed, only there")
def test_a_run_from_parquet_publishes_the_tables_of_the_cpu(tmp_path, monkeypatch):
    """The edges are handed on as they are read, the graph stays on the GPU, and stages take turns."""
    for module in ("jinja2", "matplotlib"):
        pytest.importorskip(module)
    from pipeline.run import run

    random = np.random.default_rng(5)
    columns = {"src": random.integers(0, 400, 1500), "dst": random.integers(0, 400, 1500), "weight": random.integers(0, 9, 1500)}
    pq.write_table(pa.table(columns), tmp_path / "graph.parquet", row_group_size=300)
    monkeypatch.setattr("pipeline.cluster.open_graphs.open_counted", None)
    monkeypatch.setattr("pipeline.runtime.memory.cores", lambda: 4)
    published = {}
    for backend in BACKENDS[::-1]:
        source = GraphConfig(source=str(tmp_path / "graph.parquet"), directed=False)
        asked = RunConfig(graph=source, output=tmp_path / backend, stages=STAGES, backend=backend)
        published[backend] = run(asked)
        monkeypatch.undo()
    for stage in STAGES:
        tables_of = [
            {name: entry for name, entry in run.manifest.files.items() if name.startswith(f"{BY_NAME[stage].table_name}/")}
            for run in published.values()
        ]
        assert tables_of[0]
        assert tables_of[0] == tables_of[1] or not BY_NAME[stage].exact


def test_tables_of_many_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_PER_GROUP", 7)
    monkeypatch.setattr(tables, "ROWS_PER_FILE", 14)
    edges = weighted(random_edges(1, 90, 400, False, 2), np.array([0.25, 1.5, 2.75]))
    graph = csv_of(edges, tmp_path)
    runs = {where: run(RunConfig(graph=graph, output=tmp_path / where, backend=where)) for where in BACKENDS}
    assert "counted" in read(tmp_path / "gpu" / "steps" / "graph").facts  # so weights are added in decimal units
    for name in ("bfs", "sssp", "mst", "wcc", "forest", "vertices"):
        files = [[*map(digest_of_file, tables.files(published.path / name))] for published in runs.values()]
        assert files[0] == files[1] and len(files[0]) > 5, name
