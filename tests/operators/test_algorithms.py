"""The nineteen algorithms of Table 5: their answers against NetworkX and our kernels, their length, and their operators."""

import inspect
from importlib import import_module

import networkx
import numpy as np
import pytest

from examples.weights.edges import network_of
from kernels.bfs import bfs
from kernels.graph import Graph
from kernels.library.operators import advance, compute, filter, reduce, repeat_advance
from kernels.sssp import sssp
from tests.counts import of_the_day
from tests.operators import cases

# Table 5 of the document: which of advance, compute, reduce and the generation of frontiers an algorithm uses.
TABLE_5 = {
    "paths.top_down": "++-+",
    "paths.bottom_up": "++--",
    "paths.direction_optimising": "++++",
    "paths.bellman_ford": "++--",
    "paths.dijkstra": "++++",
    "paths.delta_stepping": "++++",
    "components.shiloach_vishkin": "++--",
    "components.by_search": "++++",
    "components.random_neighbour": "++--",
    "components.label_propagation": "++-+",
    "components.colouring": "++--",
    "components.floyd_warshall": "++--",
    "components.closure_by_search": "++-+",
    "components.forward_backward": "++++",
    "weights.pagerank": "++++",
    "paths.brandes": "++++",
    "weights.boruvka": "++-+",
    "weights.push_relabel": "++-+",
    "weights.flow_by_search": "++++",
}
ROWS = TABLE_5 | {"paths.bellman_ford_partial": "++-+", "components.communities": "++-+"}  # and second forms of two rows
# By day one of each group, because Numba takes seconds for each; all by night, and on every GPU.
TRIED = of_the_day(
    ("paths.top_down", "paths.bottom_up", "paths.direction_optimising", "paths.bellman_ford", "paths.bellman_ford_partial"),
    ("paths.dijkstra", "paths.delta_stepping", "paths.brandes", "weights.pagerank", "components.communities"),
    ("components.shiloach_vishkin", "components.random_neighbour", "components.label_propagation", "components.colouring"),
    ("components.by_search", "components.forward_backward", "components.floyd_warshall", "components.closure_by_search"),
    ("weights.boruvka", "weights.push_relabel", "weights.flow_by_search"),
)


def algorithm(name):
    module = import_module(f"examples.{name}")
    return getattr(module, name.rpartition(".")[2])


def random_graph(seed: int, size: int, count: int, symmetric: bool = False) -> Graph:
    """Distinct arcs without self-loops, with int32 weights 1..7 that an edge has in both directions."""
    random = np.random.default_rng(seed)
    pairs = {(int(a), int(b)) for a, b in random.integers(0, size, (count, 2)) if a != b}
    pairs |= {(b, a) for a, b in pairs} if symmetric else set()
    graph = cases.graph_of_arcs(sorted(pairs), size, np.int32)
    for csr in (graph.out, graph.into):
        tails = np.repeat(np.arange(size), np.diff(csr.offsets))
        csr.weights[:] = (np.minimum(tails, csr.indices) * 31 + np.maximum(tails, csr.indices) * 17) % 7 + 1
    return Graph(graph.ids, graph.rows_by_id, graph.out, graph.out, directed=False) if symmetric else graph


def networkx_of(graph: Graph, kind=networkx.DiGraph):
    made = kind()
    made.add_nodes_from(range(graph.num_vertices))
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    for tail, head, weight in zip(tails.tolist(), graph.out.indices.tolist(), graph.out.weights.tolist(), strict=True):
        made.add_edge(tail, head, weight=weight, capacity=weight)
    return made


GRAPHS = [random_graph(1, 60, 90), random_graph(2, 80, 400), random_graph(3, 50, 60, True), random_graph(4, 1, 0)]


def answers(graph: Graph, names) -> dict[str, object]:
    """The algorithms' answers."""
    last = graph.num_vertices - 1
    arguments = {
        "components": (), "weights.pagerank": (), "weights.boruvka": (), "paths.delta_stepping": (0, 3.0),
        "paths.brandes": (range(0, last + 1, 3),), "weights.push_relabel": (0, last), "weights.flow_by_search": (0, last),
    }  # fmt: skip
    chosen = {name: arguments.get(name, arguments.get(name.partition(".")[0], (0,))) for name in names}
    if last < 1:
        chosen = {name: given for name, given in chosen.items() if "flow" not in name and "push" not in name}
    return {name: algorithm(name)(graph, *given) for name, given in chosen.items()}


