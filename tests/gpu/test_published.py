"""Methods of the source documents for reachability on a GPU: three queues, searches in masks, and exception lists."""

# ruff: noqa: E402  (the imports below need CuPy)
import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.published.grail import cpu as grail
from benchmarks.published.grail import gpu as grail_gpu
from benchmarks.published.grail import three_queues
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Csr, Graph
from kernels.reachability import SEARCH, reachability
from tests.counts import examples
from tests.cpu.test_reachability_labels import FIGURE, complete, diamonds
from tests.gpu.inputs import poison, random_edges, shuffled
from tests.graphs import graph_of
from tests.reachability import closure, digraph

DEGREES = (0, 1, 31, 32, 255, 256, 257, 10_000)


def dag(seed: int, size: int = 40, arcs: int = 110) -> Graph:
    random = np.random.default_rng(seed)
    return digraph(*random.permutation(size)[np.sort(random.integers(0, size, (arcs, 2)), axis=1)].T, size)


def test_rows_are_in_the_queue_of_their_number_of_arcs_and_once_a_level() -> None:
    """A row whose arcs lead to rows of each degree; all of these to the same 10,000 rows, which have none."""
    hubs = np.arange(1, 1 + len(DEGREES))
    src = np.concatenate([np.zeros(len(DEGREES), np.int64), np.repeat(hubs, DEGREES)])
    dst = np.concatenate([hubs, *(100 + np.arange(degree) for degree in DEGREES)])
    rows = Csr(np.append(0, np.cumsum(np.bincount(src, minlength=10_100))), dst.astype(np.int32), None)
    graph = Csr(*(cupy.asarray(array) for array in (rows.offsets, rows.indices)), None)
    poison()
    engine = three_queues.Engine(graph, np.int32)
    levels = cupy.full(10_100, -1, np.int32)
    levels[0], engine.status[0] = 0, 1
    found = []
    for level, queues in enumerate(engine.levels(), 1):
        found.append([sorted(queue.get().tolist()) for queue in queues])
        engine.expand("expand_levels", queues, np.int64(level), engine.status, levels)
    assert found == [[[0], [], []], [[1, 2, 3], [4, 5], [6, 7, 8]], [list(range(100, 10_100)), [], []]]
    assert levels.get().tolist() == [0] + [1] * 8 + [-1] * 91 + [2] * 10_000


def test_more_rows_than_the_bins_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(three_queues, "BIN", 1)
    monkeypatch.setattr(three_queues, "BLOCKS", 1)
    with pytest.raises(ValueError, match="bins hold 256 rows: this graph has 257"):
        three_queues.Engine(Csr(cupy.zeros(258, np.int64), cupy.zeros(0, np.int32), None), np.int32)


def check(graph: Graph, dimensions: int, method: str) -> None:
    """Compare all pairs with the closure, and the decisions with those of the CPU's published searches."""
    index = reachability(to_device(graph), dimensions, 0, method)
    src, dst = (rows.ravel() for rows in np.indices((graph.num_vertices,) * 2))
    expected = grail.reach(on_host(index), src, dst, "pruned-bfs")
    for search, width in (("three-queues", 32), ("three-queues", 64), ("exceptions", 64)):
        poison()
        found = grail_gpu.reach(index, cupy.asarray(src), cupy.asarray(dst), search, width)
        np.testing.assert_array_equal(found.reachable.get(), closure(graph).ravel())
        np.testing.assert_array_equal(found.decided.get(), expected.decided)


@pytest.mark.parametrize("method", ["dfs", "tree"])
def test_all_pairs(method: str) -> None:
    for seed in range(max(2, examples(40))):
        check(dag(seed), 1 + seed % 3, method)
    check(graph_of(FIGURE), 1, method)
    check(shuffled(random_edges(3, 60, 90, True)), 2, method)  # with cycles
    check(diamonds(20), 1, method)


def test_a_graph_in_which_the_intervals_prune_nothing() -> None:
    """Every node is expanded once for each search, although it is reached in many levels."""
    check(complete(70), 1, "dfs")


@pytest.mark.parametrize("num_queries", [0, 1, 63, 64, 65, 200])
def test_any_number_of_queries(num_queries: int) -> None:
    """As many searches in the last mask as are left, from one row, and from a row to itself."""
    graph = dag(5, 300, 1500)
    index = reachability(to_device(graph), 1, 0, "dfs")
    src, dst = np.full(num_queries, 7), np.random.default_rng(6).integers(0, 300, num_queries)
    found = grail_gpu.reach(index, cupy.asarray(src), cupy.asarray(dst), "three-queues")
    np.testing.assert_array_equal(found.reachable.get(), closure(graph)[src, dst])
    own = cupy.arange(300)
    assert grail_gpu.reach(index, own, own, "three-queues").reachable.all()


def test_exceptions_are_those_that_the_cpu_lists() -> None:
    for graph, dimensions in ((graph_of(FIGURE), 1), (dag(9, 200, 700), 2)):
        index = reachability(to_device(graph), dimensions, 0, "dfs")
        pairs, expected = grail_gpu.exceptions(index), grail.exceptions(on_host(index))
        np.testing.assert_array_equal(pairs.get(), expected)
        assert len(pairs)
        found = grail_gpu.reach(index, *index.condensation.names[pairs].T, "exceptions")
        assert not found.reachable.any()
        assert (found.decided == SEARCH).all()


def test_exceptions_of_a_large_graph_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grail_gpu, "LARGEST_LISTED", 20)
    graph = digraph(np.arange(20), np.arange(1, 21), 21)
    with pytest.raises(ValueError, match="21 components"):
        grail_gpu.exceptions(reachability(to_device(graph), 1, 0, "dfs"))
