"""Answers equal the transitive closure, whatever decides them, and on real graphs a search from the source."""

import itertools
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cpu.reachability import read_gra
from benchmarks.graphs import DATA, wiki_vote
from benchmarks.published.grail import cpu as grail
from kernels.answers import ReachabilityIndex, Reached
from kernels.bfs import bfs
from kernels.graph import UNREACHED, Array, Graph
from kernels.reachability import (
    FILTER,
    METHODS,
    POSITIVE_CUT,
    SAME,
    SEARCH,
    condense,
    label,
    memory,
    reach,
    reach_by_search,
    reachability,
)
from kernels.reachability.queries.sizes import path_bytes
from tests.answers import uncleaned
from tests.counts import NIGHTLY, examples
from tests.cpu.test_reachability_labels import FIGURE, complete, diamonds
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import closure, digraph

WAYS = (reach, *(partial(grail.reach, search=search) for search in grail.SEARCHES))


def all_pairs(graph: Graph) -> tuple[Array, Array]:
    src, dst = np.indices((graph.num_vertices,) * 2)
    return src.ravel(), dst.ravel()


def check(graph: Graph, index: ReachabilityIndex, answer_by: Callable[..., Reached] = reach) -> Reached:
    """Compare all pairs with the closure, and what decided with the answers."""
    answer = answer_by(index, *all_pairs(graph))
    np.testing.assert_array_equal(answer.reachable, closure(graph).ravel())
    assert answer.reachable[(answer.decided == SAME) | (answer.decided == POSITIVE_CUT)].all()
    assert not answer.reachable[answer.decided == FILTER].any()
    return answer


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edges", [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100], ids=lambda edges: edges.name)
def test_all_pairs_of_named_graphs(edges, method):
    for order, build in itertools.product((edges.ids, edges.ids[::-1]), (graph_of, uncleaned)):
        graph = build(edges, order)
        index = reachability(graph, 2, 1, method)
        for way in WAYS:
            check(graph, index, way)
        np.testing.assert_array_equal(reach_by_search(index, *all_pairs(graph)), closure(graph).ravel())


def test_all_pairs_of_random_graphs():
    for seed in range(examples(1200)):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 40))
        ends = rng.integers(0, size, (int(size * rng.choice([0.5, 1, 1.3, 2, 4])), 2))
        if seed % 3:
            ends = rng.permutation(size)[np.sort(ends, axis=1)]  # acyclic
        graph = digraph(*ends.T, size)
        index = reachability(graph, 1 + seed % 4, seed, METHODS[seed % 2])
        check(graph, index, WAYS[seed // 2 % 5])


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=70), st.integers(1, 5), st.sampled_from(METHODS))
def test_all_pairs_of_graphs_that_hypothesis_finds(pairs, dimensions, method):
    graph = graph_of(EdgeList("found", tuple(pairs), vertices=tuple(range(26))))
    for way in WAYS:
        check(graph, reachability(graph, dimensions, 0, method), way)


@pytest.mark.parametrize(
    ("name", "graph", "components"),
    [
        ("one_big_cycle", digraph(np.arange(500), (np.arange(500) + 1) % 500, 500), 1),
        ("two_linked_cycles", digraph(np.array([0, 1, 2, 3, 4, 5, 2]), np.array([1, 2, 0, 4, 5, 3, 4]), 6), 2),
        ("forest", digraph(np.array([0, 0, 1, 5, 5]), np.array([1, 2, 3, 6, 7]), 9), 9),
        ("isolated_vertices", digraph(np.empty(0, int), np.empty(0, int), 20), 20),
        ("complete_dag", complete(100), 100),
        ("diamonds", diamonds(80), 241),
        ("star", digraph(np.zeros(99, int), np.arange(1, 100), 100), 100),
        ("in_star", digraph(np.arange(1, 100), np.zeros(99, int), 100), 100),
    ],
)
def test_all_pairs_of_special_graphs(name, graph, components):
    assert condense(graph).num_nodes == components
    for method, way in itertools.product(METHODS, WAYS):
        check(graph, reachability(graph, 3, 0, method), way)


