"""`graphmill estimate` and what a run refuses early: sizes of sources, figures of a real run, and too little memory or disk."""

import gzip
import json
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from kernels.generators import ends, graph500
from pipeline.cli.command import app
from pipeline.config.graph import GraphConfig
from pipeline.config.loading import run_config
from pipeline.errors import BadInput, TooLarge
from pipeline.fitting import require_fit
from pipeline.ingest import decompress
from pipeline.inspection import sizes
from pipeline.inspection.estimate import estimate, expected_seconds
from pipeline.inspection.gpu_memory import gpu_memory
from pipeline.inspection.products import TreesOfProduct, are_swept, trees_of
from pipeline.inspection.runs import bytes_of
from pipeline.inspection.sizes import sizes_of
from pipeline.run import run
from pipeline.runtime import memory
from pipeline.store import manifest

ROOT = Path(__file__).parents[3]
# The command; it prints its peak memory when it ends.
PEAK = """
import atexit
from pipeline.cli import main
from tests.memory import peak_bytes
atexit.register(lambda: print(peak_bytes()))
main()
"""


def rmat(edges: int) -> pa.Table:
    src, dst = ends(graph500(17), 0, edges)
    return pa.table({"src": src, "dst": dst, "weight": np.random.default_rng(1).integers(1, 256, edges)})


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.gr", "p sp 9 2\na 1 2 5\na 2 3 1\n", (2, 9, 4, "as the file states")),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n5 5 1\n1 2 0.5\n", (1, 5, 8, "as the file states")),
        ("a.txt", "# Nodes: 3 Edges: 2\n1 2\n2 3\n", (2, 3, 0, "as the file states")),
        ("a.txt", "1 2\n2 3\n3 900\n", (3, 4, 0, "counted")),
        ("a.csv", "src,dst,weight\n1,2,0.5\n2,3,1\n", (2, 3, 8, "counted")),
        ("a.gra", "graph\n4\n0: 1 2 #\n1: #\n2: 3 #\n3: #\n", (3, 4, 0, "counted")),
    ],
)
def test_sizes_are_stated_or_counted(name, content, expected, tmp_path):
    for path, data in ((tmp_path / name, content.encode()), (tmp_path / f"{name}.gz", gzip.compress(content.encode()))):
        path.write_bytes(data)
        found = sizes_of(GraphConfig(source=str(path)))
        assert (found.edges, found.vertices, found.weight, found.origin) == expected
        assert found.exact and found.copied


