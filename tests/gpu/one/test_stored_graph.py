"""Edges and stored graphs of the GPU have the same bytes, facts and refusals as the CPU's."""

# ruff: noqa: E402  (the imports below need CuPy)

import errno
import os
import signal
from itertools import product
from pathlib import Path
from threading import Event

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
for module in ("fsspec", "pyarrow", "pydantic"):
    pytest.importorskip(module)

import pyarrow as pa
import pyarrow.parquet as pq

from kernels.distributed.gpu.memory import pinned_array
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.config.run import RunConfig
from pipeline.errors import BadInput, Damaged
from pipeline.ingest import ingest
from pipeline.run import run
from pipeline.steps.layout import PLAIN, lay_out
from pipeline.steps.parallel import Parallels
from pipeline.steps.parallel.merging import merge_parallel
from pipeline.steps.runtime import Runtime
from pipeline.store import arrays
from pipeline.store.digests import digest_of_file
from pipeline.store.edges import HeldEdges, read_edges
from pipeline.store.graph import open_graph
from pipeline.store.manifest import read
from pipeline.store.scratch import remove_dead
from tests import emulator
from tests.edge_lists import edge_folder, table_folder
from tests.gpu.inputs import poison, random_edges
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.stored_graphs import validate

LAYOUTS = [
    (LayoutConfig(order=order, window=8, shards=shards, self_loops=loops, symmetrise=symmetrise), parallel)
    for (order, shards), loops, parallel, symmetrise in product(
        [("degree", 1), ("windowed", 3), ("source", 7)], ["drop", "keep"], ["lightest", "keep"], [False, True]
    )
]


def check(edges, layout: LayoutConfig, tmp_path, parallel: Parallels = PLAIN) -> None:
    expected = lay_out(edges, layout, Runtime(tmp_path / "cpu"), (), parallel)
    poison()
    found = lay_out(edges, layout, Runtime(tmp_path / "gpu", "gpu"), (), parallel)
    assert not found.reused
    assert found.manifest.files == expected.manifest.files
    differing = {"backend": "gpu", "proof": found.facts["proof"]}
    assert found.facts == expected.facts | differing
    assert found.facts["proof"]["rules"] == expected.facts["proof"]["rules"]
    validate(found)


@pytest.mark.parametrize(
    ("layout", "parallel"), LAYOUTS, ids=lambda of: of if isinstance(of, str) else "-".join(map(str, of.model_dump().values()))
)
def test_every_option(layout, parallel, tmp_path):
    edges = random_edges(1, 300, 2500, True, 2)
    check(edge_folder(tmp_path / "none", edges), layout, tmp_path / "none", Parallels(parallel))
    weighted = EdgeList("weighted", tuple((src, dst, (src + dst) % 11) for src, dst in edges.edges), edges.directed)
    for weight in ("int64", "float"):
        check(edge_folder(tmp_path / weight, weighted, weight), layout, tmp_path / weight, Parallels(parallel))


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, tmp_path):
    for directed in (False, True):
        work = tmp_path / str(directed)
        check(edge_folder(work, EdgeList(edges.name, edges.edges, directed, edges.vertices)), LayoutConfig(shards=2), work)


def test_a_heavier_parallel_arc_that_is_an_error(tmp_path):
    for name, weight in (("alike", 5), ("heavier", 7)):
        edges = edge_folder(tmp_path / name, EdgeList(name, ((1, 2, 5), (2, 3, 4), (2, 1, weight)), directed=False))
        asked = LayoutConfig(), Runtime(tmp_path / name, "gpu"), (), Parallels("error")
        if name == "alike":
            assert lay_out(edges, *asked).facts["parallel_arcs_dropped"] == 2
        else:
            with pytest.raises(BadInput, match="of weight 7 has a parallel one that is lighter"):
                lay_out(edges, *asked)


@pytest.mark.parametrize("declared", [0, 9])
def test_declared_vertices_without_edges(declared, tmp_path):
    table = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())})
    check(table_folder(tmp_path, table, first_id=3, declared_vertices=declared), LayoutConfig(shards=2), tmp_path)