def test_a_component_reaches_itself_and_what_its_arcs_lead_to():
    graph = graph_of(EdgeList("tail", ((5, 4), (4, 3), (3, 5), (3, 0), (0, 1), (9, 5))))
    index = reachability(graph)
    ids = graph.ids.tolist()
    answer = reach(index, [ids.index(v) for v in (5, 3, 9, 1, 4)], [ids.index(v) for v in (3, 1, 9, 5, 9)])
    assert answer.reachable.tolist() == [True, True, True, False, False]
    assert answer.decided[[0, 2]].tolist() == [SAME, SAME]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("num_queries", [0, 1, 63, 64, 65, 100_000])
def test_any_number_of_queries(num_queries, way):
    rng = np.random.default_rng(5)
    graph = digraph(*np.sort(rng.integers(0, 300, (700, 2)), axis=1).T, 300)
    src, dst = rng.integers(0, 300, (2, num_queries))
    answer = way(reachability(graph), src, dst)
    np.testing.assert_array_equal(answer.reachable, closure(graph)[src, dst])
    assert (answer.reachable.dtype, answer.decided.dtype) == (np.bool_, np.uint8)


def test_64_queries_of_one_source_and_every_vertex_to_itself():
    rng = np.random.default_rng(6)
    graph = digraph(*np.sort(rng.integers(0, 200, (500, 2)), axis=1).T, 200)
    index = reachability(graph)
    dst = rng.integers(0, 200, 64)
    np.testing.assert_array_equal(reach(index, np.full(64, 3), dst).reachable, closure(graph)[3, dst])
    rows = np.arange(200)
    own = reach(index, rows, rows)
    assert own.reachable.all()
    assert (own.decided == SAME).all()


def test_what_decided_follows_from_the_labels():
    """The definition, applied to the published arrays."""
    rng = np.random.default_rng(7)
    graph = digraph(*np.sort(rng.integers(0, 120, (260, 2)), axis=1).T, 120)
    for method in METHODS:
        index = reachability(graph, 3, 2, method)
        labels, node = index.labels, index.condensation.node
        src, dst = all_pairs(graph)
        u, v = node[src], node[dst]
        no = (labels.level[u] >= labels.level[v]) | (labels.height[u] <= labels.height[v])
        no |= (labels.reached[u] & ~labels.reached[v] | labels.reaches[v] & ~labels.reaches[u]) != 0
        for i in range(3):
            a, b = (v, u) if labels.backward(i) else (u, v)
            no |= (labels.low[i][a] > labels.low[i][b]) | (labels.post[i][a] < labels.post[i][b])
        yes = (labels.first[0][u] <= labels.last[0][v]) & (labels.last[0][v] <= labels.last[0][u])
        yes |= (labels.reaches[u] & labels.reached[v]) != 0
        expected = np.select([u == v, no, yes], [SAME, FILTER, POSITIVE_CUT], SEARCH)
        assert not (no & yes & (u != v)).any()
        np.testing.assert_array_equal(reach(index, src, dst).decided, expected)
        assert set(expected.tolist()) == {SAME, FILTER, POSITIVE_CUT, SEARCH}


@pytest.mark.parametrize("method", METHODS)
def test_a_path_of_a_million_vertices(method):
    size = 1_000_000
    rows = np.arange(size)
    graph = digraph(rows[:-1], rows[1:], size)
    index = reachability(graph, 2, 0, method)
    assert index.labels.level.tolist() == rows.tolist()
    src, dst = np.random.default_rng(1).integers(0, size, (2, 10_000))
    for way in (reach, partial(grail.reach, search="pruned-dfs")):
        np.testing.assert_array_equal(way(index, src[:50], dst[:50]).reachable, src[:50] <= dst[:50])
    np.testing.assert_array_equal(reach(index, src, dst).reachable, src <= dst)