def test_sizes_of_a_parquet_file_are_in_its_footer(tmp_path):
    pq.write_table(pa.table({"src": [1, 5], "dst": [2, 3], "weight": pa.array([1.5, 2], pa.float64())}), tmp_path / "a.parquet")
    found = sizes_of(GraphConfig(source=str(tmp_path / "a.parquet")))
    assert (found.edges, found.vertices, found.weight, found.copied) == (2, 4, 8, False)
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress((tmp_path / "a.parquet").read_bytes()))
    assert not sizes_of(GraphConfig(source=str(tmp_path / "a.parquet.gz"))).exact


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_sizes_of_a_longer_text_are_estimated_from_its_first_block(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(decompress, "CHUNK", 2**18)
    monkeypatch.setattr("pipeline.ingest.source.READ", 2**14)
    table, path = rmat(100_000), tmp_path / f"a.csv{suffix}"
    with pa.output_stream(path) as file:
        pa.csv.write_csv(table, file)
    found = sizes_of(GraphConfig(source=str(path)))
    vertices = len(np.unique([table["src"].to_numpy(), table["dst"].to_numpy()]))
    assert not found.exact
    assert found.edges == pytest.approx(100_000, rel=0.1)
    assert vertices / 3 < found.vertices < 3 * vertices


def test_a_source_that_is_no_graph_is_refused(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear reader\n")
    with pytest.raises(BadInput, match=r"letter.txt"):
        sizes_of(GraphConfig(source=str(tmp_path / "letter.txt")))


@pytest.mark.parametrize(("edges", "stages"), [(1_000_000, ["bfs", "sssp", "mst", "wcc", "scc", "pagerank", "reachability"])])
def test_an_estimate_is_within_its_factor_of_a_real_run(edges, stages, tmp_path):
    """Disk and memory within 2.5; `make bounds` compares the seconds."""
    pa.csv.write_csv(rmat(edges), tmp_path / "graph.csv")
    out = tmp_path / "out"
    config = run_config(
        "test", graph={"source": str(tmp_path / "graph.csv")}, output=out, stages=stages, backend="cpu", arcs=True
    )
    found = estimate(config)
    command = ["run", config.graph.source, "--out", str(out), "--stages", ",".join(stages), "--backend", "cpu", "--arcs"]
    done = subprocess.run([sys.executable, "-c", PEAK, *command], cwd=ROOT, check=True, capture_output=True, text=True)
    used = int(done.stdout.splitlines()[-1])
    memory, disk = found.needs
    assert edges / 1.1 < found.sizes.edges < edges * 1.1
    assert 1 / 2.5 < memory.needed / used < 2.5
    assert 1 / 2.5 < disk.needed / bytes_of(out) < 2.5
    assert not found.as_before
    again = estimate(config)
    assert again.as_before and set(again.seconds) == {"edges", "graph", *stages, "arcs", "report"}


@pytest.fixture
def graph(tmp_path):
    pq.write_table(rmat(20_000), tmp_path / "graph.parquet")
    return {"source": str(tmp_path / "graph.parquet")}


def free(monkeypatch, memory: int = 2**40, disk: int = 2**40) -> None:
    for module in ("pipeline.fitting", "pipeline.inspection.estimate", "pipeline.runtime.memory"):
        monkeypatch.setattr(f"{module}.free_memory", lambda _="cpu": memory)
        monkeypatch.setattr(f"{module}.free_disk", lambda _: disk)
    monkeypatch.setattr("pipeline.inspection.estimate.private_memory", lambda: 0)  # of this process


def test_a_run_that_cannot_fit_is_refused_before_its_source_is_read(graph, tmp_path, monkeypatch):
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")
    free(monkeypatch, memory=100_000)
    with pytest.raises(TooLarge, match=r"20,000 edges takes at least \d+\.\d kB of memory, and 100\.0 kB are free o"):
        run(config)
    free(monkeypatch, disk=100_000)
    with pytest.raises(TooLarge, match=r"of disk, and 100\.0 kB are free at .*out"):
        run(config)
    assert [path.name for path in tmp_path.iterdir()] == ["graph.parquet"]
    free(monkeypatch, memory=1_000_000)
    require_fit(config, "cpu")
    free(monkeypatch, disk=1_000)  # what does not exist is reported by reading it
    require_fit(run_config("test", graph={"source": str(tmp_path / "absent.csv")}, output=tmp_path, stages=["wcc"]), "cpu")


def test_rows_are_looked_at_only_if_as_many_vertices_as_are_possible_do_not_fit(tmp_path, monkeypatch):
    ids = np.arange(20_000) % 100 * 10**9  # a hundred vertices; by the footer there may be 40,000
    pq.write_table(pa.table({"src": ids, "dst": ids[::-1]}), tmp_path / "graph.parquet", compression="none", use_dictionary=False)
    config = run_config("test", graph={"source": str(tmp_path / "graph.parquet")}, output=tmp_path / "out", stages=["wcc"])
    looked, look = [], sizes.distinct_ids
    monkeypatch.setattr(sizes, "distinct_ids", lambda *arguments: looked.append(1) or look(*arguments))
    for disk, times in ((2_000_000, 0), (700_000, 1)):  # less than 30 times the file's size
        free(monkeypatch, disk=disk)
        require_fit(config, "cpu")
        assert len(looked) == times
    free(monkeypatch, disk=50_000)
    with pytest.raises(TooLarge, match="of disk"):
        require_fit(config, "cpu")


def test_an_estimate_says_where_a_graph_is_laid_out(graph, tmp_path, capsys):
    """What is free is that within the limit of the run: nothing, if this process has more."""
    for limit, sparing in ((None, False), (memory.private_memory() // 2, True)):
        limits = {"memory": f"{limit}B"} if limit else {}
        config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu", limits=limits)
        found = estimate(config)
        assert found.memory.sparing == sparing
    keys = f'output = "out"\nstages = ["wcc"]\nbackend = "cpu"\n[graph]\nsource = "{graph["source"]}"\n'
    (tmp_path / "run.toml").write_text(f'{keys}[limits]\nmemory = "{limit}B"\n')
    with suppress(TooLarge, SystemExit):
        app(["estimate", str(tmp_path / "run.toml")])
    assert "the graph is laid out from the disk" in capsys.readouterr().out


def test_the_layout_is_refused_if_the_edges_turn_out_to_be_too_many(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.reading.require_fit", lambda *_: None)
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")
    free(monkeypatch, memory=100_000)
    with pytest.raises(TooLarge, match=r"a graph of 20,000 edges takes at least 240\.0 kB of memory, and 100\.0 kB are free"):
        run(config)
    assert not (tmp_path / "out" / "steps" / "graph").exists()


def test_a_step_is_expected_to_take_as_long_as_before_or_as_the_rates_say(graph, tmp_path):
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")
    expected = partial(expected_seconds, config, "cpu")
    assert expected("edges") is expected("graph") is expected("bfs") is None
    run(config)
    for step in ("edges", "graph", "wcc", "proof-wcc"):
        assert expected(step) == manifest.read(tmp_path / "out" / "steps" / step).manifest.seconds
    assert expected("bfs") == expected("proof-bfs") > 0  # half of the rate of both
    shutil.rmtree(tmp_path / "out" / "steps" / "graph")
    assert expected("graph") > 0


def test_products_take_trees_from_their_sources(graph, tmp_path):
    (tmp_path / "ids.csv").write_text("vertex\n" + "".join(f"{n}\n" for n in range(300)))
    pq.write_table(pa.table({"src": [1, 2], "dst": [3, 4]}), tmp_path / "pairs.parquet")
    ids = str(tmp_path / "ids.csv")
    asked = {
        "nearest": {"facilities": ids, "count": 9}, "isochrones": {"thresholds": [1, 2], "sources": ids, "polygons": True},
        "closeness": {}, "flows": {"pairs": str(tmp_path / "pairs.parquet")},
    }  # fmt: skip
    config = partial(run_config, "test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")
    assert {name: trees.number for name, trees in trees_of(config(**asked), 10**6, 2 * 10**6).items()} == {
        "nearest": 300, "isochrones": 300, "isochrone_polygons": 300, "closeness": 10**6, "flows": 2
    }  # fmt: skip
    assert are_swept(301, 10**6, 2 * 10**6) and not are_swept(2, 10**6, 2 * 10**6) and not are_swept(301, 10**6, 9 * 10**6)
    plain, found = estimate(config()), estimate(config(**asked))
    steps = [*trees_of(config(**asked), 1, 1)]
    assert [step for step in found.seconds if step != "hierarchy"] == ["edges", "graph", "wcc", *steps, "arcs", "report"]
    assert found.total > plain.total and found.needs[1].needed > plain.needs[1].needed
    with pytest.raises(BadInput, match=r"none\.csv: no such file"):
        estimate(config(nearest={"facilities": str(tmp_path / "none.csv")}))


def test_seconds_of_products_depend_on_the_product_the_weights_and_the_cores(tmp_path, monkeypatch):
    """Floats take longer than integers, flows longer than closeness, and cores share the trees of all products."""
    found = {}
    for kind in ("int64", "float64", "float32"):
        vertices = np.arange(200_000)
        weights = pa.array(np.full(len(vertices), 10**7), kind)  # larger than any id
        pq.write_table(pa.table({"src": vertices, "dst": vertices + 1, "weight": weights}), tmp_path / "path.parquet")
        asked = {"closeness": {}, "flows": {}, "isochrones": {"thresholds": [5]}}
        config = run_config("test", graph={"source": str(tmp_path / "path.parquet")}, output=tmp_path, stages=["wcc"], **asked)
        for number in (2, 4):
            monkeypatch.setattr("pipeline.inspection.estimate.cores", lambda number=number: number)
            made = estimate(config.model_copy(update={"backend": "cpu"}))
            assert made.sizes.vertices == len(vertices) + 1  # whatever the weights are
            assert made.sizes.floats == (kind != "int64")
            found[kind, number] = made.seconds
    for product in ("flows", "isochrones", "closeness"):
        assert found["int64", 4][product] < found["int64", 2][product] < found["float64", 2][product]
    assert found["float32", 2] == found["float64", 2]
    assert found["int64", 2]["flows"] == pytest.approx(2 * found["int64", 4]["flows"], rel=0.01)
    assert found["float64", 2]["flows"] > 2 * found["int64", 2]["flows"]
    assert found["int64", 2]["flows"] > found["int64", 2]["closeness"]


def test_the_memory_of_a_gpu_is_that_of_the_layout_or_of_the_step_that_takes_the_most(graph, tmp_path):
    pairs = str(tmp_path / "pairs.parquet")
    pq.write_table(pa.table({"src": [1], "dst": [3]}), pairs)
    shape, config = memory.Shape(2 * 10**6, 10**6, 8, False), partial(run_config, "test", graph=graph, output=tmp_path / "out")
    layout = gpu_memory(config(stages=["bfs"]), shape, {})
    for asked in (
        {"stages": ["wcc", "max_flow"], "max_flow": {"pairs": pairs}},
        {"stages": ["bfs", "reachability"], "reachability": {"dimensions": 9}},
    ):
        assert layout < gpu_memory(config(**asked), shape, {}) < 4 * layout
    assert layout == gpu_memory(config(stages=["bfs"]), shape, {"nearest": TreesOfProduct(2, 0.0, "closeness")})
    assert layout < gpu_memory(config(stages=["bfs"]), shape, {"nearest": TreesOfProduct(300, 0.0, "closeness")})
    near, of_trees = (
        config(stages=["bfs"], nearest={"facilities": pairs, "count": 1000}),
        {"nearest": TreesOfProduct(200, 0.0, "nearest")},
    )
    assert gpu_memory(near, shape, of_trees) > 200 * 16 * shape.vertices
    assert gpu_memory(config(stages=["betweenness"]), memory.Shape(1, 10**9, 0, False), {}) > 100e9


def test_the_command_prints_figures_and_fails_if_something_does_not_fit(graph, tmp_path, monkeypatch, capsys):
    command = ["estimate", graph["source"], "--backend", "cpu", "--stages", "bfs,wcc", "--out", str(tmp_path / "out")]
    app(command, result_action="return_value", exit_on_error=False)
    printed = capsys.readouterr().out
    for words in (
        "graph: 20,000 edges (as the file states)",
        "cpu, ",
        "whole run",
        "bfs",
        "seconds are from measured rates",
        "disk",
    ):
        assert words in printed
    free(monkeypatch, memory=100_000)
    with pytest.raises(TooLarge, match=r"graph: would take about \d+\.\d MB of memory where 100\.0 kB are free"):
        app([*command, "--json"], result_action="return_value", exit_on_error=False)
    found = json.loads(capsys.readouterr().out)
    assert found["sizes"]["edges"] == 20_000 and found["total"] > sum(found["seconds"].values())
    assert [need["what"] for need in found["needs"]] == ["memory", "disk"]


def test_what_is_certain_is_less_than_what_is_stored(graph, tmp_path):
    config = run_config("test", graph=graph, output=tmp_path / "out", stages=["wcc"], backend="cpu")
    published = run(config)
    stored = bytes_of(tmp_path / "out" / "steps" / "graph")
    shape = memory.Shape(20_000, published.facts["graph"]["vertices"], 4, False)
    assert stored / 2 < shape.disk() < 2 * stored
