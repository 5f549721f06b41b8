"""Answers that a search found: paths and closed sets are checked, and wrong answers are refused."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.graphs import graph_of_arcs
from kernels.answers import Csr, ReachabilityIndex, Witnesses
from kernels.graph import OFFSET, Array, Graph
from kernels.reachability import METHODS, SEARCH, reach, reachability
from kernels.reachability.certificate import answers
from kernels.reachability.certificate.answers import WrongAnswer, reach_with_proof
from kernels.reachability.certificate.answers_cpu import first_reached, first_wrong_path
from kernels.reachability.queries import witness
from tests.counts import examples
from tests.reachability import closure


def layered(layers: int, width: int, degree: int, seed: int) -> Graph:
    """Layers of vertices with arcs to random vertices of the next one; ids are shuffled."""
    rng = np.random.default_rng(seed)
    src = np.repeat(np.arange((layers - 1) * width), degree)
    dst = (src // width + 1) * width + rng.integers(0, width, len(src))
    ids = rng.permutation(layers * width)
    return graph_of_arcs(ids[src], ids[dst], None, layers * width, symmetric=False)


def all_pairs(graph: Graph) -> Array:
    return np.indices((graph.num_vertices,) * 2).reshape(2, -1)


@pytest.fixture(scope="module")
def hard() -> tuple[ReachabilityIndex, Array, Array]:
    """An index of one dimension, all pairs, and whether they are reachable."""
    graph = layered(8, 25, 3, 1)
    return reachability(graph, 1), all_pairs(graph), closure(graph).ravel()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("most_nodes", [1, 300, 1 << 24])
def test_answers_are_those_without_a_proof(method, most_nodes, monkeypatch):
    monkeypatch.setattr(answers, "PATH_NODES", most_nodes)
    for seed, shape in enumerate(((8, 12, 2), (30, 4, 2), (4, 20, 5))):
        graph = layered(*shape, seed)
        index, pairs = reachability(graph, 1 + seed, seed, method), all_pairs(graph)
        expected, proved = reach(index, *pairs), reach_with_proof(index, *pairs, 50)
        np.testing.assert_array_equal(proved.answers.reachable, closure(graph).ravel())
        np.testing.assert_array_equal(proved.answers.decided, expected.decided)
        searched = expected.decided == SEARCH
        assert proved.searched == searched.sum() > 0
        assert proved.witnessed == (searched & expected.reachable).sum()
        assert proved.sampled == min(50, (searched & ~expected.reachable).sum())


def paths_of(index: ReachabilityIndex, pairs: Array) -> tuple[Array, Array, Witnesses]:
    """The nodes of the pairs that a search decides, and their paths."""
    left = reach(index, *pairs).decided == SEARCH
    u, v = (index.condensation.node[rows[left]] for rows in pairs)
    begins = np.append(0, np.cumsum(index.labels.level[v] - index.labels.level[u].astype(np.int64) + 2))
    return u, v, witness.trace(index, u, v, begins)


def test_forged_paths_are_refused(hard):
    """Wrong ends, steps that are no arcs, and lengths that are not those of the path."""
    index, pairs, _ = hard
    u, v, paths = paths_of(index, pairs)
    assert first_wrong_path(index.condensation.children, u, v, paths) == -1
    rng, arcs = np.random.default_rng(1), index.condensation.children
    refused = 0
    while refused < examples(2_000):
        query = int(rng.choice(np.flatnonzero(paths.lengths)))
        nodes, lengths, place = paths.nodes.copy(), paths.lengths.copy(), int(rng.integers(paths.lengths[query]))
        at = paths.begins[query] + place
        nodes[at] = rng.integers(len(index.labels.level))
        if rng.random() < 0.2:
            lengths[query] += rng.choice([-1, 1, 5, -(2**40), 2**40])
        path = nodes[paths.begins[query] :][: max(lengths[query], 0)]
        right = 0 < lengths[query] == len(path) and (path[0], path[-1]) == (u[query], v[query])
        if right and all(head in arcs.indices[arcs.offsets[tail] : arcs.offsets[tail + 1]] for tail, head in pairwise(path)):
            continue
        if lengths[query] == 0:
            continue  # says no
        assert first_wrong_path(index.condensation.children, u, v, replace(paths, nodes=nodes, lengths=lengths)) == query
        refused += 1


def test_a_path_over_an_arc_that_is_missing_is_refused(hard):
    index, pairs, _ = hard
    u, v, paths = paths_of(index, pairs)
    query = int(np.flatnonzero(paths.lengths > 2)[0])
    tail, head = paths.nodes[paths.begins[query] :][1:3]
    children = index.condensation.children
    arc = children.offsets[tail] + int(
        np.searchsorted(children.indices[children.offsets[tail] : children.offsets[tail + 1]], head)
    )
    offsets = children.offsets - (np.arange(len(children.offsets)) > tail).astype(OFFSET)
    without = Csr(offsets, np.delete(children.indices, arc), None)
    assert first_wrong_path(without, u, v, paths) >= 0


def test_a_wrong_yes_is_refused(hard, monkeypatch):
    """A search that answers each no with yes, and gives the path of another query."""
    index, pairs, reachable = hard
    true = witness.trace

    def forged(*asked):
        paths = true(*asked)
        paths.nodes[paths.begins[:-1]], paths.lengths[paths.lengths == 0] = asked[1], 2
        return paths

    monkeypatch.setattr(witness, "trace", forged)
    with pytest.raises(WrongAnswer, match="path is not one of the graph") as refused:
        reach_with_proof(index, *pairs)
    assert not reachable[refused.value.query]


def test_a_wrong_no_in_the_sample_is_refused(hard, monkeypatch):
    index, pairs, reachable = hard
    true = witness.trace

    def forgetful(*asked):
        paths = true(*asked)
        paths.lengths[::2] = 0
        return paths

    monkeypatch.setattr(witness, "trace", forgetful)
    with pytest.raises(WrongAnswer, match="no path, but there is one") as refused:
        reach_with_proof(index, *pairs)
    assert reachable[refused.value.query]
    assert reach_with_proof(index, *pairs, 0).sampled == 0


def test_every_wrong_no_is_found_if_it_is_searched_again(hard):
    index, pairs, reachable = hard
    left = np.flatnonzero(reach(index, *pairs).decided == SEARCH)
    u, v = (index.condensation.node[rows[left]] for rows in pairs)
    no = np.flatnonzero(~reachable[left])
    assert first_reached(index, u[no], v[no]) == -1
    for yes in np.flatnonzero(reachable[left])[: examples(200)]:
        place = int(np.searchsorted(no, yes))
        with_one = np.insert(no, place, yes)
        assert first_reached(index, u[with_one], v[with_one]) == place
