"""More than 2^31 arcs: R-MAT 27, symmetrised. Its answers are proved on the GPU, or found a second time in another way."""

# ruff: noqa: E402  (the imports below need CuPy)
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.published.wcc import components
from kernels.answers import Paths
from kernels.bfs import bfs
from kernels.forest import minimum_spanning_forest
from kernels.graph import ID, OFFSET, Array, Csr, Graph
from kernels.scc import scc
from kernels.sssp import sssp
from kernels.wcc import wcc

pytestmark = pytest.mark.real_gpu(reason="its graph takes 120 GB")
SCALE, EDGE_FACTOR, SLABS = 27, 16, 32
MEMORY = 120 << 30  # bytes that have to be free
PIECE = 1 << 28  # arcs that CuPy's own functions are given at a time


def run(name: str, *arguments: Any, blocks: int = 4096) -> None:
    code = Path(__file__).with_name("rmat.cu").read_text(encoding="utf-8")
    cupy.RawModule(code=code, backend="nvrtc").get_function(name)((blocks,), (256,), arguments)


def rmat(scale: int, edge_factor: int, slabs: int) -> Graph:
    """Both arcs of every edge that is no loop, each once, with weights; ids are rows."""
    num_rows, num_edges = 1 << scale, edge_factor << scale
    edges = cupy.empty(num_edges, np.uint64)
    run("draw_edges", np.int64(num_edges), np.int32(scale), edges)
    indices, weights = cupy.empty(2 * num_edges, np.int32), cupy.empty(2 * num_edges, np.int32)
    offsets = cupy.zeros(num_rows + 1, OFFSET)
    keys, rows, size = cupy.empty(3 * num_edges // slabs + 1024, np.uint64), num_rows // slabs, 0
    for begin in range(0, num_rows, rows):
        length = cupy.zeros(1, np.uint64)
        run("take_slab", edges, np.int64(num_edges), np.int32(scale), np.uint64(begin), np.uint64(begin + rows), keys, length)
        slab = keys[: int(length[0])]
        slab.sort()
        first = cupy.ones(len(slab), np.bool_)
        first[1:] = slab[1:] != slab[:-1]
        slab = slab[first]
        run("split_keys", slab, np.int64(len(slab)), np.int32(scale), indices[size:], weights[size:])
        ends = cupy.arange(begin + 1, begin + rows + 1, dtype=np.uint64) << np.uint64(scale)
        offsets[begin + 1 : begin + rows + 1] = size + cupy.searchsorted(slab, ends)
        size += len(slab)
    out = Csr(offsets, indices[:size], weights[:size])
    return Graph(cupy.arange(num_rows, dtype=ID), cupy.arange(num_rows, dtype=np.int32), out, out, directed=False)


@pytest.fixture(scope="module")
def graph() -> Iterator[Graph]:
    cupy.get_default_memory_pool().free_all_blocks()
    if cupy.cuda.runtime.memGetInfo()[0] < MEMORY:
        pytest.skip(f"less than {MEMORY >> 30} GiB of the GPU's memory are free")
    made = rmat(SCALE, EDGE_FACTOR, SLABS)
    cupy.get_default_memory_pool().free_all_blocks()
    assert made.num_arcs > 2**31
    yield made
    vars(made).clear()
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.fixture(scope="module")
def labels(graph: Graph) -> Array:
    return wcc(graph).labels


def without_weights(graph: Graph) -> Graph:
    out = Csr(graph.out.offsets, graph.out.indices, None)
    return Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)


def refused(graph: Graph, paths: Paths) -> int:
    count = cupy.zeros(1, np.uint64)
    weights = np.intp(0) if graph.out.weights is None else graph.out.weights
    run("refused_rows", graph.out.offsets, graph.out.indices, weights, paths.distance, paths.predecessor,
        np.int64(graph.num_vertices), np.int64(paths.source), count)  # fmt: skip
    return int(count[0])


def hub_and_last(graph: Graph) -> tuple[int, int]:
    """The row of most arcs, and the last one that has any: its arcs lie beyond 2^31."""
    degrees = cupy.diff(graph.out.offsets)
    return int(degrees.argmax()), int(cupy.flatnonzero(degrees)[-1])


def test_the_check_sees_what_is_wrong() -> None:
    small = rmat(12, 16, 2)
    small.validate()
    for weighted in (small, without_weights(small)):
        paths = sssp(weighted, hub_and_last(small)[0])
        assert refused(weighted, paths) == 0
        reached = int(cupy.flatnonzero(paths.distance > 0)[7])
        for array in (paths.distance, paths.predecessor):
            right = int(array[reached])
            array[reached] = right + 1
            assert refused(weighted, paths) > 0
            array[reached] = right


def test_bfs(graph: Graph, labels: Array) -> None:
    for source in hub_and_last(graph):
        paths = bfs(graph, source)
        assert refused(without_weights(graph), paths) == 0
        assert bool(((paths.distance >= 0) == (labels == labels[source])).all())


def test_sssp(graph: Graph) -> None:
    for source in hub_and_last(graph):
        assert refused(graph, sssp(graph, source)) == 0


def test_wcc(graph: Graph, labels: Array) -> None:
    """Every label is its component's least row; hook and jump finds the same."""
    assert bool((labels[labels] == labels).all())
    assert bool((labels <= cupy.arange(graph.num_vertices)).all())
    assert bool((components(graph).labels == labels).all())


def test_scc(graph: Graph, labels: Array) -> None:
    """Read as directed, a symmetric graph's strong components are its weak ones."""
    directed = Graph(graph.ids, graph.rows_by_id, graph.out, Csr(graph.out.offsets, graph.out.indices, None), directed=True)
    assert not directed.symmetric
    assert bool((scc(directed).labels == labels).all())


def lighter(graph: Graph, most: int) -> Graph:
    """The graph of the arcs of weight up to `most`."""
    places = [
        first + cupy.flatnonzero(graph.out.weights[first : first + PIECE] <= most) for first in range(0, graph.num_arcs, PIECE)
    ]
    arcs = cupy.concatenate(places)
    out = Csr(cupy.searchsorted(arcs, graph.out.offsets).astype(OFFSET), graph.out.indices[arcs], None)
    return Graph(graph.ids, graph.rows_by_id, out, out, graph.directed)


def test_forest(graph: Graph, labels: Array) -> None:
    """It spans the components, and up to any weight it has as many edges as join what the graph joins: Kruskal's rule."""
    forest = minimum_spanning_forest(graph)
    rows = cupy.arange(graph.num_vertices)
    assert bool((forest.labels == labels).all())
    assert len(forest.src) == graph.num_vertices - int((labels == rows).sum())
    assert bool((forest.src < forest.dst).all())
    for most in (1, 20):
        joined = wcc(lighter(graph, most)).labels
        assert int((forest.weights <= most).sum()) == graph.num_vertices - int((joined == rows).sum())
