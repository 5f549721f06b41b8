"""Stand-ins for graphs of the thesis on GRAIL have the stated numbers, and sets of pairs are what they are called."""

import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs
from benchmarks.published.grail.query_sets import SETS, pairs
from benchmarks.published.grail.stand_ins import STAND_INS, Arcs, citations, in_tree
from kernels.graph import Graph
from kernels.reachability import reach, reachability


def graph_of(arcs: Arcs) -> Graph:
    """The graph, which has all of the arcs: none is parallel or a self-loop."""
    graph = graph_of_arcs(arcs.src, arcs.dst, None, arcs.num_vertices, symmetric=False)
    assert graph.num_arcs == len(arcs.src)
    return graph


def num_roots(graph: Graph) -> int:
    return int(np.count_nonzero(np.diff(graph.into.offsets) == 0))


def test_pubmed_has_the_numbers_of_the_thesis():
    graph = graph_of(STAND_INS["Pubmed, stand-in"]())
    assert (graph.num_vertices + 1, graph.num_arcs + num_roots(graph)) == (9_001, 42_637)
    index = reachability(graph)
    assert index.condensation.num_nodes == graph.num_vertices  # acyclic
    src, dst = pairs("random", graph.out, 100_000)
    assert 500 < np.count_nonzero(reach(index, src, dst).reachable) < 800  # 658 in the thesis


@pytest.mark.parametrize("size", [20, 159_544])
def test_trees_have_many_roots_and_one_sink_at_depth_6(size):
    roots = 13 if size == 20 else 155_615
    graph = graph_of(in_tree(size, roots))
    assert (graph.num_arcs, num_roots(graph)) == (size - 1, roots)
    assert np.count_nonzero(np.diff(graph.out.offsets) == 0) == 1
    assert reachability(graph).labels.level.max() == 6


def test_fields_of_works_are_not_connected():
    graph = graph_of(citations(100, 150, 40, 10))
    assert (graph.num_arcs, num_roots(graph)) == (150, 40)
    reached = reach(reachability(graph), *np.indices((100, 100)).reshape(2, -1)).reachable.reshape(100, 100)
    assert max((reached | reached.T).sum(axis=1)) <= 10


def test_sets_of_pairs():
    graph = graph_of(STAND_INS["Pubmed, stand-in"]())
    index = reachability(graph)
    share = {}
    for kind in SETS:
        src, dst = pairs(kind, graph.out, 5_001)
        assert (len(src), len(dst)) == (5_001, 5_001)
        assert kind != "positive" or (src != dst).all()
        share[kind] = float(reach(index, src, dst).reachable.mean())
    assert share["positive"] == 1
    assert share["random"] < 0.02
    assert 0.5 < share["mixed"] < 0.52
