"""No rule of a certificate is idle: for each an answer breaks this rule alone, by the rules in plain Python below."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from kernels.answers import Components, Forest, Paths
from kernels.forest.certificate import RULES as FOREST_RULES
from kernels.forest.certificate import certify_forest
from kernels.paths.certificate import RULES as PATH_RULES
from kernels.scc.certificate import RULES as SCC_RULES
from kernels.scc.certificate import certify_scc
from kernels.sssp.certificate import certify_sssp
from kernels.wcc.certificate import RULES as WCC_RULES
from kernels.wcc.certificate import certify_wcc
from tests.graphs import Edge, EdgeList, graph_of

# Ids here are rows: vertices are numbered from 0 without a gap.


class PlainPaths:
    def __init__(self, edges: EdgeList, source: int, distance: list[int], predecessor: list[int]) -> None:
        self.arcs, self.source, self.d, self.p = edges.arcs(), source, distance, predecessor
        self.answer = Paths(source, np.array(distance, np.int64), np.array(predecessor, np.int32))
        self.tight = {(u, v) for (u, v), w in self.arcs.items() if self.d[u] >= 0 and self.d[u] + w == self.d[v]}
        self.first = {v for u, v in self.tight if self.d[u] < self.d[v]}

    def rules(self) -> list[bool]:
        reached = [v for v, far in enumerate(self.d) if far >= 0]
        allowed = self.allowed()
        return [
            self.d[self.source] == 0 and self.p[self.source] == -1,
            all(far >= 0 or (far, before) == (-1, -1) for far, before in zip(self.d, self.p, strict=True)),
            all(0 <= self.d[v] <= self.d[u] + w for (u, v), w in self.arcs.items() if self.d[u] >= 0),
            all(allowed.get(v) for v in reached if v != self.source),
            all(self.p[v] == min(allowed[v]) for v in reached if v != self.source and allowed.get(v)),
        ]

    def allowed(self) -> dict[int, set[int]]:
        allowed = {v: {u for u, w in self.tight if w == v and self.d[u] < self.d[v]} for v in self.first}
        step = self.first | {self.source}
        while step:
            found = [(u, v) for u, v in self.tight if u in step and v not in allowed and v != self.source]
            step = {v for _, v in found}
            allowed |= {v: {u for u, w in found if w == v} for v in step}
        return allowed


class PlainForest:
    def __init__(self, edges: EdgeList, chosen: list[tuple[int, int, int]], labels: list[int]) -> None:
        self.least: dict[tuple[int, int], int] = {}
        for (u, v), w in edges.arcs().items():
            pair = (min(u, v), max(u, v))
            self.least[pair] = min(w, self.least.get(pair, w))
        self.chosen, self.labels = chosen, labels
        columns = np.array(chosen, np.int64).reshape(-1, 3).T
        self.answer = Forest(columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2], np.array(labels, np.int32))

    def rules(self) -> list[bool]:
        pairs = [(min(u, v), max(u, v)) for u, v, _ in self.chosen]
        trees, acyclic = list(range(len(self.labels))), True
        for u, v in pairs:
            acyclic &= trees[u] != trees[v]
            trees = [trees[u] if tree == trees[v] else tree for tree in trees]
        return [
            all(u < v for u, v, _ in self.chosen),
            all(one < other for one, other in pairwise(pairs)),
            acyclic,
            all(trees[u] == trees[v] for u, v in self.least),
            all(self.least.get(pair) == w for pair, (_, _, w) in zip(pairs, self.chosen, strict=True)),
            all(self.greatest_between(u, v) < (w, u, v) for (u, v), w in self.least.items() if (u, v) not in pairs),
            named_smallest(self.labels),
            all(self.labels[u] == self.labels[v] for u, v in pairs),
            len(set(self.labels)) == len(set(trees)),
        ]

    def greatest_between(self, a: int, b: int) -> tuple[int, int, int]:
        """Greatest chosen edge without which the ends fall apart: grow a's tree in ascending order until b is in it."""
        tree = list(range(len(self.labels)))
        for edge in sorted((w, min(u, v), max(u, v)) for u, v, w in self.chosen):
            tree = [tree[edge[1]] if label == tree[edge[2]] else label for label in tree]
            if tree[a] == tree[b]:
                return edge
        return (-1, -1, -1)


