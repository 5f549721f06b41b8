"""Maximum flows and the minimum cuts nearest the source, against NetworkX."""

from dataclasses import replace

import networkx
import numpy as np
import pytest

from benchmarks.graphs import new_york
from kernels.flow import max_flow
from kernels.flow.capacities import as_weights, capacities, unit_exponent
from kernels.flow.certificate import certify_flows
from kernels.graph import Csr, Graph
from kernels.oracle.flow_by_scipy import max_flow as compare
from tests.certificates.test_certificates_mutants import random_graph
from tests.graphs import FIGURE_1, EdgeList, graph_of


def some_pairs(graph: Graph, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    pairs = [rng.choice(graph.num_vertices, 2, replace=False) for _ in range(count)]
    return [*np.array(pairs, graph.rows_by_id.dtype).T.copy()]


def network_of(graph: Graph) -> networkx.DiGraph:
    network = networkx.DiGraph()
    network.add_nodes_from(range(graph.num_vertices))
    tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
    for tail, head, units in zip(tails.tolist(), graph.out.indices.tolist(), capacities(graph).tolist(), strict=True):
        if tail != head:
            before = network.get_edge_data(tail, head, {"capacity": 0})["capacity"]
            network.add_edge(tail, head, capacity=before + units)
    return network


def nearest_cut(residual: networkx.DiGraph, source: int) -> set[int]:
    reached, waiting = {source}, [source]
    while waiting:
        row = waiting.pop()
        for head, link in residual[row].items():
            if head not in reached and link["capacity"] > link["flow"]:
                reached.add(head)
                waiting.append(head)
    return reached


def test_random_graphs_have_the_flows_of_networkx():
    """Weights of all types, parallel arcs and self-loops, targets that are not reached."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        _, graph = random_graph(rng)
        if graph.num_vertices < 2:
            continue
        src, dst = some_pairs(graph, rng, 5)
        found, network, units = max_flow(graph, src, dst), network_of(graph), capacities(graph)
        for verdict in (certify_flows(graph, found), compare(graph, found)):
            assert verdict.holds, verdict.reason
        for pair, (source, target) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
            residual = networkx.algorithms.flow.edmonds_karp(network, source, target)
            assert found.value[pair] == as_weights(graph, np.array([residual.graph["flow_value"]]))[0]
            side = nearest_cut(residual, source)
            assert found.vertices[pair] == len(side)
            tails = np.repeat(np.arange(graph.num_vertices), np.diff(graph.out.offsets))
            across = np.isin(tails, [*side]) & ~np.isin(graph.out.indices, [*side]) & (units > 0)
            part = slice(*found.cut_begins[pair : pair + 2])
            cut = [*zip(graph.ids[found.cut_src[part]], graph.ids[found.cut_dst[part]], strict=True)]
            assert cut == sorted(zip(graph.ids[tails[across]], graph.ids[graph.out.indices[across]], strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_roads(weighted):
    """On several cores; many rows return what they hold to the source."""
    roads = new_york()
    arcs = roads.out if weighted else Csr(roads.out.offsets, roads.out.indices, None)
    graph = Graph(roads.ids, roads.rows_by_id, arcs, arcs, roads.directed)
    src, dst = some_pairs(graph, np.random.default_rng(7), 2)
    found = max_flow(graph, src, dst)
    for verdict in (certify_flows(graph, found), compare(graph, found)):
        assert verdict.holds, verdict.reason


def test_units_of_floats():
    pair = np.array([[0], [2]], np.int32)
    graph = graph_of(EdgeList("floats", ((0, 1, 0.1), (1, 2, 0.25), (0, 2, 0.0))), dtype=np.float64)
    assert unit_exponent(graph) == 62 - (-1) - 2
    found = max_flow(graph, *pair)
    assert (found.value.tolist(), found.cut_src.tolist(), found.cut_dst.tolist()) == ([0.1], [0], [1])


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (
            (1e30, 0.5),
            r"the weight 0\.5 is less than half a unit, 2\^40, the least with the largest weight, 1e\+30, and 2 arcs",
        ),
        ((1.7e308, 1.7e308, 1.7e308), "a flow exceeds the largest float64"),
    ],
)
def test_weights_that_no_unit_fits_are_refused(weights, words):
    """A path whose capacity would become 0 is not there, and a sum of large ones would be infinite."""
    edges = tuple((*ends, weight) for ends, weight in zip(((0, 2), (0, 1), (1, 2)), weights, strict=False))
    with pytest.raises(OverflowError, match=words):
        max_flow(
            graph_of(EdgeList("floats", edges), dtype=np.float64), *np.array([[0], [2 if len(weights) > 2 else 1]], np.int32)
        )


def test_large_weights_are_refused():
    graph = graph_of(EdgeList("large", ((0, 1, 2**61), (1, 2, 1))))
    with pytest.raises(OverflowError, match=r"the largest weight, 2305843009213693952, times 2 arcs is not below 2\^62"):
        max_flow(graph, *np.array([[0], [2]], np.int32))


def test_reasons_name_pair_and_arc():
    graph = graph_of(FIGURE_1)
    true = max_flow(graph, *np.array([[0], [6]], np.int32))
    assert true.value.tolist() == [22]
    wrong = {
        "pair 0, 0 to 6: the source sends 22, not 23": replace(true, value=true.value + 1),
        "pair 0, 0 to 6: the source's side has 2 vertices": replace(true, vertices=true.vertices + 1),
        "is not at its place in the cut": replace(true, cut_dst=true.cut_dst[::-1].copy()),
        "pair 0: src and dst are both 6": replace(true, src=true.dst),
        "the arcs of a flow do not ascend": replace(true, flow_arcs=true.flow_arcs[::-1].copy()),
    }
    for reason, flows in wrong.items():
        assert certify_flows(graph, flows).reason.endswith(reason)
    for amounts in (true.amounts + 100, 0 * true.amounts):
        assert "carries more than its capacity, or nothing" in certify_flows(graph, replace(true, amounts=amounts)).reason