@pytest.mark.parametrize("length", [0, 1, 1000])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_file_has_the_digest_that_the_gpu_computes(length, pinned, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.store.arrays._PART", 64)
    array, path = cupy.arange(length), tmp_path / "array.npy"
    if pinned:
        array, _ = pinned_array(length, array.dtype)
        array[...] = cupy.arange(length)
    with arrays.Background() as background:
        background.save(path, array)
        assert path.stat().st_size == 128 + array.nbytes
        background.finish()
    assert background.digests() == {path: digest_of_file(path)}
    assert np.array_equal(np.load(path), np.arange(length))


def test_the_laid_out_graph_stays_on_the_gpu(tmp_path, monkeypatch):
    runtime = Runtime(tmp_path, "gpu")
    graph = lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), runtime)
    monkeypatch.setattr("pipeline.store.graph.open_graph", None)
    kept, stored = runtime.cluster.open_graphs.graph(graph, "gpu"), open_graph(graph)
    for name in ("ids", "rows_by_id"):
        assert np.array_equal(cupy.asnumpy(getattr(kept, name)), getattr(stored, name))
    for side in ("out", "into"):
        for name in ("offsets", "indices", "weights"):
            found, expected = (getattr(getattr(each, side), name) for each in (kept, stored))
            assert expected is None if found is None else np.array_equal(cupy.asnumpy(found), expected)


@pytest.fixture
def faulty_disk(monkeypatch):
    real = arrays._write

    def faulty(file, array, parts):
        real(file, array, parts)
        if Path(file.name).name == "out-indices.npy":
            (last,) = array[-1:].tolist()
            os.pwrite(file.fileno(), bytes([last & 255 ^ 1]), os.fstat(file.fileno()).st_size - array.itemsize)

    monkeypatch.setattr(arrays, "_write", faulty)


@pytest.mark.usefixtures("faulty_disk")
def test_a_file_that_differs_from_the_kept_graph_is_not_stored(tmp_path):
    with pytest.raises(Damaged, match="differs from the array in memory"):
        lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), Runtime(tmp_path, "gpu"))
    assert not (tmp_path / "graph").exists()


@pytest.mark.usefixtures("faulty_disk")
def test_a_run_compares_the_files_with_the_kept_graph_before_it_publishes(tmp_path):
    with pytest.raises(Damaged, match=r"out-indices\.npy: its BLAKE3 digest differs"):
        run(of_two_edges(tmp_path))
    assert not (tmp_path / "out" / "latest").exists()


@pytest.fixture
def full_disk(monkeypatch):
    def full(file, *_):
        raise OSError(errno.ENOSPC, "No space left on device", file.name)

    monkeypatch.setattr(arrays, "_write", full)


@pytest.mark.usefixtures("full_disk")
def test_an_error_of_a_file_leaves_no_graph(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), Runtime(tmp_path, "gpu"))
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]


