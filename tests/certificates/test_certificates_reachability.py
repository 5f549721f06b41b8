"""The certificate of a reachability index: it holds for every correct index, and for none of 100,000 mutants.

An index is unique for its method, seed and dimensions, so each change of an array is a mutant, even if all its answers are right.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cached_property

import numpy as np
import pytest

from benchmarks.graphs import wiki_vote
from kernels.answers import Condensation, Csr, Labels, ReachabilityIndex
from kernels.graph import Array, Graph
from kernels.reachability import METHODS, reach, reachability
from kernels.reachability.certificate import certify_reachability
from tests.answers import uncleaned
from tests.graphs import NAMED_GRAPHS, EdgeList, graph_of
from tests.reachability import closure, digraph

MUTANTS = [3_000, pytest.param(100_000, marks=pytest.mark.nightly)]
MUTANTS_PER_GRAPH = 60
ARRAYS = ("level", "height", "low", "post", "first", "last", "supports", "reaches", "reached")


def random_graph(rng: np.random.Generator) -> Graph:
    size = int(rng.integers(1, 14)) if rng.random() < 0.97 else 100
    ends = rng.integers(0, size, (int(size * rng.choice([0.5, 1, 1.5, 3])), 2))
    ends = np.sort(ends, axis=1) if rng.random() < 0.7 else ends
    edges = EdgeList("random", tuple(map(tuple, ends.tolist())), vertices=tuple(range(size)))
    return uncleaned(edges, rng.permutation(size).tolist())


def changed(array: Array, rng: np.random.Generator) -> Array:
    """One entry changed, two entries swapped or made equal, or rows of entries rotated by one."""
    mutant = array.copy()
    flat = mutant.reshape(-1)
    place, other = rng.integers(len(flat), size=2)
    if array.dtype == np.uint64:
        flat[place] ^= np.uint64(1) << np.uint64(rng.choice([0, 1, 2, 7, 8, 32, 63]))
        return mutant
    match rng.integers(4):
        case 0:
            flat[place] += rng.choice([-1, 1, 2, 1000])
        case 1:
            flat[place], flat[other] = flat[other], flat[place]
        case 2:
            flat[place] = flat[other]
        case 3:
            mutant[...] = np.roll(mutant, 1, axis=-1)
    return mutant


def mutants(index: ReachabilityIndex, rng: np.random.Generator) -> Iterator[ReachabilityIndex]:
    for _ in range(MUTANTS_PER_GRAPH):
        match rng.integers(8):
            case 0:
                name = str(rng.choice(["node", "names"]))
                array = changed(getattr(index.condensation, name), rng)
                mutant = replace(index, condensation=replace(index.condensation, **{name: array}))
            case 1:
                side, name = str(rng.choice(["children", "parents"])), str(rng.choice(["offsets", "indices"]))
                csr = getattr(index.condensation, side)
                if not len(getattr(csr, name)):
                    continue
                csr = replace(csr, **{name: changed(getattr(csr, name), rng)})
                mutant = replace(index, condensation=replace(index.condensation, **{side: csr}))
            case 2:
                mutant = replace(index, labels=consistently_wrong(index.labels, rng))
            case _:
                name = str(rng.choice(ARRAYS))
                mutant = replace(index, labels=replace(index.labels, **{name: changed(getattr(index.labels, name), rng)}))
        if not same(mutant, index):
            yield mutant


def consistently_wrong(labels: Labels, rng: np.random.Generator) -> Labels:
    """Wrong labels that are consistent: all numbers of a dimension or all levels larger by one, or wider intervals."""
    dimension = rng.integers(labels.dimensions)
    match rng.integers(3):
        case 0:
            return replace(labels, level=labels.level + np.int32(1), height=labels.height + np.int32(1))
        case 1:
            first, last, low, post = (array.copy() for array in (labels.first, labels.last, labels.low, labels.post))
            for array in (first, last, low, post):
                array[dimension] += 1
            return replace(labels, first=first, last=last, low=low, post=post)
        case _:
            low, post = labels.low.copy(), labels.post.copy()
            low[dimension], post[dimension] = (
                1,
                low.shape[1],
            )  # every answer is right, but these are not the labels
            return replace(labels, low=low, post=post)


def same(one: ReachabilityIndex, other: ReachabilityIndex) -> bool:
    return all(np.array_equal(mine, its) for mine, its in zip(arrays(one), arrays(other), strict=True))


def arrays(index: ReachabilityIndex) -> list[Array]:
    condensation = index.condensation
    sides = [getattr(csr, name) for csr in (condensation.children, condensation.parents) for name in ("offsets", "indices")]
    return [condensation.node, condensation.names, *sides, *(getattr(index.labels, name) for name in ARRAYS)]


@pytest.mark.parametrize("number", MUTANTS)
def test_correct_indexes_hold_and_mutants_do_not(number):
    rng = np.random.default_rng(20100913)
    rejected = graphs = 0
    while rejected < number:
        graph = random_graph(rng)
        index = reachability(graph, int(rng.integers(1, 4)), int(rng.integers(2**63)), METHODS[graphs % 2])
        verdict = certify_reachability(graph, index)
        assert verdict.holds, (verdict.reason, graph, index)
        for mutant in mutants(index, rng):
            assert not certify_reachability(graph, mutant).holds, (graph, index, mutant)
            rejected += 1
        graphs += 1
    assert graphs > number // 66


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edges", NAMED_GRAPHS, ids=lambda edges: edges.name)
def test_indexes_of_named_graphs_hold(edges, method):
    for order in (edges.ids, edges.ids[::-1]):
        for build in (graph_of, uncleaned):
            graph = build(edges, order)
            verdict = certify_reachability(graph, reachability(graph, 2, 3, method))
            assert (verdict.holds, verdict.reason) == (True, "")


@pytest.mark.parametrize("method", METHODS)
def test_a_giant_component_holds(method):
    graph = wiki_vote()
    assert certify_reachability(graph, reachability(graph, 3, 0, method)).holds


class TestReasons:
    graph = graph_of(EdgeList("cross", ((10, 20), (10, 30), (20, 40), (30, 40), (40, 50), (50, 40))))

    @cached_property
    def index(self) -> ReachabilityIndex:
        return reachability(self.graph, 2)

    def reason(self, **changes: object) -> str:
        return certify_reachability(self.graph, replace(self.index, labels=replace(self.index.labels, **changes))).reason

    def changed(self, name: str, node: int, by: int) -> dict[str, Array]:
        array = getattr(self.index.labels, name).copy()
        array[..., node] += by
        return {name: array}

    def test_a_wrong_label_is_named_with_its_component(self):
        assert self.reason(**self.changed("level", 3, 1)) == "component 40: level 3 does not follow from its arcs"
        assert self.reason(**self.changed("height", 0, -1)) == "component 10: height 1 does not follow from its arcs"
        assert self.reason(**self.changed("low", 1, 1)) == "component 20: low of dimension 0 2 does not follow from its arcs"
        assert self.reason(**self.changed("last", 2, 1)).endswith("in dimension 0 the blocks of its children are not consecutive")
        assert self.reason(**self.changed("supports", 0, 1)) == "support 1: is not the best-connected remaining node of its band"

    def test_labels_of_another_method_or_seed_do_not_hold(self):
        rng = np.random.default_rng(4)
        graph = digraph(*np.sort(rng.integers(0, 60, (150, 2)), axis=1).T, 60)
        index = reachability(graph, 3, 1, "tree")
        for change in ({"method": "dfs"}, {"seed": 2}):
            assert not certify_reachability(graph, replace(index, labels=replace(index.labels, **change))).holds


class TestMalformed:
    """The certificate of a malformed index does not hold and has a reason; nothing is raised."""

    graph = graph_of(EdgeList("cross", ((1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 4))))

    @cached_property
    def index(self) -> ReachabilityIndex:
        return reachability(self.graph, 2)

    @pytest.mark.parametrize(
        "bad", [None, -7, "rows", [0, 1], np.int32(0), np.zeros(0), np.zeros((1, 4), np.int32), np.zeros(9, object)]
    )
    @pytest.mark.parametrize("part", ["condensation", "labels"])
    def test_any_field(self, part, bad):
        stated = getattr(self.index, part)
        for field in (field for field in fields(stated) if field.init):
            verdict = certify_reachability(self.graph, replace(self.index, **{part: replace(stated, **{field.name: bad})}))
            assert not verdict.holds and verdict.reason, field.name
        assert not certify_reachability(self.graph, replace(self.index, **{part: bad})).holds

    @pytest.mark.parametrize("side", ["children", "parents"])
    def test_malformed_rows(self, side):
        csr: Csr = getattr(self.index.condensation, side)
        for bad in (
            replace(csr, weights=np.ones(len(csr.indices))),
            replace(csr, offsets=csr.offsets[::-1].copy()),
            replace(csr, offsets=csr.offsets + 1),
            replace(csr, offsets=csr.offsets.astype(np.int32)),
            replace(csr, indices=csr.indices.astype(np.int64)),
            replace(csr, indices=csr.indices - 2),
            replace(csr, indices=csr.indices + 99),
            replace(csr, indices=csr.indices[:-1]),
        ):
            condensation: Condensation = replace(self.index.condensation, **{side: bad})
            assert certify_reachability(self.graph, replace(self.index, condensation=condensation)).reason

    def test_flags_of_compared_paths_that_are_impossible(self):
        for bad in ((False,), (False, True), (0, 0), [False, False], (False, False, False)):
            labels = replace(self.index.labels, compared_paths=bad)
            assert "compared_paths" in certify_reachability(self.graph, replace(self.index, labels=labels)).reason


def test_a_wrong_label_that_gives_a_wrong_answer():
    """Why labels are proved: an interval with a wrong lower bound denies an existing path, and the certificate detects it."""
    graph = digraph(np.array([0, 0, 2]), np.array([1, 2, 1]), 3)
    index = reachability(graph, 1, 0, "dfs")
    low = index.labels.low.copy()
    low[0, 2] = index.labels.last[0, 2]
    no_supports = {"supports": np.full(64, -1, np.int32), "reaches": np.zeros(3, np.uint64), "reached": np.zeros(3, np.uint64)}
    broken = replace(index, labels=replace(index.labels, low=low, **no_supports))
    assert closure(graph)[2, 1]
    assert not reach(broken, [2], [1]).reachable[0]
    assert not certify_reachability(graph, broken).holds
