"""Trees of graphs with rows that arcs of length 0 lead to, as to the ends of split crossings: nothing is left to a search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import graph_of_arcs
from kernels.arrays import frozen
from kernels.graph import UNREACHED
from kernels.hierarchy import build_hierarchy
from kernels.sssp import sssp
from kernels.trees import cpu, sweeping, trees
from kernels.trees.constants import LANES
from kernels.trees.proof.cpu import prove
from kernels.trees.swept import joins
from tests.counts import examples


def with_ends(crossings=60, seed=1):
    """A directed graph in which arcs of length 0 lead from each crossing, and from two others, to its end; ids are shuffled."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, crossings, (2, 3 * crossings))
    ends = np.tile(np.arange(crossings, 2 * crossings), 3)
    into = np.append(np.arange(crossings), random.integers(0, crossings, 2 * crossings))
    arcs = np.stack([np.append(src, into), np.append(dst, ends), np.append(random.integers(1, 9, len(src)), np.zeros(len(ends)))])
    names = np.append(random.permutation(2 * crossings), 0)
    return graph_of_arcs(names[arcs[0].astype(int)], names[arcs[1].astype(int)], arcs[2].astype(np.int64), 2 * crossings, False)


def test_trees_are_those_of_sssp_without_any_search(monkeypatch):
    graph = with_ends()
    monkeypatch.setattr(sweeping, "by_search", lambda *_: pytest.fail("a tree was searched for"))
    found = trees(graph, np.arange(graph.num_vertices), build_hierarchy(graph), predecessors=True)
    assert int(joins(graph).sum()) == graph.num_vertices // 2
    for source in range(graph.num_vertices):
        paths = sssp(graph, source)
        np.testing.assert_array_equal(found.distances[source], paths.distance)
        np.testing.assert_array_equal(found.predecessors[source], paths.predecessor)


def proved(graph, sources, right, joined):
    """Of lengths [V, LANES]: which trees are not proved, and how many rows wait for arcs of length 0."""
    far, into = np.uint32(2**31), cpu._arcs(graph.into, graph.into.indices, np.dtype(np.int32))
    outputs = np.empty((LANES, graph.num_vertices), np.int32), np.empty((LANES, graph.num_vertices), np.int32)
    lengths = np.where(right == UNREACHED, far, right).astype(np.uint32)
    loose, waiting = prove(into, frozen(sources), far, lengths.ravel(), np.arange(LANES), *outputs, joined)
    return loose | (waiting != 0)


def test_every_wrong_length_is_found():
    graph, random = with_ends(12), np.random.default_rng(1)
    sources, joined = np.arange(LANES), frozen(joins(graph))
    right = np.stack([sssp(graph, int(source)).distance for source in sources], 1)
    assert not proved(graph, sources, right, joined).any()
    for row in range(graph.num_vertices):
        length = right[row, 0]
        for value in {0, length + 1, max(length - 1, 0), UNREACHED, int(random.integers(0, 99))} - {length}:
            wrong = right.copy()
            wrong[row, 0] = value
            assert proved(graph, sources, wrong, joined).tolist() == [True] + [False] * (LANES - 1), (row, value)


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=12))
def test_joins_are_those_of_the_definition(arcs):
    graph = graph_of_arcs(*np.array(arcs).T, 7, symmetric=False)
    least = {}
    for src, dst, weight in arcs:
        if src != dst:
            least[src, dst] = min(weight, least.get((src, dst), 1))
    entering = {row: [(src, weight) for (src, dst), weight in least.items() if dst == row] for row in range(7)}
    late = {row for row, before in entering.items() if any(weight == 0 for _, weight in before)}
    due = {row for row in late if all(weight == 0 and src not in late for src, weight in entering[row])}
    found = joins(graph)
    assert (set() if found is None else set(np.flatnonzero(found).tolist())) == due
    assert (found is None) == (not due)


def test_float_lengths_have_no_joins():
    assert joins(graph_of_arcs(np.array([0]), np.array([1]), np.array([0.0]), 2, symmetric=False)) is None
