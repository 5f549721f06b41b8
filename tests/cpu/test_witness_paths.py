"""Witness paths are those of table bfs, whatever memory they have, and a wrong one is refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.generators import grid_edges
from kernels.answers import Witnesses
from kernels.bfs import bfs
from kernels.graph import Array, Graph
from kernels.reachability.paths import first_wrong_path, shortest_paths
from tests.counts import examples
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import paths_of


def by_predecessors(graph: Graph, src: int, dst: int) -> list[int]:
    """The path by the predecessors of a breadth-first search; empty if there is none."""
    found = bfs(graph, src)
    path = [dst] if found.distance[dst] >= 0 else []
    while path and path[-1] != src:
        path.append(int(found.predecessor[path[-1]]))
    return path[::-1]


def all_pairs(graph: Graph) -> Array:
    return np.indices((graph.num_vertices,) * 2).reshape(2, -1)


def joined(graph: Graph, pairs: Array) -> Witnesses:
    parts = list(shortest_paths(graph, *pairs))
    lengths = np.concatenate([part.lengths for part in parts])
    return Witnesses(np.append(0, np.cumsum(lengths)), lengths, np.concatenate([part.nodes for part in parts]))


def check(graph: Graph, pairs: Array, *most_rows: int) -> None:
    assert paths_of(graph, *pairs, *most_rows) == [by_predecessors(graph, *pair) for pair in pairs.T.tolist()]


@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_named_graphs(edges):
    graph = graph_of(edges)
    check(graph, all_pairs(graph)[:, :: 1 + graph.num_vertices**2 // 2000])


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), max_size=60), st.permutations(range(16)), st.booleans())
def test_all_pairs_of_graphs_that_hypothesis_finds(ends, order, directed):
    graph = graph_of(EdgeList("found", tuple(ends), directed, tuple(range(16))), order)
    check(graph, all_pairs(graph))


@pytest.mark.parametrize("most_rows", [1, 2_000, 50_000])
def test_paths_of_a_road_network_that_do_not_fit_together(most_rows):
    """Of 400 vertices; at least one path fits, however little memory there is."""
    edges = EdgeList("roads", tuple(map(tuple, np.stack(grid_edges(20), 1).tolist())), directed=False)
    check(graph_of(edges), np.random.default_rng(1).integers(0, 400, (2, 700)), most_rows)


@pytest.fixture(scope="module")
def crowd() -> Graph:
    rng = np.random.default_rng(1)
    ends = (60 * rng.random((150, 2)) ** 2).astype(np.int64)
    order = rng.permutation(60).tolist()
    return graph_of(EdgeList("crowd", tuple(map(tuple, ends.tolist())), vertices=tuple(range(60))), order)


def test_every_wrong_path_is_refused(crowd):
    pairs = all_pairs(crowd)
    paths = joined(crowd, pairs)
    rng, arcs = np.random.default_rng(2), crowd.out
    yes = np.flatnonzero(paths.lengths)
    true = first_wrong_path(crowd, *pairs[:, yes], replace(paths, begins=paths.begins[[*yes, -1]], lengths=paths.lengths[yes]))
    assert true == -1
    refused = 0
    while refused < examples(2_000):
        query, nodes = int(rng.choice(yes)), paths.nodes.copy()
        begin, end = paths.begins[query : query + 2]
        nodes[rng.integers(begin, end)] = rng.integers(crowd.num_vertices)
        path, pair = nodes[begin:end], pairs[:, query]
        if (path[[0, -1]] == pair).all() and all(
            head in arcs.indices[arcs.offsets[tail] : arcs.offsets[tail + 1]] for tail, head in pairwise(path)
        ):
            continue  # another path
        forged = Witnesses(np.array([0, end - begin]), np.array([end - begin]), path)
        assert first_wrong_path(crowd, *pair[:, None], forged) == 0
        refused += 1
