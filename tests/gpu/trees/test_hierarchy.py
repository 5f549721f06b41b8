"""Hierarchies on the GPU: the CPU's, array by array."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.generators import grid_edges
from benchmarks.graphs import facebook, graph_of_arcs, graph_of_edges
from kernels.gpu.transfer import to_device
from kernels.graph import Graph
from kernels.hierarchy import TooManyShortcuts, build_hierarchy, customise
from pipeline.config.graph import GraphConfig
from pipeline.config.layout import LayoutConfig
from pipeline.ingest import ingest
from pipeline.steps.derived.hierarchy import build_hierarchy as build_step
from pipeline.steps.layout import lay_out
from pipeline.steps.runtime import Runtime
from pipeline.store.hierarchy import open_hierarchy
from tests.cpu.hierarchy.checks import same
from tests.gpu.inputs import poison
from tests.graphs import NAMED_GRAPHS, graph_of


def check(graph: Graph, other: Graph) -> None:
    """The hierarchy of a graph, and that of other weights on its order."""
    poison(1 << 20)
    expected, found = build_hierarchy(graph), build_hierarchy(to_device(graph))
    same(found, expected)
    same(customise(found, to_device(other)), customise(expected, other))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float64, np.float32])
@pytest.mark.parametrize("directed", [True, False])
def test_grids(kind, directed):
    random = np.random.default_rng(1)
    src, dst = np.array(grid_edges(9))[:, random.random(144) < 0.8]
    one, two = (random.integers(0, 9, len(src)).astype(kind) for _ in range(2))
    if directed:
        check(*(graph_of_arcs(src, dst, weights, 81, symmetric=False) for weights in (one, two)))
    else:
        check(*(graph_of_edges(src, dst, weights / 4 if one.dtype.kind == "f" else weights, 81) for weights in (one, two)))


def test_a_depot_with_more_arcs_than_searches_begin_with():
    random = np.random.default_rng(2)
    src, dst = np.array(grid_edges(10))
    src, dst = np.append(src, np.full(90, 100)), np.append(dst, np.arange(90))
    check(*(graph_of_edges(src, dst, random.integers(1, 99, len(src)), 101) for _ in range(2)))


@pytest.mark.parametrize("name", ["empty", "one_vertex"])
def test_the_smallest_graphs(name):
    graph = next(graph_of(edges) for edges in NAMED_GRAPHS if edges.name == name)
    check(graph, graph)


def test_the_steps_write_the_same_bytes(tmp_path):
    src, dst = grid_edges(6)
    pq.write_table(pa.table({"src": src, "dst": dst, "weight": np.arange(len(src))}), tmp_path / "edges.parquet")
    edges = ingest(GraphConfig(source=str(tmp_path / "edges.parquet")), tmp_path)
    graph = lay_out(edges, LayoutConfig(), Runtime(tmp_path))
    made = [build_step(graph, Runtime(tmp_path / backend, backend)) for backend in ("cpu", "gpu")]
    assert made[0].manifest.files == made[1].manifest.files
    same(open_hierarchy(made[1], "gpu"), open_hierarchy(made[0]))


def test_a_social_network_is_refused():
    with pytest.raises(TooManyShortcuts):
        build_hierarchy(to_device(facebook()))
