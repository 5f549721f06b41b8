"""Scores of vertices: with searches that are not limited, exactly the shortcuts that every vertex needs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.graphs import graph_of_arcs, graph_of_edges
from kernels.hierarchy.core import core_of
from kernels.hierarchy.scores import count_shortcuts
from tests.counts import examples

FAR = 2**60


def needed(arcs, size):
    """Of each vertex, the pairs of others whose only shortest path has two arcs and passes it, by Floyd's method."""
    least = {(a, b): FAR for a in range(size) for b in range(size)} | {(a, a): 0 for a in range(size)}
    for a, b, weight in arcs:
        least[a, b] = min(least[a, b], weight)
    arc = dict(least)
    for z in range(size):
        for a, b in least:
            least[a, b] = min(least[a, b], least[a, z] + least[z, b])
    counts = [0] * size
    for a, b in least:
        middles = {z for z in range(size) if z not in (a, b) and least[a, z] + least[z, b] == least[a, b] < FAR}
        if a != b and len(middles) == 1 and arc[a, b] > least[a, b]:
            counts[middles.pop()] += 1
    return counts


@st.composite
def drawn(draw):
    """Arcs of which no two sets weigh the same."""
    size = draw(st.integers(2, 9))
    vertex = st.integers(0, size - 1)
    ends = draw(st.lists(st.tuples(vertex, vertex), min_size=1, max_size=30))
    order = draw(st.permutations(range(len(ends))))
    return size, [(*pair, 2**place) for pair, place in zip(ends, order, strict=True)], draw(st.booleans())


@settings(max_examples=examples(100))
@given(drawn())
def test_scores_are_the_needed_shortcuts(case):
    size, arcs, directed = case
    src, dst, weights = np.array(arcs).T
    graph = graph_of_arcs(src, dst, weights, size, symmetric=False) if directed else graph_of_edges(src, dst, weights, size)
    arcs = arcs if directed else arcs + [(b, a, weight) for a, b, weight in arcs]
    assert count_shortcuts(core_of(graph), np.arange(size), 100).tolist() == needed(arcs, size)


@pytest.mark.parametrize(("settle", "counted"), [(0, [0, 1, 1, 0, 0]), (1, [0, 1, 1, 0, 0]), (3, [0, 0, 1, 0, 0])])
def test_what_a_search_does_not_find_counts(settle, counted):
    """From 0 to 3 the way through 1 is longer than that through 2 and 4."""
    arcs = np.array([(0, 1, 5), (1, 3, 5), (0, 2, 1), (2, 4, 1), (4, 3, 1)])
    graph = graph_of_arcs(*arcs.T, 5, symmetric=False)
    assert count_shortcuts(core_of(graph), np.array([0]), settle).tolist() == counted
