"""Trees from many sources against `sssp`, one source at a time."""

import numpy as np
import pytest

from kernels.sssp import sssp
from kernels.trees import sweep, trees
from tests.graphs import FIGURE_1, NAMED_GRAPHS, graph_of

SMALL = [edges for edges in NAMED_GRAPHS if len(edges.ids) <= 100]


def check(graph, sources, hierarchy=None):
    """Trees are `sssp`'s answers, value by value."""
    found = trees(graph, np.array(sources), hierarchy, predecessors=True)
    assert found.distances.shape == found.predecessors.shape == (len(sources), graph.num_vertices)
    for place, source in enumerate(sources):
        paths = sssp(graph, source)
        np.testing.assert_array_equal(found.distances[place], paths.distance)
        np.testing.assert_array_equal(found.predecessors[place], paths.predecessor)


@pytest.mark.parametrize("edges", SMALL, ids=lambda edges: edges.name)
def test_trees_of_named_graphs(edges):
    graph = graph_of(edges)
    rows = list(range(min(3, graph.num_vertices)))
    check(graph, rows + rows[:1])


def test_batches_have_all_sources_in_their_order():
    graph, sources = graph_of(FIGURE_1), np.array([3, 3, 0, 5, 1])
    batches = list(sweep(graph, None, sources, 2))
    assert [batch.sources.tolist() for batch in batches] == [[3, 3], [0, 5], [1]]
    assert all(batch.predecessors is None for batch in batches)
    np.testing.assert_array_equal(np.concatenate([batch.distances for batch in batches]), trees(graph, sources).distances)


def test_a_source_outside_the_graph_is_named():
    with pytest.raises(IndexError, match=r"row 9 is not in 0..6"):
        trees(graph_of(FIGURE_1), np.array([0, 9]))
