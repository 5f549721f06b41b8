"""Graphs that change, on a GPU: the CPU's bytes, and the answers of the static kernels."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

from kernels.bfs import bfs
from kernels.graph import Csr
from kernels.library.dynamic import STRUCTURES, BatchRules
from kernels.library.dynamic.pages.kernels import locate
from kernels.library.dynamic.searches_cuda import have_long_paths
from kernels.sssp import sssp
from tests.dynamic import batches, contract, operators, structures
from tests.emulator.test_kernels import roads, throng
from tests.layout import merging


@pytest.mark.parametrize(("weight", "ordered"), [(None, True), (np.int32, False), (np.float64, True)])
def test_merged_changes(weight, ordered):
    merging.check(cupy.empty(0), 1, weight=weight, ordered=ordered)
    merging.check(cupy.empty(0), 2, vertices=300, arcs=20000, number=5000, weight=weight, ordered=ordered)
    merging.check(cupy.empty(0), 3, arcs=0, weight=weight, ordered=ordered)
    merging.check_pairs(cupy.empty(0), 4, weight)


@pytest.mark.parametrize(
    ("name", "unique", "weight"), [("large", False, np.int32), ("many", True, None), ("few", True, np.float64)]
)
def test_batches_in_pages(name, unique, weight):
    for found, expected in zip(
        batches.run(cupy.empty(0), name, unique, weight), batches.run(np.empty(0), name, unique, weight), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("size", "weight", "unique"), [(256, np.float64, True), (1024, None, False), (2048, np.int32, True)])
def test_batches_in_pages_of_many_lists(size, weight, unique):
    ways = (batches.run_skewed(like, size, size, weight, unique) for like in (cupy.empty(0), np.empty(0)))
    for found, expected in zip(*ways, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_columns_of_batches_as_callers_hold_them():
    for found, expected in zip(batches.run_columns(cupy.empty(0)), batches.run_columns(np.empty(0)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_batches_that_are_refused():
    structures.refuse_batches(cupy.empty(0))


@pytest.mark.parametrize("name", STRUCTURES)
def test_contract(name):
    """Of a few types; tests/dynamic/test_contract.py has every combination."""
    like, (wide, real) = cupy.empty(0), map(np.dtype, (np.uint64, np.float64))
    contract.weights(like, name, np.dtype(np.int32), [real])
    contract.weights(like, name, np.dtype(np.float32), [wide])
    contract.weights(like, name, None, [np.dtype(np.bool_)])
    contract.vertices(like, name, np.dtype(np.int64), [wide])
    contract.rows(like, name, real, [wide])


def test_operators():
    for case in (operators.lookups, operators.advances, operators.operators, operators.dangling, operators.synced):
        case(cupy.empty(0))
    operators.scans(cupy.empty(0), 70000)


@pytest.mark.parametrize("edges", [roads, throng], ids=lambda edges: edges.__name__)
def test_searches_of_pages(edges):
    """Roads take the search for long paths; the throng, with lists of several pages, that of the kernel that pushes."""
    graph = edges()
    assert have_long_paths(cupy.diff(cupy.asarray(graph.out.offsets))) == (edges is roads)
    ordered = structures.graph_of(Csr(graph.out.offsets, graph.out.indices.astype(np.int32), graph.out.weights))
    operators.searches(cupy.empty(0), ordered, [1], (bfs, sssp))


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name):
    structures.history(cupy.empty(0), name, BatchRules(unique=True), np.int32, 30)


@pytest.mark.real_gpu(reason="an emulated launch ends before it returns")
def test_c2_launches_do_not_wait():
    store = operators.store_of(cupy.empty(0), [3] * 100_000, 1024)
    vertices = cupy.random.randint(0, 100_000, 1 << 26).astype(np.int32)
    locate(store, vertices)
    cupy.cuda.get_current_stream().synchronize()
    located = locate(store, vertices)
    assert not cupy.cuda.get_current_stream().done
    assert int(located.degrees[0]) == 3