class PlainComponents:
    def __init__(self, edges: EdgeList, labels: list[int]) -> None:
        self.arcs, self.labels = set(edges.arcs()), labels
        self.answer = Components(np.array(labels, np.int32))

    def reach(self, start: int, arcs: set[tuple[int, int]]) -> set[int]:
        seen, new = set(), {start}
        while new:
            seen |= new
            new = {v for u, v in arcs if u in new} - seen
        return seen

    def weak_rules(self) -> list[bool]:
        both = self.arcs | {(v, u) for u, v in self.arcs}
        return [
            named_smallest(self.labels),
            all(self.labels[u] == self.labels[v] for u, v in self.arcs),
            all(label in self.reach(v, both) for v, label in enumerate(self.labels)),
        ]

    def strong_rules(self) -> list[bool]:
        inside = {(u, v) for u, v in self.arcs if self.labels[u] == self.labels[v]}
        across = {(self.labels[u], self.labels[v]) for u, v in self.arcs - inside}
        return [
            named_smallest(self.labels),
            all(v in self.reach(label, inside) for v, label in enumerate(self.labels)),
            all(label in self.reach(v, inside) for v, label in enumerate(self.labels)),
            not any(u in self.reach(v, across) for u, v in across),
        ]


def named_smallest(labels: list[int]) -> bool:
    return all(label == min(v for v, other in enumerate(labels) if other == label) for label in labels)


def paths(edges: tuple[Edge, ...], distance: list[int], predecessor: list[int]):
    edge_list = EdgeList("rule", edges, vertices=tuple(range(len(distance))))
    plain = PlainPaths(edge_list, 0, distance, predecessor)
    return certify_sssp(graph_of(edge_list), plain.answer), plain.rules(), PATH_RULES


def forest(edges: tuple[Edge, ...], chosen: list[tuple[int, int, int]], labels: list[int]):
    edge_list = EdgeList("rule", edges, directed=False, vertices=tuple(range(len(labels))))
    plain = PlainForest(edge_list, chosen, labels)
    return certify_forest(graph_of(edge_list), plain.answer), plain.rules(), FOREST_RULES


def weak(edges: tuple[Edge, ...], labels: list[int]):
    edge_list = EdgeList("rule", edges, vertices=tuple(range(len(labels))))
    plain = PlainComponents(edge_list, labels)
    return certify_wcc(graph_of(edge_list), plain.answer), plain.weak_rules(), WCC_RULES


def strong(edges: tuple[Edge, ...], labels: list[int]):
    edge_list = EdgeList("rule", edges, vertices=tuple(range(len(labels))))
    plain = PlainComponents(edge_list, labels)
    return certify_scc(graph_of(edge_list), plain.answer), plain.strong_rules(), SCC_RULES


FORK = ((0, 1, 1), (0, 2, 5), (1, 2, 1))
LOOP = ((0, 1, 1), (2, 3, 0), (3, 2, 0))
TRIANGLE = ((0, 1, 1), (1, 2, 2), (0, 2, 3))
TIED = ((0, 1, 2), (1, 2, 2), (0, 2, 2))
ISLANDS = ((0, 1, 1), (2, 3, 1))
RING = ((0, 1), (1, 2), (2, 0), (2, 3))

