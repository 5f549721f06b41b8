"""Calls of NetworkX as questions that a run can answer: a graph with numbered vertices, and what is asked of it."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import networkx as nx

from tests.recorded.conventions import Convention

_COMPONENTS = ("connected_components", "number_connected_components", "is_connected", "node_connected_component")
_WEAK = ("weakly_connected_components", "number_weakly_connected_components", "is_weakly_connected")
_STRONG = ("strongly_connected_components", "number_strongly_connected_components", "is_strongly_connected")
_FLOWS = (
    "maximum_flow", "maximum_flow_value", "minimum_cut", "minimum_cut_value", "edmonds_karp", "dinitz", "preflow_push",
    "shortest_augmenting_path", "boykov_kolmogorov",
)  # fmt: skip
_PATHS = (
    "shortest_path", "shortest_path_length", "average_shortest_path_length", "has_path", "all_shortest_paths",
    "single_source_all_shortest_paths", "all_pairs_all_shortest_paths", "single_source_shortest_path_length",
    "single_target_shortest_path_length", "all_pairs_shortest_path_length", "single_source_shortest_path",
    "single_target_shortest_path", "all_pairs_shortest_path", "bidirectional_shortest_path", "predecessor", "dijkstra_path",
    "dijkstra_path_length", "bidirectional_dijkstra", "single_source_dijkstra", "single_source_dijkstra_path",
    "single_source_dijkstra_path_length", "multi_source_dijkstra", "dijkstra_predecessor_and_distance", "all_pairs_dijkstra",
    "all_pairs_dijkstra_path", "all_pairs_dijkstra_path_length", "bellman_ford_path", "bellman_ford_path_length",
    "single_source_bellman_ford", "single_source_bellman_ford_path", "single_source_bellman_ford_path_length",
    "all_pairs_bellman_ford_path", "all_pairs_bellman_ford_path_length", "bellman_ford_predecessor_and_distance",
    "goldberg_radzik", "johnson", "floyd_warshall", "floyd_warshall_predecessor_and_distance", "floyd_warshall_numpy",
    "astar_path", "astar_path_length",
)  # fmt: skip
FAMILIES = {
    "pagerank": "pagerank",
    "betweenness_centrality": "betweenness",
    "closeness_centrality": "closeness",
    "minimum_spanning_tree": "mst",
    "minimum_spanning_edges": "mst",
    **dict.fromkeys((*_COMPONENTS, *_WEAK), "wcc"),
    **dict.fromkeys((*_STRONG, "kosaraju_strongly_connected_components"), "scc"),
    **dict.fromkeys(_FLOWS, "max_flow"),
    **dict.fromkeys(_PATHS, "paths"),
}
MOST_SOURCES = 30  # of a question about paths, unless it names one
MOST_EDGES = 20_000


class Unasked(Exception):
    """What a run cannot be asked, because no source can state it."""


@dataclass(frozen=True)
class Question:
    """What a call asks, without what a run does not offer, and the conventions by which that was left out."""

    family: str
    graph: nx.Graph
    weight: str | None  # the attribute of the edges; None where each counts 1
    conventions: frozenset[Convention] = frozenset()
    ends: tuple[Any, ...] = ()  # the source of paths, if there is one; the source and the target of a flow

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal questions."""
        return self.family, self.graph.is_directed(), self.conventions, self.ends, *self.stated()

    def stated(self) -> tuple[tuple[Any, ...], tuple[tuple[int, int, Any], ...]]:
        """The vertices in their order, from 1, and the edges between their numbers, with weights, or None without."""
        number = {vertex: place for place, vertex in enumerate(self.graph, 1)}
        edges = self.graph.edges(data=True)
        weights = [None] * len(edges) if self.weight is None else _numbers(self, [data for *_, data in edges])
        ends = [(number[src], number[dst]) for src, dst, _ in edges]
        return tuple(self.graph), tuple((*pair, weight) for pair, weight in zip(ends, weights, strict=True))


def _numbers(question: Question, attributes: Iterable[dict[str, Any]]) -> list[Any]:
    """The weights of edges: without one an edge weighs 1, and in a flow it carries what all others together do."""
    found = [attribute.get(question.weight, math.inf if question.family == "max_flow" else 1) for attribute in attributes]
    for weight in found:
        if not isinstance(weight, Real):
            raise Unasked(f"a weight is of type {type(weight).__name__}")
    if question.family != "max_flow":
        return found
    limited = 1 + sum(weight for weight in found if weight != math.inf)
    return [limited if weight == math.inf else weight for weight in found]


def question_of(name: str, asked: dict[str, Any]) -> Question:
    """The question of a call. Raises Unasked."""
    family, graph, conventions = FAMILIES[name], asked.get("G", asked.get("flowG")), set()
    if not isinstance(graph, nx.Graph) or graph.number_of_edges() > MOST_EDGES:
        raise Unasked("the graph is too large" if isinstance(graph, nx.Graph) else "the graph is of another class")
    weight = asked.get("weight", asked.get("distance", asked.get("capacity")))
    if weight is not None and not isinstance(weight, str):
        raise Unasked("the weight is not an attribute")
    ends: tuple[Any, ...] = ()
    if family == "paths" and asked.get("source") in graph:
        ends = (asked["source"],)
    elif family == "max_flow":
        ends = asked.get("_s", asked.get("s")), asked.get("_t", asked.get("t"))
    elif family == "pagerank":
        conventions = set(_of_pagerank(graph, asked))
        weight = None
    elif family == "betweenness" and (asked["normalized"] or asked["endpoints"] or asked["k"]):
        conventions = {Convention.NORMALISED}
    elif family == "closeness":
        conventions = {Convention.OUTWARDS} if graph.is_directed() else set()
        conventions |= set() if asked["wf_improved"] else {Convention.WASSERMAN_FAUST}
    return Question(family, graph, weight, frozenset(conventions), ends)


def _of_pagerank(graph: nx.Graph, asked: dict[str, Any]) -> Iterator[Convention]:
    if asked["alpha"] != 0.85:
        yield Convention.DAMPING
    if asked["personalization"] or asked["dangling"]:
        yield Convention.RANDOM_VERTEX
    if len({data.get(asked["weight"], 1) for *_, data in graph.edges(data=True)}) > 1:
        yield Convention.UNWEIGHTED