def components_of(groups, size):
    labels = np.empty(size, np.int64)
    for group in groups:
        labels[list(group)] = min(group)
    return labels


def require_true(name: str, graph: Graph, found) -> None:
    """Compare an answer with NetworkX's, or with our kernels'."""
    size, directed, kind = graph.num_vertices, networkx_of(graph), name.rpartition(".")[2]
    if kind in ("top_down", "bottom_up", "direction_optimising"):
        np.testing.assert_array_equal(found, bfs(graph, 0).distance)
    elif kind in ("bellman_ford", "bellman_ford_partial", "dijkstra", "delta_stepping"):
        distance = sssp(graph, 0).distance.astype(np.float64)
        np.testing.assert_array_equal(found, np.where(distance < 0, np.inf, distance))
    elif kind == "forward_backward":
        np.testing.assert_array_equal(found, components_of(networkx.strongly_connected_components(directed), size))
    elif kind in ("floyd_warshall", "closure_by_search"):
        closure = networkx.to_numpy_array(networkx.transitive_closure(directed, reflexive=False), range(size)) > 0
        bits = np.unpackbits(found.view(np.uint8).reshape(size, -1), axis=1, bitorder="little")
        np.testing.assert_array_equal(bits[:, :size].astype(bool), closure)
    elif kind == "pagerank":
        scores = networkx.pagerank(directed, weight=None, tol=1e-13, max_iter=1000)
        np.testing.assert_allclose(found, [scores[row] for row in range(size)], rtol=0, atol=1e-10)
    elif kind == "brandes":
        between = networkx.betweenness_centrality_subset(directed, range(0, size, 3), range(size))
        np.testing.assert_allclose(found, [between[row] for row in range(size)], rtol=1e-12, atol=1e-10)
    elif kind == "boruvka":
        require_lightest(networkx_of(graph, networkx.Graph), *found)
    elif kind in ("push_relabel", "flow_by_search"):
        require_largest(graph, algorithm(name))
    elif kind == "communities":
        assert stable(graph, found)
    else:
        np.testing.assert_array_equal(found, components_of(networkx.weakly_connected_components(directed), size))


def require_lightest(undirected, chosen, ends) -> None:
    forest, expected = networkx.Graph(zip(*ends[:, chosen].tolist(), strict=True)), networkx.minimum_spanning_tree(undirected)
    assert networkx.is_forest(forest) if len(forest) else not expected.number_of_edges()
    assert forest.number_of_edges() == expected.number_of_edges()
    assert sum(undirected.edges[edge]["weight"] for edge in forest.edges) == expected.size("weight")


def require_largest(graph: Graph, maximum_flow) -> None:
    network, capacity, reverse = network_of(graph)
    assert (capacity[reverse][capacity > 0] >= 0).all()
    for source, target in ((0, graph.num_vertices - 1), (5, 7), (12, 3)):
        value = networkx.maximum_flow_value(networkx_of(graph), source, target)
        found, left = maximum_flow(graph, source, target)
        assert found == value
        assert (left >= 0).all()
        np.testing.assert_array_equal(left + left[reverse], capacity + capacity[reverse])
        tails = np.repeat(np.arange(graph.num_vertices), np.diff(network.out.offsets))
        balance = np.bincount(tails, capacity - left, graph.num_vertices)
        assert (balance[source], balance[target], np.count_nonzero(balance)) == (value, -value, 2 * (value > 0))


def stable(graph: Graph, labels) -> bool:
    """Whether no row has a label that is rarer among its neighbours than another one."""
    for row in range(graph.num_vertices):
        near = labels[graph.out.indices[graph.out.offsets[row] : graph.out.offsets[row + 1]]]
        votes = np.bincount(near, minlength=graph.num_vertices)
        if len(near) and votes[labels[row]] < votes.max():
            return False
    return True


