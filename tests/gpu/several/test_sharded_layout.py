"""The layout over ranks on CuPy arrays makes the shards of a single rank on the CPU; edge lists are read to a GPU."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pyarrow as pa
import pytest

cupy = pytest.importorskip("cupy")

import pipeline.steps.layout
from kernels.distributed.gpu.memory import put
from kernels.layout.rules import ArcRules, Edges
from pipeline.cluster.threads import LocalThreads
from pipeline.config.layout import LayoutConfig
from pipeline.steps.runtime import Runtime
from pipeline.store.edges import read_edges
from tests.edge_lists import table_folder
from tests.graphs import NAMED_GRAPHS
from tests.sharded.test_layout import DIRECTED, UNDIRECTED, check, content, edges_of
from tests.stored_graphs import validate


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda graph: graph.name)
def test_a_named_graph(edges):
    rules = DIRECTED if edges.directed else UNDIRECTED
    for window, size in ((None, 1), (8, 3), (10**6, 4)):
        check(edges_of(edges), rules, window, size, cupy.asarray)


def narrow(array):
    """CuPy columns with 32-bit ids; weights keep their type."""
    return cupy.asarray(array, np.int32 if array.dtype == np.int64 else array.dtype)


@pytest.mark.parametrize(("kind", "size"), [(None, 2), (np.int32, 3), (np.float64, 7)])
def test_random_edges(kind, size):
    random = np.random.default_rng(size)
    src, dst = np.minimum(*random.integers(0, 20_000, (2, 60_000))), random.integers(0, 20_000, 60_000)
    weights = None if kind is None else random.integers(0, 9, 60_000).astype(kind)
    for rules in (UNDIRECTED, DIRECTED, ArcRules(range(5, 30_000), True, True, True), ArcRules(range(0), False, True, True)):
        for edges in (Edges(src, dst, weights), Edges(src * 10**9, dst * 10**9, weights)):
            check(edges, rules, 4096, size, cupy.asarray)
    check(Edges(src, dst, weights), UNDIRECTED, 1000, size, narrow)


@pytest.mark.parametrize("size", [2, 7])
def test_dealt_rows(size):
    random = np.random.default_rng(size)
    edges = Edges(*(9000 * random.random((2, 30_000)) ** 5).astype(np.int64), random.integers(0, 999, 30_000))
    for rules, window in ((UNDIRECTED, 10**6), (DIRECTED, 100)):
        check(edges, rules, window, size, cupy.asarray, deals=True)


def test_the_stored_graph_has_the_bytes_of_the_cpu(tmp_path):
    random = np.random.default_rng(3)
    columns = {"src": random.integers(1, 900, 5000), "dst": random.integers(1, 900, 5000), "weight": random.integers(0, 99, 5000)}
    edges = table_folder(tmp_path, pa.table(columns), directed=False)
    layout = LayoutConfig(shards=3)
    one = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / "one"))
    many = pipeline.steps.layout.lay_out(edges, layout, Runtime(tmp_path / "many", "gpu", LocalThreads(3)))
    assert content(many) == content(one)
    validate(many)


def test_an_edge_list_is_read_to_the_gpu_in_parts(tmp_path):
    random = np.random.default_rng(4)
    for largest in (2**31 - 1, 2**40):
        columns = {"src": random.integers(0, largest, 500), "dst": random.integers(0, largest + 1, 500)}
        edges = table_folder(tmp_path, pa.table(columns | {"weight": pa.array(random.random(500), pa.float32())}))
        expected = read_edges(edges)
        parts = [read_edges(edges, "gpu", rank, 3) for rank in range(3)]
        for number, column in enumerate(expected):
            assert np.array_equal(cupy.asnumpy(cupy.concatenate([part[number] for part in parts])), column)
        assert parts[0][0].dtype == (np.int32 if largest < 2**31 else np.int64)


@pytest.mark.parametrize("length", [0, 1, (1 << 22) - 1, (1 << 25) + 3])
def test_an_array_that_threads_stage_is_copied(length):
    array = np.arange(length, dtype=np.int32)
    assert np.array_equal(cupy.asnumpy(put([array], "device")), array)
