"""Labels equal their definition to the byte, and the thesis's passes a depth-first search; its known errors stay fixed."""

import random
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.answers import Condensation, Csr, Labels
from kernels.graph import NO_ROW, Graph
from kernels.reachability import METHODS, condense, label, reach, reach_by_search, reachability
from kernels.reachability.labels.dfs import cpu as dfs
from kernels.reachability.labels.dfs.root_paths import first_parents
from kernels.reachability.labels.numbering import DagArcs, extremes, number
from kernels.reachability.order.cpu import sort_by_level
from tests.answers import uncleaned
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import closure, condensed, depth_first, digraph, key, labels_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100]
FIGURE = EdgeList(
    "thesis_figure", ((0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 5), (3, 7), (4, 8), (5, 6), (6, 8), (7, 8), (7, 9))
)


def diamonds(count: int) -> Graph:
    """Chained diamonds: 2^count paths lead from the first vertex to the last."""
    top = 3 * np.arange(count)
    src, dst = np.concatenate((top, top, top + 1, top + 2)), np.concatenate((top + 1, top + 2, top + 3, top + 3))
    return digraph(src, dst, 3 * count + 1)


def complete(size: int) -> Graph:
    return digraph(*np.triu_indices(size, 1), size)


def rows(csr: Csr) -> list[list[int]]:
    return [csr.indices[begin:end].tolist() for begin, end in zip(csr.offsets, csr.offsets[1:], strict=False)]


def searched(condensation: Condensation, dimension: int, seed: int) -> tuple[list[int], list[int]]:
    """Parents and post-order numbers of a sequential depth-first search."""
    children, num_nodes = rows(condensation.children), condensation.num_nodes
    roots = np.flatnonzero(np.diff(condensation.parents.offsets) == 0).tolist()
    if dimension:
        children = [sorted(row, key=lambda head: key(seed, dimension, tail, head)) for tail, row in enumerate(children)]
        roots.sort(key=lambda root: key(seed, dimension, num_nodes, root))
    return depth_first(children, roots)


def assert_labels(labels: Labels, expected: dict[str, np.ndarray]) -> None:
    for name, array in expected.items():
        assert getattr(labels, name).dtype == array.dtype, name
        np.testing.assert_array_equal(getattr(labels, name), array.reshape(getattr(labels, name).shape), name)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_labels_of_named_graphs_are_as_defined_in_any_row_order(edges, method):
    expected = labels_of(edges, 3, 5, method)
    for order in (edges.ids, edges.ids[::-1]):
        for build in (graph_of, uncleaned):
            assert_labels(reachability(build(edges, order), 3, 5, method).labels, expected)


@settings(max_examples=examples(150))
@given(st.integers(1, 30), st.floats(0, 3), st.booleans(), st.integers(0, 2**64 - 1), st.sampled_from(METHODS), st.randoms())
def test_labels_of_random_graphs_are_as_defined(size, degree, acyclic, seed, method, randoms):
    pairs = [(randoms.randrange(size), randoms.randrange(size)) for _ in range(int(size * degree))]
    edges = EdgeList("random", tuple(tuple(sorted(pair)) if acyclic else pair for pair in pairs), vertices=tuple(range(size)))
    graph = graph_of(edges, randoms.sample(range(size), size))
    index = reachability(graph, 4, seed, method)
    assert_labels(index.labels, labels_of(edges, 4, seed, method))
    dag = condensed(edges)
    assert graph.ids[index.condensation.names].tolist() == dag.names
    assert index.condensation.node.tolist() == [dag.node[vertex] for vertex in graph.ids.tolist()]
    assert (rows(index.condensation.children), rows(index.condensation.parents)) == (dag.children, dag.parents)


