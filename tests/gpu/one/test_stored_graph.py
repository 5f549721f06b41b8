"""The stored graph of the GPU has the same bytes and the same facts as the CPU's."""

# ruff: noqa: E402  (the imports below need CuPy)

import errno
from itertools import product

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
pytest.importorskip("pydantic")

from pipeline.config.layout import LayoutConfig
from pipeline.errors import Damaged
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store import arrays
from pipeline.store.arrays import save_array
from pipeline.store.digests import digest_of_file
from pipeline.store.graph import open_graph
from tests.edge_lists import edge_folder, table_folder
from tests.gpu.inputs import poison, random_edges
from tests.graphs import NAMED_GRAPHS, EdgeList
from tests.stored_graphs import validate

LAYOUTS = [
    LayoutConfig(order=order, window=8, shards=shards, self_loops=loops, parallel_arcs=parallel, symmetrise=symmetrise)
    for (order, shards), loops, parallel, symmetrise in product(
        [("degree", 1), ("windowed", 3), ("source", 7)], ["drop", "keep"], ["lightest", "keep"], [False, True]
    )
]


def check(edges, layout: LayoutConfig, tmp_path) -> None:
    expected = lay_out(edges, layout, Runtime(tmp_path / "cpu"))
    poison()
    found = lay_out(edges, layout, Runtime(tmp_path / "gpu", "gpu"))
    assert not found.reused
    assert found.manifest.files == expected.manifest.files
    differing = {"backend": "gpu", "proof": found.facts["proof"]}
    assert found.facts == expected.facts | differing
    assert found.facts["proof"]["rules"] == expected.facts["proof"]["rules"]
    validate(found)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "-".join(map(str, layout.model_dump().values())))
def test_every_option(layout, tmp_path):
    edges = random_edges(1, 300, 2500, True, 2)
    check(edge_folder(tmp_path / "none", edges), layout, tmp_path / "none")
    weighted = EdgeList("weighted", tuple((src, dst, (src + dst) % 11) for src, dst in edges.edges), edges.directed)
    for weight in ("int64", "float"):
        check(edge_folder(tmp_path / weight, weighted, weight), layout, tmp_path / weight)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges: EdgeList, tmp_path):
    for directed in (False, True):
        work = tmp_path / str(directed)
        check(edge_folder(work, EdgeList(edges.name, edges.edges, directed, edges.vertices)), LayoutConfig(shards=2), work)


@pytest.mark.parametrize("declared", [0, 9])
def test_declared_vertices_without_edges(declared, tmp_path):
    import pyarrow as pa

    table = pa.table({"src": pa.array([], pa.int64()), "dst": pa.array([], pa.int64())})
    check(table_folder(tmp_path, table, first_id=3, declared_vertices=declared), LayoutConfig(shards=2), tmp_path)


@pytest.mark.parametrize("length", [0, 1, 1000])
def test_an_array_is_hashed_as_it_is_written(length, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.store.arrays._CHUNK", 64)
    for module in ("arrays", "digests"):
        monkeypatch.setattr(f"pipeline.store.{module}.BLOCK", 256)
    array = cupy.arange(length)
    assert save_array(tmp_path / "array.npy", array) == digest_of_file(tmp_path / "array.npy")
    assert np.array_equal(np.load(tmp_path / "array.npy"), cupy.asnumpy(array))


def test_the_laid_out_graph_stays_on_the_gpu(tmp_path, monkeypatch):
    runtime = Runtime(tmp_path, "gpu")
    graph = lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), runtime)
    monkeypatch.setattr("pipeline.cluster.open_graphs.open_graph", None)
    kept, stored = runtime.cluster.open_graphs.graph(graph, "gpu"), open_graph(graph)
    for name in ("ids", "rows_by_id"):
        assert np.array_equal(cupy.asnumpy(getattr(kept, name)), getattr(stored, name))
    for side in ("out", "into"):
        for name in ("offsets", "indices", "weights"):
            found, expected = (getattr(getattr(each, side), name) for each in (kept, stored))
            assert expected is None if found is None else np.array_equal(cupy.asnumpy(found), expected)


def test_a_file_that_differs_from_the_kept_graph_is_not_stored(tmp_path, monkeypatch):
    real = arrays.save_array

    def faulty(path, array):
        digest = real(path, array)
        if path.name == "out-indices.npy":
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
        return digest

    monkeypatch.setattr(arrays, "save_array", faulty)
    with pytest.raises(Damaged, match="was not written as it is in memory"):
        lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), Runtime(tmp_path, "gpu"))
    assert not (tmp_path / "graph").exists()


def test_an_error_of_a_file_leaves_no_graph(tmp_path, monkeypatch):
    def full(path, array):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(arrays, "save_array", full)
    with pytest.raises(OSError, match="No space left"):
        lay_out(edge_folder(tmp_path, NAMED_GRAPHS[-1]), LayoutConfig(), Runtime(tmp_path, "gpu"))
    assert [path.name for path in tmp_path.iterdir()] == ["edges"]