@pytest.mark.usefixtures("full_disk")
def test_an_error_of_a_file_beside_the_stages_leaves_no_graph_and_no_run(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        run(of_two_edges(tmp_path))
    assert not (tmp_path / "out" / "latest").exists()
    assert not (tmp_path / "out" / "steps" / "graph").exists()


def of_two_edges(folder):
    (folder / "edges.csv").write_text("src,dst\n1,2\n2,3\n")
    graph = GraphConfig(source=str(folder / "edges.csv"), directed=True)
    return RunConfig(graph=graph, output=folder / "out", stages=("wcc",), backend="gpu")


def source(folder, **columns):
    pq.write_table(pa.table(columns), folder / "source.parquet", row_group_size=100)
    return GraphConfig(source=str(folder / "source.parquet"))


@pytest.mark.parametrize("largest", [90, 2**31 - 1, 2**31, 2**62])
@pytest.mark.parametrize("weight", ["none", "uint8", "int64", "float", "double"])
def test_held_columns_are_those_that_are_read(largest, weight, tmp_path):
    random = np.random.default_rng(4)
    columns = {name: random.integers(0, largest, 450, endpoint=True) for name in ("src", "dst")}
    columns["src"][7] = largest
    if weight != "none":
        columns["weight"] = pa.array(random.integers(0, 99, 450)).cast(weight)
    held = HeldEdges("gpu")
    edges = ingest(source(tmp_path, **columns), tmp_path / "work", held)
    found, again, expected = held.take(edges), read_edges(edges, "gpu"), read_edges(edges)
    for one, other, array in zip(found, again, expected, strict=True):
        assert (one is None) == (other is None) == (array is None)
        if one is not None:
            assert one.dtype == other.dtype
            assert np.array_equal(cupy.asnumpy(one), array)
            assert np.array_equal(cupy.asnumpy(other), array)
    assert found[0].dtype == (np.int32 if largest < 2**31 else np.int64)


def test_text_goes_to_the_gpu(tmp_path):
    (tmp_path / "source.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 7\n")
    held = HeldEdges("gpu")
    edges = ingest(GraphConfig(source=str(tmp_path / "source.gr")), tmp_path / "work", held)
    columns = held.take(edges)
    assert [cupy.asnumpy(column).tolist() for column in columns] == [[1, 2], [2, 3], [5, 7]]
    assert [column.dtype for column in columns] == [np.int32] * 3


BAD = {
    "negative id": {"src": [1, -1], "dst": [2, 3]},
    "null": {"src": [1, None], "dst": [2, 3]},
    "id beyond int64": {"src": pa.array([1, 2**63], pa.uint64()), "dst": [2, 3]},
    "not a number": {"src": [1, 2], "dst": [2, 3], "weight": [1.0, float("nan")]},
    "infinite": {"src": [1, 2], "dst": [2, 3], "weight": [1.0, float("inf")]},
    "negative weight": {"src": [1, 2], "dst": [2, 3], "weight": [1, -7]},
    "text": {"src": ["a"], "dst": [2]},
}


@pytest.mark.parametrize("name", BAD)
def test_refusals_are_those_of_the_cpu(name, tmp_path):
    bad, reasons = source(tmp_path, **BAD[name]), []
    for held in (HeldEdges("gpu"), None):
        with pytest.raises(BadInput) as caught:
            ingest(bad, tmp_path / "work", held)
        reasons.append(str(caught.value))
        assert list((tmp_path / "work").glob("*")) == []
    assert reasons[0] == reasons[1]


@pytest.mark.skipif(not emulator.wanted(), reason="a forked child cannot use the GPU of its parent")
@pytest.mark.parametrize("file", ["out-offsets.npy", "out-indices.npy"])
def test_a_run_that_is_killed_while_a_graph_is_saved_leaves_nothing(file, tmp_path, monkeypatch):
    edges, real = edge_folder(tmp_path, NAMED_GRAPHS[-1]), arrays._write

    def killed(opened, *of):
        if Path(opened.name).name == file:
            opened.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
        real(opened, *of)

    if (child := os.fork()) == 0:
        try:
            monkeypatch.setattr(arrays, "_write", killed)
            lay_out(edges, LayoutConfig(), Runtime(tmp_path, "gpu"))
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert not (tmp_path / "graph").exists()
    assert len(list(tmp_path.iterdir())) == 2  # the edges, and a hidden folder
    remove_dead(tmp_path)  # as the next run does
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path, "gpu"))
    assert graph.digest == lay_out(edges, LayoutConfig(), Runtime(tmp_path / "cpu")).digest


@pytest.mark.skipif(not emulator.wanted(), reason="a forked child cannot use the GPU of its parent")
def test_a_graph_that_a_killed_run_has_not_written_is_made_again(tmp_path, monkeypatch, caplog):
    real = arrays._write

    def unfinished(file, *of):
        if Path(file.name).name == "out-indices.npy":
            file.write(b"half")
            Event().wait()
        real(file, *of)

    if (child := os.fork()) == 0:
        try:
            monkeypatch.setattr(arrays, "_write", unfinished)
            monkeypatch.setattr("pipeline.steps.solving.prove", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            run(of_two_edges(tmp_path))
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert (tmp_path / "out" / "steps" / "wcc").exists()
    assert not (tmp_path / "out" / "latest").exists()
    run(of_two_edges(tmp_path))
    assert "the step runs again" in caplog.text
    validate(read(tmp_path / "out" / "steps" / "graph"))


@pytest.mark.parametrize("rule", ["sum", "last"])
def test_merged_parallel_rows(rule, tmp_path):
    random = random_edges(1, 40, 300, False, 2)
    edges = edge_folder(tmp_path, EdgeList("weighted", tuple((*ends, sum(ends) % 11) for ends in random.edges), directed=False))
    of = [merge_parallel(edges, rule, LayoutConfig(), Runtime(tmp_path / name, name)) for name in ("cpu", "gpu")]
    assert of[0].manifest.files == of[1].manifest.files
    check(edges, LayoutConfig(shards=2), tmp_path, Parallels(rule, of[1]))
