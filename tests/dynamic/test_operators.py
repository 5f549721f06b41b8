"""Operators, scans and searches: rows B5, C1, D1 to D6, E1 to E3 and F1 of docs/dynamic-graphs.md."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernels.bfs import bfs as static_bfs
from kernels.graph import Csr
from kernels.library.dynamic import BatchRules
from kernels.library.dynamic.contract import Lists, as_batch
from kernels.library.dynamic.operators import compute, intersect
from kernels.library.dynamic.pages.edits import Editor
from kernels.library.dynamic.pages.kernels import expand, locate
from kernels.library.dynamic.pages.store import PageStore
from kernels.library.dynamic.searches import bfs, sssp
from kernels.library.dynamic.structures.deltas import Deltas
from kernels.library.dynamic.structures.pages import SlottedPages
from kernels.library.dynamic.structures.v_graph import csr_of, v_graph_of
from kernels.sssp import sssp as static_sssp
from tests.dynamic import operators
from tests.dynamic.structures import graph_of, same
from tests.dynamic.test_pages import LISTS
from tests.graphs import NAMED_GRAPHS
from tests.graphs import graph_of as graph_of_edges

LIKE = np.empty(0)


def fixture(weight=None) -> SlottedPages:
    heads = np.array([head for each in LISTS.values() for head in each], np.int32)
    weights = None if weight is None else np.ones(len(heads), weight)
    lists = Lists(np.cumsum([0, *map(len, LISTS.values())]), heads, weights)
    return SlottedPages(PageStore.from_lists(np.array(list(LISTS), np.int32), lists, 40))


def test_c1_dirty_pages():
    operators.synced(LIKE)


def test_d1_scan():
    operators.scans(LIKE, 70000)


def test_d2_d3_d5_operators():
    operators.operators(LIKE)
    with pytest.raises(ValueError, match="3 values for 2 entries"):
        compute(np.zeros(2), lambda _: np.zeros(3))
    with pytest.raises(ValueError, match="1 rows and 2 rows"):
        intersect(fixture(), np.zeros(1, np.int32), np.zeros(2, np.int32))
    src, dst = (np.array(column, np.int32) for column in zip(*[(a, b) for a in LISTS for b in LISTS[a]], strict=True))
    assert int((intersect(fixture(), src, dst).heads >= 0).sum()) / 6 == 2  # each triangle six times


def test_d4_advance():
    operators.advances(LIKE)


def test_d6_lookups():
    operators.lookups(LIKE)


def test_b5_dangling_arcs():
    operators.dangling(LIKE)


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_e1_e2_named_graphs(edges):
    graph = graph_of_edges(edges)
    ordered = graph_of(Csr(graph.out.offsets, graph.out.indices.astype(np.int32), graph.out.weights))
    operators.searches(LIKE, ordered, range(0, graph.num_vertices, max(graph.num_vertices - 1, 1)), (static_bfs, static_sssp))


def test_e1_fixture():
    assert bfs(fixture(), 1).distance.tolist() == [-1, 0, -1, 1, 1, 2, 2, 3]
    same(sssp(fixture(np.int64), 1), bfs(fixture(), 1))
    for source in (-1, 0, 8):
        with pytest.raises(IndexError, match="is not a vertex"):
            bfs(fixture(), source)


def test_e2_weights_that_are_refused():
    csr = Csr(np.array([0, 1, 2, 2]), np.array([1, 2], np.int32), np.array([2**62, 2**62]))
    for make in (SlottedPages.from_csr, Deltas):
        with pytest.raises(OverflowError, match="exceeds the largest int64"):
            sssp(make(csr, BatchRules()), 0)
        with pytest.raises(ValueError, match="negative"):
            sssp(make(Csr(csr.offsets, csr.indices, -csr.weights), BatchRules()), 0)


def test_e3_after_updates():
    """Single edits and batches in turn, then searches as on a graph that is built anew."""
    random = np.random.default_rng(3)
    editor = Editor(PageStore(40, np.int32))
    for _ in range(50):
        editor.add_vertex()
    graph = SlottedPages(editor.store)
    for turn in range(6):
        for src, dst, weight in random.integers(0, 50, (60, 3)).tolist():
            editor.add_edge(src, dst, weight)
            editor.remove_edge(dst, src)
        src, dst, weights = random.integers(0, 50, (3, 40))
        graph.insert(as_batch(LIKE, src, dst, weights, np.int32))
        graph.delete(as_batch(LIKE, dst[:9], src[:9]))
        static = graph_of(graph.csr())
        same(bfs(graph, turn), static_bfs(static, turn))
        same(sssp(graph, turn), static_sssp(static, turn))


def test_f1_second_fixture():
    columns = [[1], [0, 2, 4], [1, 3, 4], [2, 4], [1, 2, 3]]
    weights = np.array([1, 1, 2, 3, 2, 4, 5, 4, 6, 3, 5, 6])
    offsets = np.cumsum([0, *map(len, columns)])
    assert offsets.tolist() == [0, 1, 4, 7, 9, 12]
    csr = Csr(offsets, np.array([head for column in columns for head in column], np.int32), weights)
    graph = v_graph_of(csr)
    assert graph.degrees.tolist() == [1, 3, 3, 2, 3]
    assert graph.pointers.tolist() == [1, 0, 4, 9, 2, 7, 10, 5, 11, 3, 6, 8]
    for one, other in zip(vars(csr_of(graph)).values(), vars(csr).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="no reverse"):
        v_graph_of(Csr(np.array([0, 1, 1]), np.array([1], np.int32), None))


def test_f1_round_trip(tmp_path):
    """Pages to CSR to a V-graph to Parquet and back: isolated vertices, gaps and weights stay."""
    vertices = np.array([2, 3, 7, 8, 20], np.int32)
    heads, weights = np.array([3, 7, 7, 2, 3, 2, 2], np.int32), np.array([1.5, 2, 2.5, 1.5, 0.5, 2, 2.5])
    lists = Lists(np.array([0, 3, 4, 5, 7, 7]), heads, weights)
    store = PageStore.from_lists(vertices, lists, 40)
    found = expand(store, locate(store, vertices))
    table = pa.table({"src": np.repeat(vertices, np.diff(found.offsets)), "dst": found.heads, "weight": found.weights})
    pq.write_table(table, tmp_path / "arcs.parquet")
    pq.write_table(pa.table({"vertex": vertices}), tmp_path / "vertices.parquet")
    read, ids = pq.read_table(tmp_path / "arcs.parquet"), pq.read_table(tmp_path / "vertices.parquet")["vertex"].to_numpy()
    offsets = np.searchsorted(read["src"].to_numpy(), np.append(ids, 2**31 - 1))
    again = PageStore.from_lists(ids, Lists(offsets, read["dst"].to_numpy(), read["weight"].to_numpy()), 40)
    for column in ("words", "weights", "slots", "index"):
        np.testing.assert_array_equal(getattr(again, column), getattr(store, column))
    graph = SlottedPages(store, BatchRules())
    assert graph.num_rows == 21
    assert int(graph.exists().sum()) == store.num_vertices == 5