class TestTheThesisFigure:
    """The labels in the thesis's figures 2.2, 2.3 and 4.x."""

    roots = np.zeros(1, np.int32)

    @cached_property
    def condensation(self) -> Condensation:
        return condense(graph_of(FIGURE))

    @cached_property
    def order(self) -> np.ndarray:
        return sort_by_level(self.condensation)[2]

    def forest(self, children: DagArcs) -> tuple[dfs.PathCounts, np.ndarray, np.ndarray]:
        sizes = dfs.count_paths(children, self.order)
        return (sizes, *dfs.cheapest_parents(children, self.roots, self.order, sizes))

    def intervals(self, children: DagArcs) -> tuple[np.ndarray, np.ndarray]:
        numbers = number(children, self.roots, self.forest(children)[1], self.order, None)
        return extremes(children, self.order, numbers.last)

    def exceptions(self, *labels: tuple[np.ndarray, np.ndarray]) -> set[tuple[int, int]]:
        reach = closure(graph_of(FIGURE))
        inside = np.all([(low[:, None] <= low) & (post <= post[:, None]) for low, post in labels], axis=0)
        return set(zip(*(side.tolist() for side in np.nonzero(inside & ~reach)), strict=True))

    def both_ways(self) -> tuple[DagArcs, DagArcs]:
        csr = self.condensation.children
        turned = np.concatenate([csr.indices[begin:end][::-1] for begin, end in zip(csr.offsets, csr.offsets[1:], strict=False)])
        return DagArcs(csr.offsets, csr.indices), DagArcs(csr.offsets, turned)

    def test_sizes_costs_and_parents(self):
        sizes, parent, cost = self.forest(self.both_ways()[0])
        assert sizes.paths.tolist() == [16, 7, 8, 4, 2, 3, 2, 3, 1, 1]
        assert cost.tolist() == [0, 1, 8, 2, 6, 13, 14, 3, 4, 5]
        assert parent.tolist() == [NO_ROW, 0, 0, 1, 1, 2, 5, 3, 7, 7]

    def test_labels(self):
        labels = label(self.condensation, 1, method="dfs")
        assert labels.low[0].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
        assert labels.post[0].tolist() == labels.last[0].tolist() == [10, 6, 9, 4, 5, 8, 7, 3, 1, 2]
        assert labels.compared_paths == (False,)

    def test_fifteen_exceptions_and_three_with_the_reversed_order(self):
        forward, reverse = map(self.intervals, self.both_ways())
        assert len(self.exceptions(forward)) == 15
        assert self.exceptions(forward, reverse) == {(4, 3), (4, 7), (4, 9)}


class TestDepthFirstPasses:
    """Method "dfs" has the forest of a sequential depth-first search."""

    def test_on_400_random_graphs_in_three_dimensions(self):
        for seed in range(400):
            rng = np.random.default_rng(seed)
            size = int(rng.integers(2, 80))
            ends = np.sort(rng.integers(0, size, (int(size * rng.uniform(0.3, 4)), 2)), axis=1)
            ends = rng.permutation(size)[ends] if seed % 2 else ends
            condensation = condense(digraph(*ends.T, size))
            labels = label(condensation, 3, seed, "dfs")
            for dimension in range(3):
                assert labels.last[dimension].tolist() == searched(condensation, dimension, seed)[1]
            assert (labels.last == labels.post).all()

    def test_costs_are_the_first_positions_in_the_pre_order_of_all_paths(self):
        children = [[1, 2], [3], [3, 4], [4], []]
        pre_order: list[int] = []

        def visit(node: int) -> None:
            pre_order.append(node)
            for child in children[node]:
                visit(child)

        visit(0)
        src = np.repeat(np.arange(5), [len(row) for row in children])
        condensation = condense(digraph(src, np.concatenate(children).astype(int), 5))
        order = sort_by_level(condensation)[2]
        out = DagArcs(condensation.children.offsets, condensation.children.indices)
        _, cost = dfs.cheapest_parents(out, np.zeros(1, np.int32), order, dfs.count_paths(out, order))
        assert cost.tolist() == [pre_order.index(node) for node in range(5)]

    def test_path_comparison_finds_the_same_parents(self):
        for seed in range(200):
            rng = np.random.default_rng(seed)
            size = int(rng.integers(2, 60))
            ends = np.sort(rng.integers(0, size, (int(size * rng.uniform(0.5, 5)), 2)), axis=1)
            condensation = condense(digraph(*ends.T, size))
            level, _, order = sort_by_level(condensation)
            out = DagArcs(condensation.children.offsets, condensation.children.indices)
            roots = np.flatnonzero(level == 0).astype(np.int32)
            compared = first_parents(out, roots, order, int(level.max()) + 1)
            assert compared.tolist() == searched(condensation, 0, 0)[0]

    def test_a_node_of_10_000_parents(self):
        hubs = np.arange(1, 10_001)
        src, dst = np.concatenate((0 * hubs, hubs)), np.concatenate((hubs, 0 * hubs + 10_001))
        condensation = condense(digraph(src, dst, 10_002))
        labels = label(condensation, 2, 3, "dfs")
        for dimension in range(2):
            assert labels.last[dimension].tolist() == searched(condensation, dimension, 3)[1]

    def test_the_same_labels_twenty_times(self):
        condensation = condense(diamonds(70))
        first = label(condensation, 3, 1, "dfs")
        for _ in range(20):
            again = label(condensation, 3, 1, "dfs")
            assert all(np.array_equal(vars(first)[name], vars(again)[name]) for name in ("low", "post", "first", "last"))