def cliques() -> Graph:
    arcs = [(10 * k + i, 10 * k + j) for k in range(4) for i in range(10) for j in range(10) if i != j]
    return cases.graph_of_arcs([*arcs, (0, 10), (10, 0), (10, 20), (20, 10), (20, 30), (30, 20)], 40, np.int32)


def generates(edge, after, collect):
    """Whether an advance makes a frontier, as its functions' annotations say."""
    results = [function.__annotations__["return"] for function in (None if collect else edge, after) if function]
    return bool in results


@pytest.mark.sampled
@pytest.mark.parametrize("name", TRIED)
def test_it_gives_the_oracles_answers_with_the_operators_of_the_table(name, monkeypatch):
    """All of an algorithm in one test, because each process that runs a part of it compiles its functions."""
    module, used = import_module(f"examples.{name}"), set()

    def traced(operator):
        def call(frontier, function, *arguments, **named):
            used.add(operator.__name__.removeprefix("repeat_"))
            if operator in (filter, repeat_advance) or (
                operator is advance and generates(function, named.get("after"), named.get("collect"))
            ):
                used.add("generate")
            return operator(frontier, function, *arguments, **named)

        return call

    for operator in (advance, repeat_advance, compute, reduce, filter):
        if hasattr(module, operator.__name__):
            monkeypatch.setattr(module, operator.__name__, traced(operator))
    for graph in (cliques(),) if name == "components.communities" else GRAPHS:
        for found in answers(graph, [name]).values():
            require_true(name, graph, found)
    assert "".join("+" if operator in used else "-" for operator in ("advance", "compute", "reduce", "generate")) == ROWS[name]


@pytest.mark.parametrize("name", ROWS)
def test_they_are_short(name):
    lines = inspect.getsource(algorithm(name)).splitlines()
    assert len([line for line in lines if line.strip() and '"""' not in line]) < 50


def test_random_neighbour_joins_rows_whose_numbers_have_the_same_low_bits():
    labels = algorithm("components.random_neighbour")(cases.graph_of_arcs([(0, 1 << 16)], (1 << 16) + 1))
    assert labels[1 << 16] == 0 and np.count_nonzero(labels == 0) == 2


def test_delta_stepping_with_and_without_hubs(monkeypatch):
    """Rounds of light arcs one by one, and those of a bucket at once."""
    expected = sssp(GRAPHS[1], 0).distance
    for degree in (1, 1 << 12):
        monkeypatch.setattr("examples.paths.delta_stepping._HUB", degree)
        found = algorithm("paths.delta_stepping")(GRAPHS[1], 0, 3.0)
        np.testing.assert_array_equal(found, np.where(expected < 0, np.inf, expected.astype(np.float64)))


def test_delta_stepping_ends_where_a_distance_absorbs_delta():
    graph = cases.graph_of_arcs([(0, 1), (1, 2)], 3, np.int64)
    graph.out.weights[:] = 2**60, 1
    assert algorithm("paths.delta_stepping")(graph, 0, 3.0).tolist() == [0, 2**60, 2**60]


def test_boruvka_compares_integers_that_are_the_same_as_doubles():
    graph = cases.graph_of_arcs([(0, 1), (0, 2), (1, 2)], 3, np.int64)
    graph.out.weights[:] = 2**53 + 1, 2**53, 2**53
    chosen, ends = algorithm("weights.boruvka")(graph)
    assert ends[:, chosen].T.tolist() == [[0, 2], [1, 2]]


def test_communities_of_neighbours_whose_numbers_have_the_same_parity():
    graph = cases.graph_of_arcs([(0, 2), (2, 0), (1, 3), (3, 1), (4, 6), (6, 4)], 7, np.int32)
    labels = algorithm("components.communities")(graph)
    assert stable(graph, labels) and labels[0] == labels[2] != labels[1] == labels[3]


@pytest.mark.parametrize("name", ["weights.push_relabel", "weights.flow_by_search"])
def test_a_flow_needs_two_rows(name):
    with pytest.raises(ValueError, match="source and target are the same row, 1"):  # a search for a shortest path would not end
        algorithm(name)(cases.GRAPHS["path"](), 1, 1)