REAL = {"wiki-Vote": wiki_vote, **{name: lambda name=name: read_gra(DATA / f"{name}.gra.gz") for name in ("kegg", "amaze")}}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.sampled
@pytest.mark.parametrize("name", REAL)
def test_real_graphs_like_a_search_from_the_source(name, method):
    graph = REAL[name]()
    index = reachability(graph, 3, 0, method)
    rows = np.arange(graph.num_vertices)
    for source in np.random.default_rng(2).integers(0, graph.num_vertices, 40 if NIGHTLY else 12):
        expected = bfs(graph, int(source)).distance != UNREACHED
        for way in WAYS[:4]:
            np.testing.assert_array_equal(way(index, np.full_like(rows, source), rows).reachable, expected)
        np.testing.assert_array_equal(reach_by_search(index, np.full_like(rows, source), rows), expected)


class TestExceptions:
    """The list of pairs that the intervals alone would answer wrongly."""

    def test_the_list_of_the_thesis_figure(self):
        index = reachability(graph_of(FIGURE), 1, method="dfs")
        pairs = grail.exceptions(index)
        assert (len(pairs), pairs.dtype) == (15, np.int64)
        assert pairs.tolist() == sorted(pairs.tolist())
        assert not closure(graph_of(FIGURE))[pairs[:, 0], pairs[:, 1]].any()

    def test_too_many_components(self):
        index = reachability(digraph(np.arange(2000), np.arange(1, 2001), 2001), 1)
        for call in (lambda: grail.exceptions(index), lambda: grail.reach(index, [0], [1], "exceptions")):
            with pytest.raises(ValueError, match="2001 components, more than the limit of 2000"):
                call()

    def test_a_graph_at_the_limit(self):
        rng = np.random.default_rng(3)
        graph = digraph(*np.sort(rng.integers(0, 2000, (3000, 2)), axis=1).T, 2000)
        check(graph, reachability(graph, 2), partial(grail.reach, search="exceptions"))


class TestMemory:
    """The bound is larger than what NumPy allocates, by a small factor."""

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("degree", [1, 8])
    def test_of_a_random_graph(self, method, degree):
        size = 100_000
        graph = digraph(*np.sort(np.random.default_rng(1).integers(0, size, (size * degree, 2)), axis=1).T, size)
        bound = memory(size, graph.num_arcs, 3, method)
        reachability(graph, 3, 0, method)  # compiled
        tracemalloc.start()
        index = reachability(graph, 3, 0, method)
        build = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        reach(index, np.arange(1000), np.arange(1000) + 5000)
        queries = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert build < bound.build < (3 if method == "tree" else 6) * build
        paths = path_bytes(size, 4)  # of proved answers, which these are not
        assert queries < bound.queries - paths < 2 * queries


class TestArguments:
    graph = digraph(np.array([0, 1]), np.array([1, 2]), 3)
    index = ReachabilityIndex(condense(graph), label(condense(graph)))

    @pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64])
    def test_rows_of_any_integer_type(self, dtype):
        assert reach(self.index, np.array([0, 2], dtype), np.array([2, 0], dtype)).reachable.tolist() == [True, False]

    @pytest.mark.parametrize("row", [-1, 3, 2**40])
    def test_entries_that_are_not_rows(self, row):
        with pytest.raises(IndexError, match=rf"row {row} is not in 0..2"):
            reach(self.index, [0, row], [0, 0])
        with pytest.raises(IndexError, match=rf"row {row} is not in 0..2"):
            reach(self.index, [0, 0], [0, row])

    def test_wrong_types_and_lengths(self):
        with pytest.raises(TypeError, match="rows are float64, not integers"):
            reach(self.index, np.zeros(2), np.zeros(2))
        with pytest.raises(ValueError, match="2 sources, 3 destinations"):
            reach(self.index, [0, 1], [0, 1, 2])

    def test_a_graph_without_vertices(self):
        index = reachability(digraph(np.empty(0, int), np.empty(0, int), 0))
        assert index.condensation.num_nodes == 0
        assert len(reach(index, np.empty(0, int), np.empty(0, int)).reachable) == 0
        with pytest.raises(IndexError, match="row 0 is not"):
            reach(index, [0], [0])