BROKEN: tuple[tuple[Callable, tuple, int, str], ...] = (
    (paths, (FORK, [0, 1, 2], [2, 0, 1]), 0, "vertex 0: predecessor 2 is not none"),
    (paths, (((1, 0, 3),), [3, -1], [-1, -1]), 0, "source 0: distance 3 is not 0"),
    (paths, (LOOP, [0, 1, -1, -1], [-1, 0, 3, -1]), 1, "vertex 2: predecessor 3 is not none"),
    (paths, (LOOP, [0, 1, -2, -1], [-1, 0, -1, -1]), 1, "vertex 2: distance -2 is neither -1 nor a finite number from 0"),
    (paths, (FORK, [0, 1, 5], [-1, 0, 0]), 2, "arc 1 -> 2: distance 5 is over 1 + 1"),
    (paths, (FORK, [0, 1, -1], [-1, 0, -1]), 2, "arc 0 -> 2: leads from distance 0 to an unreached vertex"),
    (paths, (FORK, [0, 1, 1], [-1, 0, 1]), 3, "vertex 2: no path of tight arcs from the source gives distance 1"),
    (paths, (LOOP, [0, 1, 7, 7], [-1, 0, 3, 2]), 3, "vertex 2: no path of tight arcs from the source gives distance 7"),
    (paths, (FORK, [0, 1, 2], [-1, 0, 0]), 4, "vertex 2: predecessor 0 is not 1"),
    (paths, ((*TIED, (0, 2, 4)), [0, 2, 2], [-1, 0, 1]), 4, "vertex 2: predecessor 1 is not 0"),
    (forest, (TRIANGLE, [(1, 0, 1), (1, 2, 2)], [0, 0, 0]), 0, "edge 1 - 0: the first id is not the smaller one"),
    (
        forest, (TRIANGLE, [(1, 2, 2), (0, 1, 1)], [0, 0, 0]), 1,
        "edge 0 - 1: follows edge 1 - 2, so edges repeat or do not ascend",
    ),
    (forest, (TRIANGLE, [(0, 1, 1), (0, 2, 3), (1, 2, 2)], [0, 0, 0]), 2, "edge 0 - 2: closes a cycle"),
    (forest, (ISLANDS, [(0, 1, 1)], [0, 0, 2, 3]), 3, "arc 2 -> 3: joins two trees"),
    (forest, (ISLANDS, [(0, 1, 1), (2, 3, 0)], [0, 0, 2, 2]), 4, "edge 2 - 3: no arc between these ends has weight 0"),
    (
        forest, (ISLANDS, [(0, 1, 1), (2, 3, 2)], [0, 0, 2, 2]), 4,
        "arc 2 -> 3 of weight 1: is less than edge 2 - 3 of weight 2",
    ),
    (forest, (ISLANDS, [(0, 1, 1), (0, 2, 1), (2, 3, 1)], [0, 0, 0, 0]), 4, "edge 0 - 2: no arc between these ends has weight 1"),
    (
        forest, (TRIANGLE, [(0, 1, 1), (0, 2, 3)], [0, 0, 0]), 5,
        "arc 1 -> 2 of weight 2: is less than edge 0 - 2 of weight 3 on its cycle",
    ),
    (
        forest, (TIED, [(0, 1, 2), (1, 2, 2)], [0, 0, 0]), 5,
        "arc 0 -> 2 of weight 2: is less than edge 1 - 2 of weight 2 on its cycle",
    ),
    (forest, (ISLANDS, [(0, 1, 1), (2, 3, 1)], [1, 1, 2, 2]), 6, "vertex 0: its label 1 is greater"),
    (forest, (ISLANDS, [(0, 1, 1), (2, 3, 1)], [0, 0, 1, 1]), 6, "vertex 2: its label 1 is not labelled with itself"),
    (forest, (ISLANDS, [(0, 1, 1), (2, 3, 1)], [0, 1, 0, 0]), 7, "edge 0 - 1: labels 0 and 1 differ"),
    (forest, (ISLANDS, [(0, 1, 1), (2, 3, 1)], [0, 0, 0, 0]), 8, "1 labels name 2 trees"),
    (weak, (RING, [1, 1, 1, 1]), 0, "vertex 0: its label 1 is greater"),
    (weak, (RING, [0, 0, 0, 3]), 1, "arc 2 -> 3: labels 0 and 3 differ"),
    (weak, (ISLANDS, [0, 0, 0, 0]), 2, "vertex 2: no arcs connect it to its label 0"),
    (strong, (RING, [1, 1, 1, 3]), 0, "vertex 0: its label 1 is greater"),
    (strong, (((1, 0),), [0, 0]), 1, "vertex 1: is not reached from its label 0 inside the class"),
    (strong, (RING, [0, 0, 0, 0]), 2, "vertex 3: does not reach its label 0 inside the class"),
    (strong, (RING, [0, 1, 2, 3]), 3, "class 0: lies on a cycle of classes, or beyond one"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("certified", "arguments", "rule", "reason"), BROKEN, ids=[f"{case[0].__name__}-{case[3]}" for case in BROKEN]
)
def test_an_answer_that_breaks_only_one_rule_is_refused_for_it(certified, arguments, rule, reason):
    verdict, plain, rules = certified(*arguments)
    assert [number for number, holds in enumerate(plain) if not holds] == [rule]
    assert (verdict.holds, verdict.reason, verdict.rules) == (False, reason, rules)


@pytest.mark.parametrize(
    ("certified", "rules"), [(paths, PATH_RULES), (forest, FOREST_RULES), (weak, WCC_RULES), (strong, SCC_RULES)]
)
def test_every_rule_has_such_an_answer(certified, rules):
    assert {rule for case, _, rule, _ in BROKEN if case is certified} == set(range(len(rules)))
