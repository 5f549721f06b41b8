"""Closures and flows on the GPU: the CPU's answers to the byte, on random graphs, and flows on roads."""
# ruff: noqa: E402  (the imports below need CuPy)

from functools import partial

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")

from benchmarks.graphs import new_york, wiki_vote
from kernels.answers import Closure, Flows
from kernels.closure import closure
from kernels.closure.certificate import certify_closure
from kernels.distributed.threads import run_ranks
from kernels.flow import max_flow
from kernels.flow.certificate import certify_flows
from kernels.gpu.transfer import on_host, to_device
from kernels.graph import Graph
from tests.certificates.test_certificates_flows import mutants
from tests.certificates.test_certificates_mutants import random_graph
from tests.gpu.inputs import poison
from tests.sharded.ranks import DEADLINE

PUBLISHED = ("value", "vertices", "cut_begins", "cut_src", "cut_dst")


def check(found: Closure | Flows, expected: Closure | Flows, names: tuple[str, ...]) -> None:
    for name in names:
        array, due = getattr(on_host(found), name), getattr(expected, name)
        assert array.dtype == due.dtype
        np.testing.assert_array_equal(array, due)


def check_flows(graph: Graph, arcs: Graph, pairs: np.ndarray) -> None:
    poison()
    found = max_flow(arcs, *cupy.asarray(pairs))
    check(found, max_flow(graph, *pairs), PUBLISHED)
    assert certify_flows(arcs, found).holds


def check_closure_over_ranks(graph: Graph, arcs: Graph, size: int) -> None:
    """Ranks on a GPU list the parts of those on a CPU, and give their verdict on what lacks a pair or has one too many."""
    expected = run_ranks(size, lambda ranks: closure(graph, communicator=ranks), DEADLINE)
    found = run_ranks(size, lambda ranks: closure(arcs, communicator=ranks), DEADLINE)
    for part, due in zip(found, expected, strict=True):
        check(part, due, ("vertex", "reached"))
    assert all(verdict.holds for verdict in run_ranks(size, partial(certified, arcs, found), DEADLINE))
    longest = max(range(size), key=lambda rank: len(expected[rank].vertex))
    for places in (slice(1, None), slice(None, -1)):
        less = [*expected]
        less[longest] = Closure(expected[longest].vertex[places].copy(), expected[longest].reached[places].copy())
        there = [Closure(cupy.asarray(part.vertex), cupy.asarray(part.reached)) for part in less]
        verdicts = run_ranks(size, partial(certified, arcs, there), DEADLINE)
        assert verdicts == run_ranks(size, partial(certified, graph, less), DEADLINE)
        assert verdicts[0].holds == (not len(expected[longest].vertex))


def certified(graph, parts, ranks):
    return certify_closure(graph, parts[ranks.rank], communicator=ranks)


def test_random_graphs():
    rng = np.random.default_rng(4)
    for _ in range(40):
        _, graph = random_graph(rng)
        arcs = to_device(graph)
        poison()
        found = closure(arcs)
        check(found, closure(graph), ("vertex", "reached"))
        assert certify_closure(arcs, found).holds
        check_closure_over_ranks(graph, arcs, 3)
        if graph.num_vertices > 1:
            pairs = np.array([rng.choice(graph.num_vertices, 2, replace=False) for _ in range(4)], graph.rows_by_id.dtype)
            check_flows(graph, arcs, pairs.T.copy())


def test_wrong_flows_are_refused_for_the_reason_of_the_host():
    rng = np.random.default_rng(6)
    refused = 0
    while refused < 100:
        _, graph = random_graph(rng)
        if graph.num_vertices < 2:
            continue
        pairs = np.array([rng.choice(graph.num_vertices, 2, replace=False) for _ in range(3)], graph.rows_by_id.dtype)
        arcs = to_device(graph)
        for mutant in mutants(graph, max_flow(graph, *pairs.T.copy()), rng):
            there = Flows(**{name: cupy.asarray(array) for name, array in vars(mutant).items()})
            assert certify_flows(arcs, there).reason == certify_flows(graph, mutant).reason != ""
            refused += 1


@pytest.mark.real_gpu(reason="it takes hours")
@pytest.mark.parametrize("load", [new_york, wiki_vote])
def test_real_graphs(load):
    graph = load()
    arcs, rng = to_device(graph), np.random.default_rng(5)
    check_flows(graph, arcs, rng.permutation(graph.num_vertices)[:40].reshape(2, 20).astype(np.int32))
    if not graph.symmetric:
        check(closure(arcs), closure(graph), ("vertex", "reached"))