class TestKnownErrors:
    """Graphs for which a literal implementation of the thesis gives wrong labels."""

    @pytest.mark.parametrize(("count", "overflow"), [(30, False), (60, False), (61, True), (62, True), (100, True), (200, True)])
    def test_paths_are_compared_if_sizes_do_not_fit_int64(self, count, overflow):
        condensation = condense(diamonds(count))
        labels = label(condensation, 2, 9, "dfs")
        assert labels.compared_paths == (overflow, overflow)
        for dimension in range(2):
            assert labels.last[dimension].tolist() == searched(condensation, dimension, 9)[1]

    def test_the_sum_over_the_roots_overflows(self):
        # 2 roots above 60 diamonds: the size of each root fits int64, their sum does not
        graph = diamonds(60)
        src = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
        dst = graph.out.indices
        first = graph.num_vertices
        src, dst = np.append(src, [first, first + 1]), np.append(dst, [0, 0])
        condensation = condense(digraph(src, dst, first + 2))
        labels = label(condensation, 1, method="dfs")
        assert labels.compared_paths == (True,)
        assert labels.last[0].tolist() == searched(condensation, 0, 0)[1]

    @pytest.mark.parametrize("size", [50, 100, 200])
    def test_the_complete_dag(self, size):
        labels = label(condense(complete(size)), 1, method="dfs")
        assert labels.compared_paths == (size > 63,)
        assert labels.post[0].tolist() == list(range(size, 0, -1))

    def test_several_roots_share_one_virtual_root(self):
        src, dst = np.array([0, 1, 1, 2, 5]), np.array([3, 3, 4, 4, 4])
        condensation = condense(digraph(src, dst, 7))
        labels = label(condensation, 1, method="dfs")
        assert labels.last[0].tolist() == searched(condensation, 0, 0)[1] == [2, 4, 5, 1, 3, 6, 7]
        assert sorted(label(condensation, 1).last[0].tolist()) == [1, 2, 3, 4, 5, 6, 7]

    @pytest.mark.parametrize("method", METHODS)
    def test_the_smallest_number_is_that_of_all_arcs_not_of_the_tree(self, method):
        # 2 -> 1 is not an arc of the tree, and the numbers of 2's subtree are larger
        labels = label(condense(digraph(np.array([0, 0, 2]), np.array([1, 2, 1]), 3)), 1, method=method)
        assert labels.low[0][2] <= labels.low[0][1]
        assert labels.post[0][2] >= labels.post[0][1]

    @pytest.mark.parametrize("method", METHODS)
    def test_parallel_arcs_and_self_loops_change_nothing(self, method):
        once = EdgeList("once", ((0, 1), (0, 2), (1, 2), (2, 3)))
        more = EdgeList("more", (*once.edges, (0, 1), (0, 0), (2, 3), (2, 3), (3, 3)))
        assert_labels(reachability(uncleaned(more), 3, 1, method).labels, labels_of(once, 3, 1, method))

    @pytest.mark.parametrize("method", METHODS)
    def test_a_cycle_among_the_nodes_is_an_error(self, method):
        offsets, indices = np.array([0, 1, 2, 4, 4]), np.array([1, 2, 0, 3], np.int32)
        cyclic = Csr(offsets, indices, None)
        into = Csr(np.array([0, 1, 2, 3, 4]), np.array([2, 0, 1, 2], np.int32), None)
        nodes = np.arange(4, dtype=np.int32)
        with pytest.raises(ValueError, match="4 of 4 nodes are on cycles or are reached from one"):
            label(Condensation(nodes, nodes, cyclic, into), method=method)

    def test_dimensions_are_a_function_of_the_seed(self):
        condensation = condense(digraph(*np.triu_indices(30, 1), 30))
        sparse = condense(digraph(*np.sort(np.random.default_rng(3).integers(0, 40, (90, 2)), axis=1).T, 40))
        for method in METHODS:
            one, again, other = (label(sparse, 3, seed, method) for seed in (1, 1, 2))
            np.testing.assert_array_equal(one.low, again.low)
            np.testing.assert_array_equal(one.low[0], other.low[0])
            assert (one.last[1:] != other.last[1:]).any(axis=1).all()
        assert label(condensation, 5).dimensions == 5


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_64_bits_have_the_same_labels(method):
    """As in graphs of 2^31 vertices or more."""
    rng = np.random.default_rng(2)
    narrow = digraph(*rng.integers(0, 100, (2, 130)), 100)
    out, into = (replace(csr, indices=csr.indices.astype(np.int64)) for csr in (narrow.out, narrow.into))
    wide = Graph(narrow.ids, narrow.rows_by_id.astype(np.int64), out, into, narrow.directed)
    index, expected = reachability(wide, 3, 1, method), reachability(narrow, 3, 1, method)
    for name in ("level", "height", "low", "post", "first", "last", "supports", "reaches", "reached"):
        np.testing.assert_array_equal(getattr(index.labels, name), getattr(expected.labels, name))
    assert index.labels.low.dtype == index.condensation.children.indices.dtype == np.int64
    src, dst = rng.integers(0, 100, (2, 3000))
    for answers in (reach(index, src, dst).reachable, reach_by_search(index, src, dst)):
        np.testing.assert_array_equal(answers, reach(expected, src, dst).reachable)


