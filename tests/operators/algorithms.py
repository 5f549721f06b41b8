"""The nineteen algorithms of Table 5 on small graphs: answers, what NetworkX and our kernels answer, and operators."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from unittest.mock import patch

import networkx
import numpy as np

from examples.weights.edges import network_of
from kernels.bfs import bfs
from kernels.graph import Graph
from kernels.library.operators import Frontier
from kernels.sssp import sssp
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
OPERATORS = {"advance", "repeat_advance", "compute", "filter", "reduce"}


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


def cliques() -> Graph:
    arcs = [(10 * k + i, 10 * k + j) for k in range(4) for i in range(10) for j in range(10) if i != j]
    return cases.graph_of_arcs([*arcs, (0, 10), (10, 0), (10, 20), (20, 10), (20, 30), (30, 20)], 40, np.int32)


def graphs_of(name: str) -> list[Graph]:
    """The graphs on which an algorithm is tried."""
    return [cliques()] if name == "components.communities" else GRAPHS


def answers(name: str, graph: Graph):
    """An algorithm's answers on the host, each with the arguments behind the graph."""
    last = graph.num_vertices - 1
    arguments = {"paths": [(0,)], "paths.delta_stepping": [(0, 3.0)], "paths.brandes": [(range(0, last + 1, 3),)]}
    flows = [(0, last), (5, 7), (12, 3)] if last else []
    arguments |= {"weights.push_relabel": flows, "weights.flow_by_search": flows}
    for given in arguments.get(name, arguments.get(name.partition(".")[0], [()])):
        found = algorithm(name)(graph, *given)
        yield given, tuple(map(cases.host, found)) if isinstance(found, tuple) else cases.host(found)


@contextmanager
def traced() -> Iterator[set[str]]:
    """Which operators the examples call, and "generate" if one of them returns rows."""
    used = set()

    def watched(operator):
        def call(*arguments, **named):
            found = operator(*arguments, **named)
            used.add(operator.__name__.removeprefix("repeat_"))
            frontiers = [each for each in (found if isinstance(found, tuple) else (found,)) if isinstance(each, Frontier)]
            if any(each.size for each in frontiers) or operator.__name__ == "repeat_advance":  # which returns its last rows
                used.add("generate")
            return found

        return call

    with ExitStack() as stack:
        for module in [each for name, each in sys.modules.items() if name.startswith("examples.")]:
            for name in OPERATORS & vars(module).keys():
                stack.enter_context(patch.object(module, name, watched(getattr(module, name))))
        yield used


def require_row_of_the_table(name: str, used: set[str]) -> None:
    assert "".join("+" if operator in used else "-" for operator in ("advance", "compute", "reduce", "generate")) == ROWS[name]


def components_of(groups, size):
    labels = np.empty(size, np.int64)
    for group in groups:
        labels[list(group)] = min(group)
    return labels


def require_true(name: str, graph: Graph, given, found) -> None:
    """Compare an answer of `answers` with NetworkX's, or with our kernels'; the graph is on the host."""
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
        require_largest(graph, *given, *found)
    elif kind == "communities":
        assert stable(graph, found)
    else:
        np.testing.assert_array_equal(found, components_of(networkx.weakly_connected_components(directed), size))


def require_lightest(undirected, chosen, ends) -> None:
    forest, expected = networkx.Graph(zip(*ends[:, chosen].tolist(), strict=True)), networkx.minimum_spanning_tree(undirected)
    assert networkx.is_forest(forest) if len(forest) else not expected.number_of_edges()
    assert forest.number_of_edges() == expected.number_of_edges()
    assert sum(undirected.edges[edge]["weight"] for edge in forest.edges) == expected.size("weight")


def require_largest(graph: Graph, source: int, target: int, value, left) -> None:
    network, capacity, reverse = network_of(graph)
    assert (capacity[reverse][capacity > 0] >= 0).all()
    assert value == networkx.maximum_flow_value(networkx_of(graph), source, target)
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