@pytest.mark.parametrize("method", METHODS)
def test_the_exceptions_do_not_grow_with_the_dimensions(method):
    rng = random.Random(8)
    edges = EdgeList("random", tuple(tuple(sorted((rng.randrange(60), rng.randrange(60)))) for _ in range(150)))
    condensation = condense(graph_of(edges))
    labels = label(condensation, 5, 4, method)
    inside = []
    for dimension in range(5):
        low, post = labels.low[dimension], labels.post[dimension]
        holds = (low[:, None] <= low) & (post <= post[:, None])
        inside.append(holds.T if labels.backward(dimension) else holds)
    counts = [int(np.all(inside[:dimensions], axis=0).sum()) for dimensions in range(1, 6)]
    assert counts == sorted(counts, reverse=True)
    assert counts[4] < counts[0]


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            ({"method": "bfs"}, "unknown method 'bfs'; the methods are tree, dfs"),
            ({"dimensions": 0}, "0 dimensions; at least 1 is needed"),
            ({"seed": -1}, "seed -1 is not in 0..18446744073709551615"),
            ({"seed": 2**64}, "seed 18446744073709551616 is not in"),
        ],
    )
    def test_wrong_arguments(self, arguments, reason):
        with pytest.raises(ValueError, match=reason):
            label(condense(graph_of(FIGURE)), **arguments)

    def test_the_largest_seed(self):
        assert label(condense(graph_of(FIGURE)), seed=2**64 - 1).seed == 2**64 - 1
